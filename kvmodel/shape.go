package kvmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
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

// lacksAny reports whether shape is of the model, and of a release that does not keep
// all of defs. Older releases wrote one hash of all, which is shorter: what they keep is
// not known.
func lacksAny(shape, model string, defs []string) bool {
	hashes, ok := strings.CutPrefix(shape, model+"=")
	if !ok {
		return false
	}
	has := make(map[string]bool)
	for ; len(hashes) >= hashLen; hashes = hashes[hashLen:] {
		has[hashes[:hashLen]] = true
	}
	for _, def := range defs {
		if !has[hashOfDef(def)] {
			return true
		}
	}
	return false
}
