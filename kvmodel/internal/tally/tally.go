package tally

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var counterKey = kv.NewClass("n", 3) // model, counter, id text

// Key returns the key of a model's counter for the record with that id text.
func Key(model, counter, id string) string {
	return counterKey.KeyOfText([]string{model, counter}, id)
}

// NumberOr returns the number that a get of a counter has answered, absent if
// there is none.
func NumberOr(absent int64, r kv.Result) (int64, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return absent, nil
	}
	if r.Err != nil {
		return 0, r.Err
	}
	return kv.ParseNumber(r.Value)
}

// Tally is one counter of a model as a process knows it: where its numbers are,
// and which indexes follow it. Every change of the counter goes through it, so
// that those are called.
type Tally struct {
	base           Base
	model, counter string

	mu        sync.Mutex // never held during a trip
	followers []Follower
}

var _ Counter = (*Tally)(nil)

// Base is the database that a tally belongs to.
type Base struct {
	Store  kv.Store
	Atomic func(context.Context, func(kv.Store) error) error // nil: the store has none
	Work   *work.Queue
	Log    *slog.Logger
}

// New returns the tally of that counter of a model.
func New(base Base, model, counter string) *Tally {
	return &Tally{base: base, model: model, counter: counter}
}

// Key returns the key of the number of the record with that id text.
func (t *Tally) Key(id string) string { return Key(t.model, t.counter, id) }

// Follow makes f follow the counter.
func (t *Tally) Follow(f Follower) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followers = append(t.followers, f)
}

func (t *Tally) following() []Follower {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.followers)
}

// Counts returns the numbers of these records, -1 where there is none.
func (t *Tally) Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = t.Key(id)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(ids))
	for i, r := range results {
		if counts[i], err = NumberOr(-1, r); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Add adds delta to the number of id, which does not go below 0, and returns the
// sum. Followers are called; their errors are logged, since the number has changed
// all the same. One trip, three the first time. After an ErrUnclear the number may
// have changed or not.
func (t *Tally) Add(ctx context.Context, id string, delta int64) (int64, error) {
	sum, err := t.add(ctx, t.base.Store, id, delta, kv.Next)
	switch {
	case err == nil:
		t.tell(ctx, id, delta, sum)
	case errors.Is(err, kv.ErrUnclear):
		t.tell(ctx, id, delta, -1)
	}
	return sum, err
}

// AddIn is Add as a step of the write path, on its store. Followers are called
// when that has ended. To take away what is not there is an ErrNotYet, since what
// has added it may still arrive: the number must then be counted again.
func (t *Tally) AddIn(ctx context.Context, s kv.Store, id string, delta int64) error {
	count := kv.Next
	if delta < 0 && t.base.Atomic == nil {
		count = take
	}
	sum, err := t.add(ctx, s, id, delta, count)
	if err == nil {
		t.TellSoon(id, delta, sum)
	}
	return err
}

// manyLeft is a number that concurrent callers of take do not use up. From a
// smaller number fewer can take, so that each of them succeeds within as many
// tries.
const manyLeft = 100

// take is Next for a delta below 0, except that it takes nothing from a number
// that is too small.
func take(ctx context.Context, s kv.Store, key string, _, delta int64) (int64, error) {
	for range manyLeft {
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return 0, err
		}
		n, err := NumberOr(0, r)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", key, err)
		}
		if n+delta < 0 {
			break
		}
		if n >= manyLeft {
			return kv.Next(ctx, s, key, 0, delta)
		}
		_, err = kv.One(ctx, s, kv.OpSwap(key, r.Version, strconv.AppendInt(nil, n+delta, 10)))
		if !kv.Raced(err) {
			return n + delta, err
		}
	}
	return 0, fmt.Errorf("%s: %w: what is to be taken away is not there", key, work.ErrNotYet)
}

// add changes the number by count and lets followers count beside that.
func (t *Tally) add(ctx context.Context, s kv.Store, id string, delta int64, count func(ctx context.Context, s kv.Store, key string, first, delta int64) (int64, error)) (sum int64, err error) {
	works := []func(kv.Store) error{func(s kv.Store) (err error) {
		sum, err = count(ctx, s, t.Key(id), 0, delta)
		return err
	}}
	for _, f := range t.following() {
		works = append(works, func(s kv.Store) error { return f.Counting(ctx, s, id, delta) })
	}
	errs := kv.Together(ctx, s, works...)
	t.warn(id, errs[1:])
	return sum, errs[0]
}

func (t *Tally) tell(ctx context.Context, id string, delta, count int64) {
	var errs []error
	for _, f := range t.following() {
		errs = append(errs, f.Counted(ctx, id, delta, count))
	}
	t.warn(id, errs)
}

// warn logs the errors of followers.
func (t *Tally) warn(id string, errs []error) {
	if err := errors.Join(errs...); err != nil {
		t.base.Log.Warn("ringtree: what follows a counter failed", "model", t.model, "counter", t.counter, "id", id, "err", err)
	}
}

// TellSoon calls the followers in the background: the number of id changed by
// delta and is count. A transaction under way has ended by then. On a store with
// transactions, if there is too much to do already, followers are not called, and
// follow with the next change.
func (t *Tally) TellSoon(id string, delta, count int64) {
	if len(t.following()) == 0 {
		return
	}
	tell := func(ctx context.Context) error {
		t.tell(ctx, id, delta, count)
		return nil
	}
	if t.base.Atomic == nil {
		t.base.Work.Later(tell)
		return
	}
	// Later might do it at once, inside the transaction that it has to wait for.
	t.base.Work.Soon(func(ctx context.Context) error {
		// Transactions come one after another.
		if err := t.base.Atomic(ctx, func(kv.Store) error { return nil }); err != nil {
			return err
		}
		return tell(ctx)
	})
}
