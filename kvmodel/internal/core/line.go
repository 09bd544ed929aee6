package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func NoteOf(name string) (model string, is bool) {
	rest, is := strings.CutPrefix(name, "rank:")
	model, _, _ = strings.Cut(rest, ":")
	return model, is
}

func (db *DB) Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error) {
	if len(texts) == 0 {
		return func() {}, db.Journal.Ready(ctx)
	}
	w, err := db.WriteLine(ctx, s, journal.Line{Model: name, Touched: []envelope.Touched{{Index: name, Places: texts}}})
	return w.Done, err
}

// Written is a line of this process, perhaps in several segments.
type Written struct {
	journal  *journal.Journal
	line     journal.Line
	segments []*journal.Segment
	Unclear  bool // unknown whether it is in one of them
}

func (w *Written) Secure(ctx context.Context, db *DB) error {
	if !w.Unclear {
		return nil
	}
	again, err := db.WriteLine(ctx, db.Store, w.line)
	w.segments = append(w.segments, again.segments...)
	w.Unclear = err != nil
	return err
}

// WriteLine writes l. The caller owes the result, which is never nil, one Done, Ended or End.
func (db *DB) WriteLine(ctx context.Context, s kv.Store, l journal.Line) (w *Written, err error) {
	w = &Written{journal: db.Journal, line: l}
	w.segments, err = db.Journal.Write(ctx, s, l, nil)
	return w, err
}

func (w *Written) Done() {
	for _, seg := range w.segments {
		w.journal.Done(seg)
	}
}

func (w *Written) Ended() {
	for _, seg := range w.segments {
		w.journal.Ended(seg, w.line)
	}
}

// End writes that the work must not be repeated. After an error call it again, unless it is an
// ErrNone: another process may have done the work.
func (w *Written) End(ctx context.Context) error {
	var gone error
	for len(w.segments) > 0 {
		err := w.journal.End(ctx, w.segments[0], w.line)
		if errors.Is(err, journal.ErrNone) {
			gone = err
		} else if err != nil {
			return err
		}
		w.segments = w.segments[1:]
	}
	return gone
}

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
