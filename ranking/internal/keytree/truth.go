package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type State struct {
	In    bool
	Score Score
	Ver   uint64
	Apart bool // not in, but its record exists

	// Broken: the record is damaged, the rest is unknown, and the next write replaces it.
	Broken error

	Value any // read along with the state
}

func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// judge returns the verdict of the record, in state st, on e. If the record exists, a dead entry
// stays pending until the record has changed once more and a query reads the entry, or until Mend.
func (st State) judge(e entry, now time.Time) plug.Verdict {
	return plug.Judge(e.ver, st.Ver, st.confirms(e), plug.Age(e.ver, st.In || st.Apart, now))
}

type Truth interface {
	// States returns the states of ids in one trip. Without a record a member is not in, at version
	// 0.
	States(ctx context.Context, s kv.Store, ids []string) ([]State, error)
}

type knownTruth struct {
	Truth
	states map[string]*State
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
