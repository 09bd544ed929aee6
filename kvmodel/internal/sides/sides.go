// Package sides runs works side by side and combines their requests.
package sides

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Run returns the first error in the order of works. Requests to a [Store] on s under their
// contexts share trips, as by [kv.Together], under the context trips. Once a work has failed, the
// others fail too. A panic of a work is one of Run. With [kv.Powers.Local] they run in order.
func Run(ctx, trips context.Context, s kv.Store, works ...func(context.Context) error) error {
	if kv.PowersOf(s).Local {
		return inOrder(ctx, works)
	}
	store := stopping{s, new(atomic.Bool)}
	sides := make([]side, len(works))
	errs := kv.Each(trips, store, works, func(trip kv.Store, i int, work func(context.Context) error) error {
		of := &sides[i]
		of.trips, of.trip = trips, trip
		return of.run(ctx, work, store.stopped)
	})
	return outcome(sides, errs)
}

func inOrder(ctx context.Context, works []func(context.Context) error) error {
	next, end := kv.Apart(ctx)
	defer end()
	for _, work := range works {
		if err := work(next()); err != nil {
			return err
		}
	}
	return nil
}

func outcome(sides []side, errs []error) (failed error) {
	for i, err := range errs {
		if panicked := sides[i].panicked; panicked != nil {
			panic(panicked)
		}
		if failed == nil || errors.Is(failed, errStopped) && err != nil {
			failed = err
		}
	}
	return failed
}

var errStopped = fmt.Errorf("another call beside it has failed: %w", context.Canceled)

type stopping struct {
	kv.Store
	stopped *atomic.Bool
}

func (s stopping) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s stopping) Do(ctx context.Context, ops []kv.Op) error {
	if s.stopped.Load() {
		return kv.Fail(ops, errStopped)
	}
	return s.Store.Do(ctx, ops)
}

type sideKey struct{}

type side struct {
	trips    context.Context
	trip     kv.Store
	panicked any

	mu   sync.Mutex // held while it asks, for a work that does so in goroutines of its own
	over bool
}

func (s *side) run(ctx context.Context, work func(context.Context) error, stopped *atomic.Bool) (err error) {
	if stopped.Load() {
		return errStopped
	}
	defer s.end()
	defer func() {
		if s.panicked = recover(); err != nil || s.panicked != nil {
			stopped.Store(true)
		}
	}()
	return work(context.WithValue(ctx, sideKey{}, s))
}

func (s *side) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// over: the work has ended, and its request is sent alone.
func (s *side) do(ops []kv.Op) (over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return true, nil
	}
	return false, s.trip.Do(s.trips, ops)
}

// On returns s for works of [Run], combining the requests made under their contexts.
func On(s kv.Store) kv.Store {
	if kv.PowersOf(s).Local {
		return s
	}
	return Store{s}
}

type Store struct{ kv.Store }

func (s Store) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s Store) Memory(ctx context.Context) (kv.Memory, string) { return kv.MemoryOf(ctx, s.Store) }

func (s Store) Do(ctx context.Context, ops []kv.Op) error {
	if of, ok := ctx.Value(sideKey{}).(*side); ok {
		if over, err := of.do(ops); !over {
			return err
		}
	}
	return s.Store.Do(ctx, ops)
}
