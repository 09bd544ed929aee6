package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A Counter counts something of each record of a model, outside of the record,
// as those who follow it see it.
type Counter interface {
	// Counts returns what the counters of these records stand at, by the texts
	// of their ids, in one trip; -1 where there is none.
	Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error)

	// Follow makes f follow the counter. It belongs into the program's wiring.
	Follow(f Follower)
}

// A Follower is an index over a counter, such as a board of what is viewed most.
// The counter calls it for every change, in the process that makes it.
type Follower interface {
	// Counting runs next to the change of id's counter by delta, in the same
	// trip: for counts of the follower's own, such as those of a day.
	Counting(ctx context.Context, s kv.Store, id string, delta int64) error

	// Counted is told, after the change, what the counter stands at; -1 if it
	// is not known. It decides when the index follows, and takes no trip but
	// where that is to be before the reply.
	Counted(ctx context.Context, id string, delta, count int64) error
}
