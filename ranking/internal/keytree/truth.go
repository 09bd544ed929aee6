package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type State struct {
	In    bool  // the member is in the ranking
	Score Score // if it is in
	Ver   uint64
	Apart bool // it is not in, but its record exists

	// Broken is not nil if the record is damaged. Then the other fields are unknown, and the next
	// write replaces it.
	Broken error

	Value any // read by Truth along with the state
}

// confirms reports whether e is the entry of a member in state st.
func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// settles reports whether e counts, by a record in state st.
func (st State) settles(e entry) bool { return e.ver <= st.Ver && st.confirms(e) }

// outlived reports whether e is stale: the record, in state st, has reached e's version and does
// not confirm it. Since versions only grow, it never will. An entry with a greater version may
// belong to a change about to commit.
func (st State) outlived(e entry) bool { return e.ver <= st.Ver && !st.confirms(e) }

// stuck reports whether the change of e has been uncommitted for so long that it never will commit.
// That is known only for an absent record, because a record begins with the time as its version. If
// the record exists, such an entry stays until the record has changed once more and a query reads
// the entry, or until Mend.
func (st State) stuck(e entry, now time.Time) bool {
	return !st.In && !st.Apart && e.ver < uint64(now.Add(-times.Late).UnixMilli())
}

type Truth interface {
	// States returns the states of ids in one trip. Without a record a member is not in, at
	// version 0.
	States(ctx context.Context, s kv.Store, ids []string) ([]State, error)
}

// beside returns a Truth with the states of k, and otherwise those of t.
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

// knownStates are the states of members at the end of a transaction.
type knownStates map[string]*State
