package write

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func Several(ctx context.Context, m *core.Model, n int, id func(i int) string, work Makes) []error {
	return SeveralBy(ctx, m, Usual, n, id, work)
}

// SeveralBy is Several with other batches. Transactions have limits of their own. After a batch of
// which the store made nothing, the others are not tried: each could take the store's patience.
func SeveralBy(ctx context.Context, m *core.Model, by Batches, n int, id func(i int) string, work Makes) []error {
	if m.Db.Atomic != nil {
		return severalTogether(ctx, m, n, id, work)
	}
	errs := make([]error, n)
	batches := slices.Collect(batchesOf(n, id, func() int { return by.Changes }))
	var down atomic.Pointer[error]
	sideBySide(by.AtOnce, len(batches), func(b int) {
		batch, rest := batches[b], new(Rest)
		if cause := down.Load(); cause != nil {
			for _, i := range batch {
				errs[i] = Untried(ctx, m, *cause)
			}
			return
		}
		made := inTurns(ctx, m, batch, id, func() []error {
			return kv.Each(ctx, m.Db.Store, batch, func(s kv.Store, _, i int) error { return work(ctx, s, i, rest) })
		})
		for k, err := range made {
			errs[batch[k]] = err
		}
		if !slices.ContainsFunc(made, func(err error) bool { return !kv.Failed(err) }) {
			down.Store(&made[0])
		}
		finish(ctx, m, rest)
	})
	return errs
}

// Untried returns the error of a change that is not tried because the store failed with cause.
func Untried(ctx context.Context, m *core.Model, cause error) error {
	if ended := kv.Ended(ctx); ended != nil {
		return fmt.Errorf("%s: %w", m.Name, kv.Unavailable(ended))
	}
	return fmt.Errorf("%s: %w: not tried, after %v", m.Name, kv.ErrUnavailable, cause)
}

// batchesOf yields 0 to n-1 in batches of at most size, without repeated ids within a batch.
func batchesOf(n int, id func(i int) string, size func() int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var again []int
		for next := 0; next < n || len(again) > 0; {
			most := size()
			batch, taken := make([]int, 0, min(n, most)), make(map[string]bool)
			some := again
			for again = nil; next < n && len(some) < most; next++ {
				some = append(some, next)
			}
			for _, i := range some {
				if id != nil && taken[id(i)] || len(batch) == most {
					again = append(again, i)
					continue
				}
				if batch = append(batch, i); id != nil {
					taken[id(i)] = true
				}
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// inTurns runs f while no other change of these records runs in this process. All callers take
// turns in the same order, so two never wait for each other.
func inTurns(ctx context.Context, m *core.Model, batch []int, id func(i int) string, f func() []error) []error {
	if id == nil {
		return f()
	}
	ids := kv.Texts(batch, id)
	slices.Sort(ids)
	for _, id := range ids {
		leave, err := m.Db.Turns.Take(ctx, m.Key(id))
		if err != nil {
			return slices.Repeat([]error{m.Failure(id, err)}, len(batch))
		}
		defer leave()
	}
	return f()
}

// sideBySide calls work for 0 to n-1, at most most at a time.
func sideBySide(most, n int, work func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	panics := make(chan any, n)
	for range min(most, n) {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
	if len(panics) > 0 {
		panic(<-panics)
	}
}

// Batches has the number of changes in shared trips, and of batches at a time: some are prepared
// while the store works on the others. Each change holds some kilobytes until its batch is done,
// and more of them than a processor's cache holds take a third more CPU time.
type Batches struct{ Changes, AtOnce int }

var (
	Usual   = Batches{500, 2} // few trips
	Loading = Batches{32, 4}
)

// Makes makes change i of many: immediately if rest is nil, else with others in it.
type Makes func(ctx context.Context, s kv.Store, i int, rest *Rest) error
