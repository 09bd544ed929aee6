package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// SideBySide runs works at the same time, each with a context of its own, and
// returns the first of their errors, in their order. What they ask db for under
// that context is sent as by Together: the first thing each of them asks for in
// one trip, the second in the next. So reads that do not need each other cost the
// trips of the longest work.
//
// A trip leaves when each work has asked for something or has ended, so a work
// must not wait for another one: works read, or count. A work that changes
// records may have to wait for its turn behind another that changes the same. If a
// work panics, SideBySide does.
func (db *DB) SideBySide(ctx context.Context, works ...func(context.Context) error) error {
	errs := make([]error, len(works))
	panics := make([]any, len(works))
	sides := make([]func(kv.Store) error, len(works))
	for i, work := range works {
		s := &side{asks: make(chan *ask), ended: make(chan struct{})}
		go func() {
			defer close(s.ended)
			defer func() { panics[i] = recover() }()
			errs[i] = work(context.WithValue(ctx, sideKey{}, s))
		}()
		sides[i] = func(trip kv.Store) error { return s.serve(ctx, trip) }
	}
	_ = kv.Together(ctx, db.store, sides...)
	for i, err := range errs {
		if panics[i] != nil {
			panic(panics[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type sideKey struct{}

// side is one of the works of a SideBySide.
type side struct {
	asks  chan *ask
	ended chan struct{}
}

// ask is what a work wants to be done.
type ask struct {
	ops  []kv.Op
	err  error
	done chan struct{}
}

// serve does what the work asks for until it ends.
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

// sided is the store of a DB: what is asked for under the context of a side goes
// with what the others ask for.
type sided struct{ kv.Store }

func (s sided) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s sided) Do(ctx context.Context, ops []kv.Op) error {
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
		// What goes on after its work has ended goes on alone.
		return s.Store.Do(ctx, ops)
	}
}
