package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
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

// judge returns the verdict of the record, in state st, on e at now. If the record exists, an entry
// that was never confirmed, and is in no journal, stays pending until the record has changed once
// more and a query reads the entry, or until Mend.
func (st State) judge(e entry, now time.Time) plug.Verdict {
	return plug.Judge(e.ver, st.Ver, st.confirms(e), plug.Age(e.ver, st.In || st.Apart, now))
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
