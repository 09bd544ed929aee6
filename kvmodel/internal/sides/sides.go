// Package sides runs works at the same time and sends what they ask for together.
package sides

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Run runs works at the same time, each with a context of its own, and returns
// the first of their errors, in their order. What they ask a [Store] on s for
// under that context is sent as by [kv.Together], under the context trips. Once a work
// has failed, no further trip leaves, and the others fail too. If a work panics, Run does.
//
// On a store with [kv.Powers.Local] works run one after another, until one fails.
func Run(ctx, trips context.Context, s kv.Store, works ...func(context.Context) error) error {
	if kv.PowersOf(s).Local {
		return inOrder(ctx, works)
	}
	errs := make([]error, len(works))
	panics := make([]any, len(works))
	sides := make([]func(kv.Store) error, len(works))
	var stopped atomic.Bool
	for i, work := range works {
		w := &side{asks: make(chan *ask), ended: make(chan struct{})}
		go func() {
			defer close(w.ended)
			defer func() { panics[i] = recover() }()
			if errs[i] = work(context.WithValue(ctx, sideKey{}, w)); errs[i] != nil {
				stopped.Store(true)
			}
		}()
		sides[i] = func(trip kv.Store) error { return w.serve(trips, trip) }
	}
	_ = kv.Together(trips, stopping{s, &stopped}, sides...)
	var failed error
	for i, err := range errs {
		if panics[i] != nil {
			panic(panics[i])
		}
		if failed == nil || errors.Is(failed, errStopped) && err != nil {
			failed = err
		}
	}
	return failed
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

// errStopped is what works get once another one has failed.
var errStopped = fmt.Errorf("another work beside it has failed: %w", context.Canceled)

// stopping is a store until it is stopped.
type stopping struct {
	kv.Store
	stopped *atomic.Bool
}

// Powers returns those of the store underneath.
func (s stopping) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Do carries out ops, unless s is stopped.
func (s stopping) Do(ctx context.Context, ops []kv.Op) error {
	if s.stopped.Load() {
		return kv.Fail(ops, errStopped)
	}
	return s.Store.Do(ctx, ops)
}

type sideKey struct{}

// side is one of the works of a Run.
type side struct {
	asks  chan *ask
	ended chan struct{}
}

// ask is a request of a work.
type ask struct {
	ops  []kv.Op
	err  error
	done chan struct{}
}

// serve sends what the work asks for until the work ends.
func (s *side) serve(ctx context.Context, trip kv.Store) error {
	for {
		select {
		case <-s.ended:
			return nil
		case a := <-s.asks:
			a.err = trip.Do(ctx, a.ops)
			close(a.done)
		}
	}
}

// On returns s for works of [Run], which send together what they ask it for under their
// contexts. Where they have no trips to share, that is s itself.
func On(s kv.Store) kv.Store {
	if kv.PowersOf(s).Local {
		return s
	}
	return Store{s}
}

// Store sends what it is asked for under the context of a work of [Run] together
// with what the other works ask for.
type Store struct{ kv.Store }

// Powers returns those of the store underneath.
func (s Store) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Do carries out ops, with those of the other works where there are any.
func (s Store) Do(ctx context.Context, ops []kv.Op) error {
	of, ok := ctx.Value(sideKey{}).(*side)
	if !ok {
		return s.Store.Do(ctx, ops)
	}
	a := &ask{ops: ops, done: make(chan struct{})}
	select {
	case of.asks <- a:
		<-a.done
		return a.err
	case <-of.ended:
		// What outlives its work is sent alone.
		return s.Store.Do(ctx, ops)
	}
}
