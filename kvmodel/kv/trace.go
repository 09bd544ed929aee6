package kv

import (
	"context"
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
