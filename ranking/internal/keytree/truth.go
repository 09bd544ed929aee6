package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// State is the state of a member, as its record was read.
type State struct {
	In    bool  // the member is in the ranking
	Score Score // if it is in
	Ver   uint64
	Apart bool // it is not in, but its record exists

	// Broken is not nil if the record is there and damaged. Nothing else is known then,
	// and what is stored next takes its place.
	Broken error

	// Value is what else the Truth has read of the member.
	Value any
}

// confirms reports whether e is the entry of a member in state st.
func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// settles reports whether the record, in state st, has reached e's version and
// confirms it: e counts.
func (st State) settles(e entry) bool { return e.ver <= st.Ver && st.confirms(e) }

// outlived reports whether e, an entry of a member in state st, is stale: the record
// has reached e's version and does not confirm it. Since versions only grow, it never
// will, and any process may remove e at any later time. An entry with a greater
// version may belong to a change that is about to commit.
func (st State) outlived(e entry) bool { return e.ver <= st.Ver && !st.confirms(e) }

// stuck reports whether e belongs to a change that has been about to commit for so
// long that it never will. It can tell only for an absent record, because a record
// begins with the time as its version.
//
// If the record exists, an entry that was never confirmed, and that no journal
// mentions, stays until the record has changed once more and a query meets the
// entry, or until Mend.
func (st State) stuck(e entry, now time.Time) bool {
	return !st.In && !st.Apart && e.ver < uint64(now.Add(-times.Late).UnixMilli())
}

// Truth reads the records of members.
type Truth interface {
	// States returns the states of ids, in their order, in one trip. A member
	// without a record is not in, at version 0.
	States(ctx context.Context, s kv.Store, ids []string) ([]State, error)
}

// beside returns a Truth that knows the states of k, and others from t.
func (k knownStates) beside(t Truth) Truth {
	if k == nil {
		return t
	}
	return knownTruth{t, k}
}

type knownTruth struct {
	Truth
	states knownStates
}

func (t knownTruth) States(ctx context.Context, s kv.Store, ids []string) ([]State, error) {
	states, err := t.Truth.States(ctx, s, ids)
	for i := range states {
		if st := t.states[ids[i]]; st != nil {
			states[i] = *st
		}
	}
	return states, err
}
