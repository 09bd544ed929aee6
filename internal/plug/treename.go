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

// TreeName returns how the keys of a ranking's tree name it: by name, or by the beginning
// and a hash of a long one.
func TreeName(name string) string {
	if len(name) <= longName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:keptName] + "#h" + nameHash.EncodeToString(sum[:])[:longName-keptName-2]
}
