// Package tally counts things for each record of a model, outside the record.
package tally

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Counter counts something for each record of a model, as a [Follower] sees it.
type Counter interface {
	// Counts returns the numbers of these records, given by the texts of their ids, in one trip;
	// [None] for missing numbers.
	Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error)

	// Follow makes f follow the counter. Call it at start-up.
	Follow(f Follower)
}

// Follower is an index over a counter, such as a board of the most viewed records. The counter
// calls it for every change, in the process that makes it. It may be an [OnlyFollower].
type Follower interface {
	// Counting runs in the trip that changes the counter of id by delta.
	Counting(ctx context.Context, s kv.Store, id string, delta int64) error

	// Counted is called after the change with the new number of the counter, [None] if unknown.
	Counted(ctx context.Context, id string, delta, count int64) error
}

// OnlyFollower is a Follower that may have no counts of its own.
type OnlyFollower interface {
	// OnlyFollows reports whether Counting never has anything to do.
	OnlyFollows() bool
}

// SureFollower is an index that misses no number of a [Derived].
type SureFollower interface {
	// Follow makes the index agree with the numbers of these ids. s is the store of a step of the
	// write path, or a transaction.
	Follow(ctx context.Context, s kv.Store, ids []string) error
}
