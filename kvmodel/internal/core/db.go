package core

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/recent"
	"github.com/ringtree/ringtree/kvmodel/internal/repair"
	"github.com/ringtree/ringtree/kvmodel/internal/turns"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type verbHook func(ctx context.Context, w kv.Work) (context.Context, func())

// DB is the part of a kvmodel.DB that its models share.
type DB struct {
	Store   kv.Store
	Atomic  func(context.Context, func(kv.Store) error) error // nil: not supported
	Walk    walker                                            // nil: record ids are listed
	Losses  kv.Losses                                         // nil: none
	Alone   bool                                              // this process holds and may write the store, which is as it left it
	Ordered bool                                              // the ops of a trip take effect in order
	Now     func() time.Time
	Log     *slog.Logger

	Patience time.Duration // of a call whose context has no deadline; 0: none
	Refusal  error         // of writes; see ReadOnly
	Owner    string        // of its builds
	Hooks    []verbHook    // one for each Hooks; nil: it has none

	Journal  *journal.Journal
	Failures *work.Failures
	Work     *work.Queue
	Repairer *repair.Repairer
	Recent   *recent.Reads
	Turns    *turns.Turns // of changes, by record key
	Handling *turns.Turns // of handlers, by record key
	Cascades cascades

	Model func(name string) *Model // nil: this process does not have it

	LostRaces atomic.Int64
}

var ErrDBClosed = errors.New("the DB is closed")

func (db *DB) Later(ctx context.Context, f func(context.Context) error) {
	if db.Refusal == nil {
		db.Work.Later(ctx, f)
	}
}

func (db *DB) Soon(f func(context.Context) error) bool {
	return db.Refusal == nil && db.Work.Soon(f)
}

func (db *DB) Surely(ctx context.Context, f func(context.Context) error) error {
	if db.Refusal != nil {
		return nil
	}
	return db.Work.Surely(ctx, f)
}

func (db *DB) Latch(f func(context.Context) error) plug.Latch {
	if db.Refusal != nil {
		return noLatch{}
	}
	return db.Work.Latch(f)
}

// noLatch is the latch of a DB opened with ReadOnly.
type noLatch struct{}

func (noLatch) Set()   {}
func (noLatch) Hurry() {}

func (db *DB) AtFlush(f func(context.Context) error) { db.Work.AtFlush(f) }

func (db *DB) Flush(ctx context.Context) error {
	ctx, end := db.BeginWork(ctx, kv.Work{Verb: "Flush"})
	defer end()
	return db.Work.Flush(ctx)
}

func (db *DB) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return kv.Patient(ctx, db.Patience)
}

func (db *DB) Writable() error { return db.Refusal }

func nothing() {}

// BeginWork returns the context for the trips of w, and the func that ends w. Work within other
// work is part of it.
func (db *DB) BeginWork(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.Hooks) == 0 || kv.WorkOf(ctx) != (kv.Work{}) {
		return ctx, nothing
	}
	return db.BeginAnew(ctx, w)
}

// BeginAnew is BeginWork for a verb that is never part of another.
func (db *DB) BeginAnew(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.Hooks) == 0 {
		return ctx, nothing
	}
	ctx = kv.For(ctx, w)
	var ends []func()
	for _, hook := range db.Hooks {
		if hook != nil {
			var end func()
			ctx, end = hook(ctx, w)
			ends = append(ends, end)
		}
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}

// Scope is the DB for a model or one of its indexes, which background errors and trips name.
type Scope struct {
	*DB
	Name, Index string // "": the model itself
	Relaxed     bool   // writes need not wait for the disk
}

func (b Scope) Of(index string) Scope { b.Index = index; return b }

func (b Scope) Begin(ctx context.Context, verb string) (context.Context, func()) {
	if b.Relaxed {
		ctx = kv.Relaxed(ctx)
	}
	return b.BeginWork(ctx, kv.Work{Model: b.Name, Index: b.Index, Verb: verb})
}

func (b Scope) Upkeep(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, end := b.Begin(ctx, "upkeep")
		defer end()
		return work.About(b.Name, b.Index, f(ctx))
	}
}

func (b Scope) Later(ctx context.Context, f func(context.Context) error) {
	b.DB.Later(ctx, b.Upkeep(f))
}

func (b Scope) Soon(f func(context.Context) error) bool { return b.DB.Soon(b.Upkeep(f)) }

func (b Scope) Surely(ctx context.Context, f func(context.Context) error) error {
	return b.DB.Surely(ctx, b.Upkeep(f))
}

func (b Scope) Latch(f func(context.Context) error) plug.Latch { return b.DB.Latch(b.Upkeep(f)) }
