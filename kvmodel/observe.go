package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Hooks observe a DB for logging, tracing and metrics. They should be quick. A nil hook is not
// called.
type Hooks struct {
	// Verb is called when a verb or a background task begins, and the returned func when it ends.
	// Its trips are made under the returned context. A verb called by another is part of that one.
	Verb func(ctx context.Context, w Work) (context.Context, func())

	// Trip is called when a trip has ended, like the hook of [Trace]. Its For names the verb that
	// made it. A trip of [DB.SideBySide] serves several verbs, except on a store with
	// [kv.Powers.Local].
	Trip func(ctx context.Context, trip Trip)
}

// Observe makes the DB call h. It may be given several times.
func Observe(h Hooks) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// Retries makes the DB repeat ops that the store did not carry out, as [kv.Retry] does: up to tries
// attempts, with a doubling pause.
func Retries(tries int, pause time.Duration) Option {
	return func(o *options) { o.tries, o.pause = tries, pause }
}

// wrapped returns s with the options' hooks for trips.
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

// Begin marks the start of an app's own operation, such as a page: verbs and trips under the
// returned context belong to it. Call the func at the end. Names should be few.
func (db *DB) Begin(ctx context.Context, name string) (context.Context, func()) {
	return db.core.BeginWork(ctx, kv.Work{Verb: name})
}

// Named returns the DB on behalf of the index, such as a counter, of the given name in a model, or
// of one without a model if model is "". It is for the index classes of this module.
func (db *DB) Named(name, index string) plug.DB {
	if m := db.core.Model(name); m != nil {
		return scoped{m.Db.Of(index), db}
	}
	return scoped{core.Scope{DB: db.core, Name: name, Index: index}, db}
}
