package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const hashLen = 16

// ShapeOf returns a model's name and a hash of each index, for the head of a journal.
func ShapeOf(model string, defs []string) string {
	return model + "=" + strings.Join(hashesOf(defs), "")
}

func hashesOf(defs []string) (all []string) {
	for _, def := range defs {
		sum := sha256.Sum256([]byte(def))
		all = append(all, hex.EncodeToString(sum[:hashLen/2]))
	}
	return all
}

func (m *Model) hashesIn(shape string) (all []string, ok bool) {
	rest, ok := strings.CutPrefix(shape, m.Name+"=")
	for ; ok && len(rest) >= hashLen; rest = rest[hashLen:] {
		all = append(all, rest[:hashLen])
	}
	return all, ok
}

// Lacks reports whether shape is of a release without one of m's indexes.
func (m *Model) Lacks(shape string) bool {
	theirs, ok := m.hashesIn(shape)
	return ok && len(plug.Without(hashesOf(m.Definitions()), theirs)) > 0
}

// KeepsMore reports whether shape is of a release with an index that m does not have.
func (m *Model) KeepsMore(shape string) bool {
	theirs, _ := m.hashesIn(shape)
	return len(plug.Without(theirs, hashesOf(m.Definitions()))) > 0
}

const otherTries = 60

// AwaitEnd waits up to a minute until no other live process has a shape that is accepts or a
// damaged head. It returns the readable name of one that has, or "", and the dead ones.
func (db *DB) AwaitEnd(ctx context.Context, is func(shape string) bool) (living string, dead []string, err error) {
	for range otherTries {
		all, err := journal.Others(ctx, db.Store, db.Journal.IsOwn, nil)
		if err != nil {
			return "", nil, err
		}
		living, dead = "", nil
		for _, o := range all {
			switch {
			case o.Damaged == nil && !slices.ContainsFunc(o.Shapes, is):
			case db.Repairer.IsDead(o.Process, o.Tick):
				dead = append(dead, o.Process)
			default:
				living = o.Origin.Called(o.Process, db.Now())
			}
		}
		if living == "" || !kv.Sleep(ctx, time.Second) {
			break
		}
	}
	return living, dead, nil
}
