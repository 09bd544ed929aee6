package ranking

import (
	"time"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Ties says how records with equal scores stand: in which order, and at which ranks.
type Ties int

// Without Ties, and with Shared and Dense, records with equal scores stand in a fixed order
// that means nothing.
const (
	NoTies Ties = iota // each has a rank of its own: 1, 2, 3, 4
	Shared             // they share a rank, and the next has as many more: 1, 2, 2, 4
	Dense              // they share a rank, and the next has one more: 1, 2, 2, 3
	Newest             // the one made last comes first, with ranks as of NoTies
	Oldest             // the one made first comes first, with ranks as of NoTies
)

// ranks returns how records are numbered.
func (t Ties) ranks() keytree.Ranks {
	switch t {
	case Shared:
		return keytree.Shared
	case Dense:
		return keytree.Dense
	}
	return keytree.Single
}

// byTime reports whether records with equal scores stand by when they were made.
func (t Ties) byTime() bool { return t == Newest || t == Oldest }

// newerAbove reports whether of two records with one score the one made later stands above
// the other in the tree, which a board with the lowest score first reads from below.
func (t Ties) newerAbove(low bool) bool { return (t == Newest) != low }

// tie returns what decides between equal scores for a record made at that time.
func (t Ties) tie(made time.Time, low bool) uint64 {
	tie := keytree.TieAt(made)
	if !t.newerAbove(low) {
		tie = keytree.MaxTie - tie
	}
	return tie
}

// form returns what the name of a tree says of its form: with another one it has other
// nodes. A release from before there were forms does not look there.
func (t Ties) form(low bool) string {
	switch {
	case t == Dense:
		return ".dense"
	case t.byTime() && t.newerAbove(low):
		return ".newer"
	case t.byTime():
		return ".older"
	}
	return ""
}
