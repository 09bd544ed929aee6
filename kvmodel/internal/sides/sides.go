// Package sides runs works side by side and sends what they ask for together.
package sides

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Run runs works, each with a context of its own, and returns the first of their errors, in
// their order. They run one after another until one asks a [Store] on s for something under
// its context, and from then on at the same time: what they ask for is sent as by
// [kv.Together], under the context trips. Once a work has failed, no further trip leaves, and
// the others fail too. If a work panics, Run does.
//
// On a store with [kv.Powers.Local] all works run one after another, until one fails.
func Run(ctx, trips context.Context, s kv.Store, works ...func(context.Context) error) error {
	if kv.PowersOf(s).Local {
		return inOrder(ctx, works)
	}
	r := &run{ctx: ctx, trips: trips, store: stopping{s, new(atomic.Bool)}, works: works, sides: make([]side, len(works))}
	for r.next() {
	}
	if r.landed != nil {
		<-r.landed
	}
	return r.outcome()
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

// run is the works of a Run.
type run struct {
	ctx, trips context.Context
	store      stopping
	works      []func(context.Context) error
	sides      []side // of the works

	mu       sync.Mutex
	begun    int           // how many works have begun: the first ones
	landed   chan struct{} // nil while they run one after another; is closed behind their last trip
	panicked any           // by the store
}

// next runs the next work in the goroutine of the caller. It returns false if there is none.
func (r *run) next() bool {
	r.mu.Lock()
	i := r.begun
	if i == len(r.works) || r.store.stopped.Load() {
		r.mu.Unlock()
		return false
	}
	r.begun++
	r.mu.Unlock()
	r.work(i)
	return true
}

// work runs a work until it ends.
func (r *run) work(i int) {
	of := &r.sides[i]
	of.run = r
	defer of.end()
	defer func() {
		if of.panicked = recover(); of.panicked != nil {
			r.store.stopped.Store(true)
		}
	}()
	if of.err = r.works[i](context.WithValue(r.ctx, sideKey{}, of)); of.err != nil {
		r.store.stopped.Store(true)
	}
}

// leave has the works that have not begun run beside the last one that has. The caller holds
// the lock.
func (r *run) leave() {
	r.landed = make(chan struct{})
	sides := make([]func(kv.Store) error, 0, len(r.works)-r.begun+1)
	for i := r.begun - 1; i < len(r.works); i++ {
		of := &r.sides[i]
		of.asks, of.ended = make(chan *ask), make(chan struct{})
		sides = append(sides, func(trip kv.Store) error { return of.serve(r.trips, trip) })
	}
	for ; r.begun < len(r.works); r.begun++ {
		go r.work(r.begun)
	}
	go func() {
		defer close(r.landed)
		defer func() { r.panicked = recover() }()
		_ = kv.Together(r.trips, r.store, sides...)
	}()
}

// outcome returns the first error of the works, which have ended, or panics as one has.
func (r *run) outcome() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	var failed error
	for i := range r.sides {
		of := &r.sides[i]
		if of.panicked != nil {
			panic(of.panicked)
		}
		if failed == nil || errors.Is(failed, errStopped) && of.err != nil {
			failed = of.err
		}
	}
	return failed
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
	*run
	over     bool // it has ended
	err      error
	panicked any

	asks  chan *ask // nil while it runs alone
	ended chan struct{}
}

// ask is a request of a work.
type ask struct {
	ops  []kv.Op
	err  error
	done chan struct{}
}

func (s *side) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; s.ended != nil {
		close(s.ended)
	}
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

// hasCompany reports whether the work has others beside it. Those that have not begun do now.
func (s *side) hasCompany() (company, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.landed == nil && !s.over && s.begun < len(s.works) {
		s.leave()
	}
	return s.asks != nil, s.over
}

// do carries out ops together with what the other works ask for.
func (s *side) do(ops []kv.Op) (over bool, err error) {
	a := &ask{ops: ops, done: make(chan struct{})}
	select {
	case s.asks <- a:
		<-a.done
		return false, a.err
	case <-s.ended:
		return true, nil
	case <-s.landed:
		return false, kv.Fail(ops, kv.ErrUnavailable) // The store has panicked.
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

// Memory returns that of the store underneath: what it answers needs no trip to share.
func (s Store) Memory(ctx context.Context) (kv.Memory, string) { return kv.MemoryOf(ctx, s.Store) }

// Do carries out ops, with those of the other works where there are any.
func (s Store) Do(ctx context.Context, ops []kv.Op) error {
	of, ok := ctx.Value(sideKey{}).(*side)
	if !ok {
		return s.Store.Do(ctx, ops)
	}
	company, over := of.hasCompany()
	if company && !over {
		var err error
		if over, err = of.do(ops); !over {
			return err
		}
	}
	if over {
		return s.Store.Do(ctx, ops) // What outlives its work is sent alone.
	}
	return of.store.Do(of.trips, ops)
}
