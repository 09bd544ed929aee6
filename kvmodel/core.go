package kvmodel

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/recent"
	"github.com/ringtree/ringtree/kvmodel/internal/repair"
	"github.com/ringtree/ringtree/kvmodel/internal/turns"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// verbHook is called when a verb begins, and the returned func when it ends.
type verbHook func(ctx context.Context, w kv.Work) (context.Context, func())

// base is what the data classes of a DB share.
type base struct {
	store   kv.Store
	atomic  func(context.Context, func(kv.Store) error) error // nil: not supported
	walk    walker                                            // nil: record ids are listed
	losses  kv.Losses                                         // nil: none
	alone   bool                                              // this process holds and may write the store, which is as it left it
	ordered bool                                              // the ops of a trip take effect in order
	now     func() time.Time
	log     *slog.Logger

	patience time.Duration // of a call whose context has no deadline; 0: none
	refusal  error         // of writes; see ReadOnly
	name     string        // of its builds
	hooks    []verbHook    // one for each Hooks; nil: it has none

	journal  *journal.Journal
	failures *work.Failures // after replies
	work     *work.Queue
	repairer *repair.Repairer
	recent   *recent.Reads
	turns    *turns.Turns // of changes, by record key
	handling *turns.Turns // of handlers, by record key
	cascades cascades     // under way

	model func(name string) *model // nil: this process has none of that name

	lostRaces atomic.Int64
}

var errDBClosed = errors.New("the DB is closed")

// The following are documented in package kvmodel, as methods of its DB.

func (db *base) Later(ctx context.Context, f func(context.Context) error) {
	if db.refusal == nil {
		db.work.Later(ctx, f)
	}
}

func (db *base) Soon(f func(context.Context) error) bool {
	return db.refusal == nil && db.work.Soon(f)
}

func (db *base) Surely(ctx context.Context, f func(context.Context) error) error {
	if db.refusal != nil {
		return nil
	}
	return db.work.Surely(ctx, f)
}

func (db *base) Latch(f func(context.Context) error) plug.Latch {
	if db.refusal != nil {
		return noLatch{}
	}
	return db.work.Latch(f)
}

// noLatch is the latch of a DB opened with ReadOnly.
type noLatch struct{}

func (noLatch) Set()   {}
func (noLatch) Hurry() {}

func (db *base) AtFlush(f func(context.Context) error) { db.work.AtFlush(f) }

func (db *base) Flush(ctx context.Context) error {
	ctx, end := db.begin(ctx, kv.Work{Verb: "Flush"})
	defer end()
	return db.work.Flush(ctx)
}

func (db *base) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return kv.Patient(ctx, db.patience)
}

func (db *base) Writable() error { return db.refusal }

// nothing ends a verb that nobody observes.
func nothing() {}

// begin returns the context for the trips of w, and the func that ends w.
func (db *base) begin(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.hooks) == 0 || kv.WorkOf(ctx) != (kv.Work{}) {
		return ctx, nothing
	}
	return db.beginAnew(ctx, w)
}

// beginAnew is begin for a verb that is never part of another.
func (db *base) beginAnew(ctx context.Context, w kv.Work) (context.Context, func()) {
	if len(db.hooks) == 0 {
		return ctx, nothing
	}
	ctx = kv.For(ctx, w)
	var ends []func()
	for _, hook := range db.hooks {
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

// called returns the readable form of a process whose head was read.
func (db *base) called(o journal.Other) string { return o.Origin().Called(o.Process, db.now()) }
