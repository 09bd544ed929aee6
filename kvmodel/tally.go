package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Tally is one counter of a model as a process knows it: where its numbers are,
// and which indexes follow it. Whoever counts does it here, so that those hear of
// it.
type Tally struct {
	db             *DB
	model, counter string

	mu        sync.Mutex // never held during a trip
	followers []Follower
}

var _ Counter = (*Tally)(nil)

// Tally returns the counter of that name of a model, the same one at every call.
func (db *DB) Tally(model, counter string) *Tally {
	db.mu.Lock()
	defer db.mu.Unlock()
	of := [2]string{model, counter}
	if db.tallies[of] == nil {
		db.tallies[of] = &Tally{db: db, model: model, counter: counter}
	}
	return db.tallies[of]
}

// Key returns the key of the number of the record with that id text.
func (t *Tally) Key(id string) string { return CounterKey(t.model, t.counter, id) }

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

// Counts returns what the counters of these records stand at, -1 where there is
// none.
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
		if counts[i], err = countedOr(-1, r); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Add adds delta to the number of id, which does not go below 0, and returns the
// sum. Followers hear of it; what one of them fails at is logged, since the count
// stands all the same. One trip, three the first time. After an ErrUnclear it may
// have counted or not.
func (t *Tally) Add(ctx context.Context, id string, delta int64) (int64, error) {
	sum, err := t.add(ctx, t.db.store, id, delta, kv.Next)
	switch {
	case err == nil:
		t.tell(ctx, id, delta, sum)
	case errors.Is(err, kv.ErrUnclear):
		t.tell(ctx, id, delta, -1)
	}
	return sum, err
}

// AddIn is Add as a step of the write path, on its store. Followers hear of it
// when that has ended. It is an ErrNotYet to take away what is not there, since
// what has added it may still arrive: then the number has to be counted anew.
func (t *Tally) AddIn(ctx context.Context, s kv.Store, id string, delta int64) error {
	count := kv.Next
	if delta < 0 && t.db.atomic == nil {
		count = take
	}
	sum, err := t.add(ctx, s, id, delta, count)
	if err == nil {
		t.TellSoon(id, delta, sum)
	}
	return err
}

// manyLeft is a number that those who take from it at the same time do not use
// up. From a smaller one not so many can take at the same time either, so that
// each of them gets its turn in as many tries.
const manyLeft = 100

// take is Next for a delta below 0, but for that it takes nothing from a number
// that is too small.
func take(ctx context.Context, s kv.Store, key string, _, delta int64) (int64, error) {
	for range manyLeft {
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return 0, err
		}
		n, err := countedOr(0, r)
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
		if !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrNotFound) {
			return n + delta, err
		}
	}
	return 0, fmt.Errorf("%s: %w: what is to be taken away is not there", key, ErrNotYet)
}

// add counts with count and lets followers count beside that.
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

// warn logs what followers failed at.
func (t *Tally) warn(id string, errs []error) {
	if err := errors.Join(errs...); err != nil {
		t.db.log.Warn("ringtree: what follows a counter failed", "model", t.model, "counter", t.counter, "id", id, "err", err)
	}
}

// TellSoon tells the followers in the background that the number of id changed by
// delta and is count. A transaction under way has ended by then; where there are
// transactions and too much to do already, followers are not told, and follow with
// the next change.
func (t *Tally) TellSoon(id string, delta, count int64) {
	if len(t.following()) == 0 {
		return
	}
	tell := func(ctx context.Context) error {
		t.tell(ctx, id, delta, count)
		return nil
	}
	if t.db.atomic == nil {
		t.db.Later(tell)
		return
	}
	// Later might do it at once, within the transaction that it has to wait for.
	t.db.Soon(func(ctx context.Context) error {
		// Transactions come one after another.
		if err := t.db.atomic(ctx, func(kv.Store) error { return nil }); err != nil {
			return err
		}
		return tell(ctx)
	})
}
