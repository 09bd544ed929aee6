package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Hooks are called with what a DB does, to log, trace and measure it. They should be
// quick. One that is nil is not called.
type Hooks struct {
	// Verb is called when a verb begins, or a work in the background, and the func that
	// it returns when that ends. Trips for it are made under the context that it returns.
	// A verb that another one calls is a part of that one.
	Verb func(ctx context.Context, w Work) (context.Context, func())

	// Trip is called when a trip has ended, as by [Trace]. Its For says which verb has
	// asked; trips of [DB.SideBySide] are for several, but on a store with [kv.Powers.Local].
	Trip func(ctx context.Context, trip Trip)
}

// Observe makes the DB call h. It may be given several times.
func Observe(h Hooks) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// Retries makes the DB repeat what the store did not carry out, as [kv.Retry] does: up to
// tries times in all, with a pause that doubles.
func Retries(tries int, pause time.Duration) Option {
	return func(o *options) { o.tries, o.pause = tries, pause }
}

// wrapped returns s with what the options want to be told of each trip.
func (o *options) wrapped(s kv.Store) kv.Store {
	for _, h := range o.hooks {
		if h.Trip != nil {
			s = kv.Trace(s, h.Trip)
		}
	}
	s = kv.Count(s)
	if o.tries > 1 {
		s = kv.Retry(s, o.tries, o.pause)
	}
	return s
}

// nothing ends a verb that no one observes.
func nothing() {}

// begin returns the context for the trips that are for w, and what ends w.
func (db *DB) begin(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.hooks) == 0 || kv.WorkOf(ctx) != (kv.Work{}) {
		return ctx, nothing
	}
	return db.beginAnew(ctx, w)
}

// beginAnew is begin for what is no part of anything else, whatever ctx says.
func (db *DB) beginAnew(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.hooks) == 0 {
		return ctx, nothing
	}
	ctx = kv.For(ctx, w)
	var ends []func()
	for _, h := range db.hooks {
		if h.Verb != nil {
			var end func()
			ctx, end = h.Verb(ctx, w)
			ends = append(ends, end)
		}
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}

// Begin says that the program begins something of its own, such as a page: trips under the
// context that it returns, and the verbs that make them, are a part of it. The func is to be
// called when that ends. Names should be few.
func (db *DB) Begin(ctx context.Context, name string) (context.Context, func()) {
	return db.begin(ctx, kv.Work{Verb: name})
}

// Named returns the DB as the index of that name of a model sees it, such as a counter; if
// model is "", as one that belongs to no model. It is for the index classes of this module.
func (db *DB) Named(model, index string) plug.DB {
	db.mu.Lock()
	defer db.mu.Unlock()
	return behalf{db, model, index, db.relaxed[model]}
}
