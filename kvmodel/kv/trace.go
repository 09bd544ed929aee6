package kv

import (
	"context"
	"time"
)

// Trip is one finished call of Do, or a transaction with all that was done in it, for a
// Trace hook to look at.
type Trip struct {
	Ops   []Op // with their results; values are secrets of the app: do not log them
	For   Work // who has asked, if the DB was told to say so
	Start time.Time
	Took  time.Duration // a transaction's with its commit
	Err   error         // not nil if the store failed: a refusal such as ErrNotFound is an answer
}

// Trace returns a store that shows each trip to hook after it has ended. Gets that were
// all answered from memory are no trip. The hook runs in the caller's goroutine, must not
// keep or change Ops, and should be quick. A logger, a span or a metric is a hook of a few
// lines.
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

// atomic shows a transaction as one trip.
func (t *traced) atomic(ctx context.Context, atomic func(context.Context, func(Store) error) error, f func(Store) error) error {
	start := time.Now()
	var whole *gathering // of the last run
	err := atomic(ctx, func(s Store) error {
		whole = &gathering{Store: s}
		return f(whole)
	})
	t.show(ctx, whole.asked(), start, err)
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
