// Package tally counts things for each record of a model, outside the record.
package tally

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var plainKey = kv.NewClass("n", 3) // model, counter, id text

func Key(model, counter, id string) string {
	return plainKey.KeyOfText([]string{model, counter}, id)
}

type Tally struct{ numbers }

var _ Counter = (*Tally)(nil)

func New(base Base, model, counter string) *Tally {
	return &Tally{numbers{base: base, model: model, counter: counter, keys: plainKey.Family(model, counter)}}
}

// Set sets the number of id to n, even if it is damaged.
func (t *Tally) Set(ctx context.Context, id string, n int64) error {
	if n < 0 || n > kv.MaxNumber {
		return fmt.Errorf("%w: a counter of %d", kv.ErrNotNumber, n)
	}
	key := t.Key(id)
	err := kv.Change(key, func() error {
		was, err := kv.One(ctx, t.base.Store, kv.OpGet(key))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		_, err = kv.One(ctx, t.base.Store, kv.OpReplace(key, was.Version, strconv.AppendInt(nil, n, 10)))
		return err
	})
	if err == nil {
		t.tell(ctx, id, 0, n)
	}
	return err
}

// Add does not go below 0. Errors of followers are only logged. One trip, two the first time.
func (t *Tally) Add(ctx context.Context, id string, delta int64) (sum int64, err error) {
	var others []error // of followers with counts of their own
	if beside := t.counting(ctx, id, delta); len(beside) == 0 {
		sum, err = t.adjust(ctx, t.base.Store, id, delta)
	} else {
		sum, others, err = t.adjustBeside(ctx, id, delta, beside)
	}
	switch {
	case err == nil:
		t.warn(id, others)
		t.tell(ctx, id, delta, sum)
	case errors.Is(err, kv.ErrUnclear):
		t.warn(id, others)
		t.tell(ctx, id, delta, None)
	}
	return sum, err
}

func (t *Tally) adjust(ctx context.Context, s kv.Store, id string, delta int64) (int64, error) {
	key := t.Key(id)
	sum, err := kv.Adjust(ctx, s, key, delta, 0)
	if errors.Is(err, kv.ErrNotNumber) {
		err = wire.Corrupt(key, err)
	}
	return sum, err
}

func (t *Tally) adjustBeside(ctx context.Context, id string, delta int64, works []func(kv.Store) error) (sum int64, others []error, err error) {
	first := func(s kv.Store) (err error) { sum, err = t.adjust(ctx, s, id, delta); return err }
	errs := kv.Together(ctx, t.base.Store, append([]func(kv.Store) error{first}, works...)...)
	return sum, errs[1:], errs[0]
}

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
