package plug

import (
	"crypto/sha256"
	"encoding/base32"
)

// A tree's name is short, so that the key of its deepest node is within the limit of a store.
const (
	longName = 32 // maximum length of a tree's name
	keptName = 12 // bytes of a longer name kept before its hash
)

var nameHash = base32.HexEncoding.WithPadding(base32.NoPadding)

// boardForms are the suffixes of a board's name for the form of its tree. Data stored in one form
// is not found in another.
var boardForms = []string{"", ".newer", ".older", ".dense", WordsForm}

// WordsForm is the form of a tree of words. Their order follows as a part of the name.
const WordsForm = ".words"

// BoardNames returns all possible names of a board, also those that earlier releases of the app may
// have used.
func BoardNames(board string) (all []string) {
	for _, form := range boardForms {
		all = append(all, board+form)
	}
	return all
}

// TreeName returns the name of a ranking's tree in keys: the name itself, or the beginning and a
// hash of a long one.
func TreeName(name string) string {
	if len(name) <= longName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:keptName] + "#h" + nameHash.EncodeToString(sum[:])[:longName-keptName-2]
}
