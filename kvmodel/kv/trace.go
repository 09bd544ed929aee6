package kv

import (
	"context"
	"strings"
	"time"
)

// Trip is one finished call of Do, or one transaction, for a Trace hook.
type Trip struct {
	Ops   []Op // with results; do not log the values, which are the app's secrets
	For   Work // the caller, if the DB was configured to record it
	Start time.Time
	Took  time.Duration // of a transaction, including its commit
	Err   error         // not nil if the store failed; an answer such as ErrNotFound is no failure
}

// Trace returns a store that shows each finished trip to hook. Gets that were all answered from
// memory are not a trip. The hook runs in the caller's goroutine, and must not retain or change
// Ops.
func Trace(s Store, hook func(context.Context, Trip)) Store {
	t := &traced{Store: s, powers: PowersOf(s), hook: hook}
	if atomic := t.powers.Atomic; atomic != nil {
		t.powers.Atomic = func(ctx context.Context, f func(Store) error) error { return t.atomic(ctx, atomic, f) }
	}
	return t
}

type traced struct {
	Store
	powers Powers
	hook   func(context.Context, Trip)
}

func (t *traced) Powers() Powers { return t.powers }

func (t *traced) Do(ctx context.Context, ops []Op) error {
	start := time.Now()
	err := t.Store.Do(ctx, ops)
	t.show(ctx, ops, start, err)
	return err
}

func (t *traced) atomic(ctx context.Context, atomic func(context.Context, func(Store) error) error, f func(Store) error) error {
	start := time.Now()
	ops, err := gather(ctx, atomic, f)
	t.show(ctx, ops, start, err)
	return err
}

func (t *traced) show(ctx context.Context, ops []Op, start time.Time, err error) {
	if AllNear(ops) {
		return
	}
	if !Failed(err) {
		err = nil
	}
	t.hook(ctx, Trip{Ops: ops, For: WorkOf(ctx), Start: start, Took: time.Since(start), Err: err})
}

// Work names the origin of a trip: a verb of a model or of an index, or a background task.
type Work struct {
	Model string // such as Post; "" for a database, and for an index without a model
	Index string // such as ByTags, or the name of a counter; "" for the model itself
	Verb  string // such as Page; repair, upkeep, journal or build in the background
}

// String returns the names, such as Post.ByTags.Page.
func (w Work) String() string {
	var names []string
	for _, name := range []string{w.Model, w.Index, w.Verb} {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

type workKey struct{}

// working is a context with a Work in one allocation.
type working struct {
	context.Context
	work Work
}

func (w *working) Value(key any) any {
	if key == (workKey{}) {
		return &w.work
	}
	return w.Context.Value(key)
}

// For returns a context whose trips are attributed to w; see [Trip].
func For(ctx context.Context, w Work) context.Context { return &working{ctx, w} }

// WorkOf returns the Work of ctx, empty if none is set.
func WorkOf(ctx context.Context) Work {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		return *w
	}
	return Work{}
}
