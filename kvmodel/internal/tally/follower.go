// Package tally counts something of each record of a model, outside of the record.
package tally

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A Counter counts something of each record of a model, outside of the record, as
// a [Follower] sees it.
type Counter interface {
	// Counts returns the numbers of these records, given by the texts of their
	// ids, in one trip; [None] where there is none.
	Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error)

	// Follow makes f follow the counter. Call it at start-up.
	Follow(f Follower)
}

// A Follower is an index over a counter, such as a board of what is viewed most.
// The counter calls it for every change, in the process that makes it. It may be an
// [OnlyFollower].
type Follower interface {
	// Counting runs next to the change of id's counter by delta, in the same
	// trip: for counts of the follower's own, such as those of a day.
	Counting(ctx context.Context, s kv.Store, id string, delta int64) error

	// Counted is called after the change with the number the counter has now, [None]
	// if that is not known. It decides when the index follows, and makes a trip
	// only where that has to happen before the reply.
	Counted(ctx context.Context, id string, delta, count int64) error
}

// OnlyFollower is a Follower that may have no counts of its own. A change then costs
// nothing but the counter's increment.
type OnlyFollower interface {
	// OnlyFollows reports whether Counting has nothing to do, now and later.
	OnlyFollows() bool
}

// A SureFollower is an index that misses no number of a [Derived]. It follows before the
// change of a number counts as complete, and again if that has failed.
type SureFollower interface {
	// Follow makes the index agree with the numbers of these records, given by the texts of
	// their ids. s is the store of a step of the write path, or a transaction.
	Follow(ctx context.Context, s kv.Store, ids []string) error
}
