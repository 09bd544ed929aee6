package keytree

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// State is what is true of a member, as its record said when it was read.
type State struct {
	In    bool  // the member is in the ranking
	Score Score // if it is in
	Ver   uint64

	// Value is whatever else the truth has read of the member.
	Value any
}

// confirms tells whether e is the entry of a member in state st.
func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// outlived tells whether e, an entry of a member in state st, is stale: the
// record has come as far as e's version and says otherwise, and since versions
// only grow it will never confirm e as it is. Whoever sees this may remove e at
// any later time. An entry with a greater version may be of a change that is
// about to commit.
func (st State) outlived(e entry) bool { return e.ver <= st.Ver && !st.confirms(e) }

// Truth is where members have their records.
type Truth interface {
	// States returns the states of ids, in their order, in one trip. One that
	// has no record is not in, at version 0.
	States(ctx context.Context, s kvmodel.Store, ids []string) ([]State, error)
}
