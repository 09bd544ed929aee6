package plug

import (
	"crypto/sha256"
	"encoding/base32"
)

// A tree's name is short, so that the key of its deepest node is within the limit of a
// store.
const (
	longName = 32 // bytes of a tree's name, at most
	keptName = 12 // bytes of a longer one, before its hash
)

var nameHash = base32.HexEncoding.WithPadding(base32.NoPadding)

// boardForms are what the name of a board says of the form of its tree: what is stored in
// one is not found in another.
var boardForms = []string{"", ".newer", ".older", ".dense", WordsForm}

// WordsForm is the form of a tree of words. Their order follows, as a part of the name.
const WordsForm = ".words"

// BoardNames returns what may be the name of a board in those of its trees, such as that
// which an earlier release of the app had.
func BoardNames(board string) (all []string) {
	for _, form := range boardForms {
		all = append(all, board+form)
	}
	return all
}

// TreeName returns how the keys of a ranking's tree name it: by name, or by the beginning
// and a hash of a long one.
func TreeName(name string) string {
	if len(name) <= longName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:keptName] + "#h" + nameHash.EncodeToString(sum[:])[:longName-keptName-2]
}
