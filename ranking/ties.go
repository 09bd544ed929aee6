package ranking

import (
	"time"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Ties is the order and the ranks of records with equal scores.
type Ties int

// With NoTies, Shared and Dense, records with equal scores are in an arbitrary fixed order.
const (
	NoTies Ties = iota // different ranks: 1, 2, 3, 4
	Shared             // a gap after a shared rank: 1, 2, 2, 4
	Dense              // without a gap: 1, 2, 2, 3
	Newest             // newest first, ranked as with NoTies
	Oldest             // oldest first, ranked as with NoTies
)

func (t Ties) ranks() keytree.Ranks {
	switch t {
	case Shared:
		return keytree.Shared
	case Dense:
		return keytree.Dense
	}
	return keytree.Single
}

func (t Ties) byTime() bool { return t == Newest || t == Oldest }

// newerAbove: a board with the lowest score first reads the tree from below.
func (t Ties) newerAbove(low bool) bool { return (t == Newest) != low }

func (t Ties) tie(made time.Time, low bool) uint64 {
	tie := keytree.TieAt(made)
	if !t.newerAbove(low) {
		tie = keytree.MaxTie - tie
	}
	return tie
}

// form returns the suffix of tree names for these ties, since their nodes differ.
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
