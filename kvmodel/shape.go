package kvmodel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// hashLen is how many characters stand for a definition in a shape.
const hashLen = 16

// shapeOf returns what the head of a journal says of a model: its name, and a hash of
// each of its indexes.
func shapeOf(model string, defs []string) string {
	b := []byte(model + "=")
	for _, def := range defs {
		b = append(b, hashOfDef(def)...)
	}
	return string(b)
}

func hashOfDef(def string) string {
	sum := sha256.Sum256([]byte(def))
	return hex.EncodeToString(sum[:hashLen/2])
}

// olderShape returns what older releases say of a model: one hash of all its indexes.
func (m *model) olderShape() string {
	h := sha256.New()
	for _, index := range m.indexes() {
		fmt.Fprintf(h, "%q %q\n", index.Name(), index.Def())
	}
	return m.name + "=" + hex.EncodeToString(h.Sum(nil)[:olderHash/2])
}

const olderHash = 12 // characters

// isOlder reports whether shape is of m, and of an older release that does not keep the
// same indexes. Which it keeps is not known then.
func (m *model) isOlder(shape string) bool {
	hash, ok := strings.CutPrefix(shape, m.name+"=")
	return ok && len(hash) == olderHash && shape != m.olderShape()
}

// lacks reports whether shape is of m, and of a release that does not keep all indexes.
func (m *model) lacks(shape string) bool {
	hashes, ok := strings.CutPrefix(shape, m.name+"=")
	if !ok || len(hashes) == olderHash {
		return m.isOlder(shape)
	}
	has := make(map[string]bool)
	for ; len(hashes) >= hashLen; hashes = hashes[hashLen:] {
		has[hashes[:hashLen]] = true
	}
	for _, def := range m.definitions() {
		if !has[hashOfDef(def)] {
			return true
		}
	}
	return false
}

// met takes out of the built item what a process of an older release may not keep: it
// writes without looking there.
func (m *model) met(ctx context.Context, process, shape string) error {
	if !m.isOlder(shape) {
		return nil
	}
	doubted, err := m.built.Doubt(ctx)
	if err == nil && len(doubted) > 0 {
		m.db.log.Error("ringtree: a process of an older release writes beside this one; indexes that it may not keep need a Rebuild once it has ended",
			"process", process, "model", m.name, "indexes", doubted)
	}
	return err
}

// met is called when a process whose head has these shapes was seen to write.
func (db *DB) met(ctx context.Context, process string, shapes []string) error {
	var errs []error
	for _, shape := range shapes {
		name, _, _ := strings.Cut(shape, "=")
		if m := db.model(name); m != nil {
			errs = append(errs, m.met(ctx, process, shape))
		}
	}
	return kv.Join(errs...)
}

// linesLost makes all indexes of models, or of all where that is nil, need a Rebuild: what
// the damaged lines of process were about may be left half done.
func (db *DB) linesLost(ctx context.Context, process string, models []string, damaged error) error {
	db.failures.Note(slog.LevelError, "lines of the journal of a process that died are damaged, so indexes need a Rebuild", fmt.Errorf("process %s: %w", process, damaged))
	var errs []error
	for _, name := range db.modelNames() {
		if models == nil || slices.Contains(models, name) {
			errs = append(errs, db.model(name).distrust(ctx))
		}
	}
	return kv.Join(errs...)
}
