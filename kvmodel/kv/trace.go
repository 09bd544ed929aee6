package kv

import (
	"context"
	"time"
)

// Trip is one finished call of Do, for a Trace hook to look at.
type Trip struct {
	Ops   []Op // with their results; values are secrets of the app: do not log them
	Start time.Time
	Took  time.Duration
	Err   error // what Do returned
}

// Trace returns a store that shows each trip to hook after it has ended. Gets that were
// all answered from memory are no trip. The hook runs in the caller's goroutine, must not
// keep or change Ops, and should be quick. A logger, a span or a metric is a hook of a few
// lines.
func Trace(s Store, hook func(context.Context, Trip)) Store { return &traced{s, hook} }

type traced struct {
	Store
	hook func(context.Context, Trip)
}

func (t *traced) Powers() Powers {
	return PowersOf(t.Store).through(func(s Store) Store { return Trace(s, t.hook) })
}

func (t *traced) Do(ctx context.Context, ops []Op) error {
	start := time.Now()
	err := t.Store.Do(ctx, ops)
	if AllNear(ops) {
		return err
	}
	t.hook(ctx, Trip{Ops: ops, Start: start, Took: time.Since(start), Err: err})
	return err
}
