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

// hashLen is the length of a definition's hash in a shape.
const hashLen = 16

// shapeOf returns the shape of a model for the head of a journal: its name, and a hash of each
// index.
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

// lacks reports whether shape is of this model in a release without one of m's indexes.
func (m *model) lacks(shape string) bool {
	hashes, ok := strings.CutPrefix(shape, m.name+"=")
	if !ok {
		return false
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

// linesLost marks all indexes of models, or of all models if nil, as needing a Rebuild: the changes
// in the damaged lines of process may be unfinished.
func (db *DB) linesLost(ctx context.Context, process string, models []string, damaged error) error {
	db.core.failures.Note(slog.LevelError, "lines of the journal of a process that died are damaged, so indexes need a Rebuild", fmt.Errorf("process %s: %w", process, damaged))
	var errs []error
	for _, m := range db.allModels() {
		if models == nil || slices.Contains(models, m.name) {
			errs = append(errs, m.distrust(ctx))
		}
	}
	return kv.Join(errs...)
}
