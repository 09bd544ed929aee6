package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ShapeOf returns the shape of a model for the head of a journal: its name, and a hash of each
// index.
func ShapeOf(model string, defs []string) string {
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

// Lacks reports whether shape is of this model in a release without one of m's indexes.
func (m *Model) Lacks(shape string) bool {
	hashes, ok := strings.CutPrefix(shape, m.Name+"=")
	if !ok {
		return false
	}
	has := make(map[string]bool)
	for ; len(hashes) >= hashLen; hashes = hashes[hashLen:] {
		has[hashes[:hashLen]] = true
	}
	for _, def := range m.Definitions() {
		if !has[hashOfDef(def)] {
			return true
		}
	}
	return false
}

// hashLen is the length of a definition's hash in a shape.
const hashLen = 16

// KeepsMore reports whether shape is of this model in a release with an index that m does not have.
func (m *Model) KeepsMore(shape string) bool {
	hashes, ok := strings.CutPrefix(shape, m.Name+"=")
	if !ok {
		return false
	}
	own, _ := strings.CutPrefix(ShapeOf(m.Name, m.Definitions()), m.Name+"=")
	for ; len(hashes) >= hashLen; hashes = hashes[hashLen:] {
		if !strings.Contains(own, hashes[:hashLen]) {
			return true
		}
	}
	return false
}

// OtherTries is how often a rebuild checks, once a second, whether processes without an index have
// ended.
const OtherTries = 60
