package plug

import (
	"crypto/sha256"
	"encoding/base32"
)

// Tree names are short, for the key of the deepest node.
const (
	longName = 32
	keptName = 12
)

var nameHash = base32.HexEncoding.WithPadding(base32.NoPadding)

// boardForms are the suffixes of a board's name for the form of its tree. Data of one form is not
// found in another.
var boardForms = []string{"", ".newer", ".older", ".dense", WordsForm}

// WordsForm is the form of a tree of words, followed by their order.
const WordsForm = ".words"

// BoardNames returns all names that a board may have, now or in earlier releases of the app.
func BoardNames(board string) (all []string) {
	for _, form := range boardForms {
		all = append(all, board+form)
	}
	return all
}

// TreeName returns the name of a ranking's tree in keys: name, or the beginning and a hash of a
// long one.
func TreeName(name string) string {
	if len(name) <= longName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:keptName] + "#h" + nameHash.EncodeToString(sum[:])[:longName-keptName-2]
}
