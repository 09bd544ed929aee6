package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// errAgain: somebody else was faster, or nobody can tell; look again.
var errAgain = errors.New("again")

// pushTries bounds how often a push tries anything again.
const pushTries = 8

// take returns a number that nobody else has, above all that were acknowledged
// before it was asked for. This is P1.
func (l *lane) take(ctx context.Context, s kv.Store) (int64, error) {
	var err error
	for range pushTries {
		var n int64
		n, err = l.takeOnce(ctx, s)
		if !errors.Is(err, errAgain) && !errors.Is(err, kv.ErrUnclear) {
			return n, err
		}
	}
	return 0, fmt.Errorf("%s: %w: no number after %d tries", l.counter, kv.ErrUnavailable, pushTries)
}

func (l *lane) takeOnce(ctx context.Context, s kv.Store) (int64, error) {
	known, n, err := l.ask(ctx, s)
	if err != nil {
		return 0, err
	}
	g := l.shape()
	if !l.atomic && (n <= known || g.block(n) <= g.block(l.top())-g.blocks) {
		// The counter has gone back, or the ring has passed us meanwhile.
		if err := l.raise(ctx, s, max(known, l.top())); err != nil {
			return 0, err
		}
		return 0, errAgain
	}
	l.learn(n)
	return n, nil
}

// ask increments the counter. known is the highest number this process knew
// before; at its first use of the lane it looks for that in the segments.
func (l *lane) ask(ctx context.Context, s kv.Store) (known, n int64, err error) {
	known, first := l.meet()
	switch {
	case l.atomic:
		// Inside a transaction counter and segments never part, and what was
		// known may have come to nothing.
		known, first = 0, false
		n, err = l.increment(ctx, s)
	case !first:
		n, err = l.increment(ctx, s)
	default:
		errs := kv.Together(ctx, s,
			func(s kv.Store) (err error) { n, err = l.increment(ctx, s); return err },
			func(s kv.Store) (err error) { known, err = l.join(ctx, s); return err },
		)
		if err = errs[0]; errs[1] != nil {
			l.forget()
			return 0, 0, errs[1]
		}
		l.learn(known)
	}
	if errors.Is(err, errNoCounter) {
		n, err = l.recover(ctx, s, known, first && l.shape().blocks <= wholeRing)
	}
	return known, n, err
}

// wholeRing is up to how many segments a lane is read as a whole by a process
// that meets it.
const wholeRing = 32

// join returns the highest stamp in the lane, as far as that can be seen at a
// fair price. Of a large ring only the segment after the counter's is read: it
// holds newer entries than the counter knows if that has gone back.
func (l *lane) join(ctx context.Context, s kv.Store) (top int64, err error) {
	g := l.shape()
	if g.blocks <= wholeRing {
		return l.scan(ctx, s)
	}
	n, _, err := l.count(ctx, s)
	if err != nil || n < 0 {
		return 0, err
	}
	i := g.segment(g.block(n) + 1)
	return l.scanSome(ctx, s, g, i, i+1)
}

// errNoCounter: the counter is absent, or no number that can be gone on from.
var errNoCounter = errors.New("no counter")

// increment is the incr of P1.
func (l *lane) increment(ctx context.Context, s kv.Store) (int64, error) {
	r, err := kv.One(ctx, s, kv.OpIncrement(l.counter, 1))
	if err == nil && r.Number > lastStamp || errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrNotNumber) {
		return 0, errNoCounter
	}
	return r.Number, err
}

// recover makes the counter anew and returns its value, which is the caller's
// own number. top is the highest stamp known; scanned tells that it is that of
// all segments. This is RECOVER.
func (l *lane) recover(ctx context.Context, s kv.Store, top int64, scanned bool) (int64, error) {
	count, version, err := l.count(ctx, s)
	if err != nil {
		return 0, err
	}
	if count >= 0 {
		return 0, errAgain
	}
	if !scanned {
		high, err := l.scan(ctx, s)
		if err != nil {
			return 0, err
		}
		top = max(top, high)
	}
	n := int64(1)
	if top > 0 {
		n = l.shape().next(top)
	}
	if n > lastStamp {
		return 0, fmt.Errorf("%s: %w: all numbers are given, up to %d; somebody has set it too high", l.counter, kv.ErrNotNumber, int64(lastStamp))
	}
	if err := l.setCounter(ctx, s, version, n); err != nil || l.atomic {
		return n, err
	}
	return n, l.confirm(ctx, s, n)
}

// confirm looks, once the counter is made, whether others had made and lost
// one meanwhile: then n is too low.
func (l *lane) confirm(ctx context.Context, s kv.Store, n int64) error {
	top, err := l.scan(ctx, s)
	if err != nil || top < n {
		return err
	}
	l.learn(top)
	if err := l.raise(ctx, s, top); err != nil {
		return err
	}
	return errAgain
}

// absent and poisoned are what count returns instead of a number.
const (
	absent   = -1
	poisoned = -2
)

// count reads the counter.
func (l *lane) count(ctx context.Context, s kv.Store) (int64, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(l.counter))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return 0, 0, err
	}
	return counted(r), r.Version, nil
}

// counted returns the number in a counter that was read.
func counted(r kv.Result) int64 {
	if r.Err != nil {
		return absent
	}
	n, err := kv.ParseNumber(r.Value)
	if err != nil || n > lastStamp {
		return poisoned
	}
	return n
}

// setCounter makes the counter n if it still has version, 0 if it was absent.
func (l *lane) setCounter(ctx context.Context, s kv.Store, version kv.Version, n int64) error {
	op := kv.OpAdd(l.counter, strconv.AppendInt(nil, n, 10))
	if version != 0 {
		op = kv.OpSwap(l.counter, version, op.Value)
	}
	_, err := kv.One(ctx, s, op)
	if changed(err) || errors.Is(err, kv.ErrUnclear) {
		return errAgain
	}
	return err
}

// changed tells whether err is the answer that somebody else was faster.
func changed(err error) bool {
	return errors.Is(err, kv.ErrExists) || errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound)
}

// unlessChanged returns nil for the answer that somebody else was faster.
func unlessChanged(err error) error {
	if changed(err) {
		return nil
	}
	return err
}

// raise puts the counter above m if it is not there. This is RAISE.
func (l *lane) raise(ctx context.Context, s kv.Store, m int64) error {
	n, version, err := l.count(ctx, s)
	if err != nil || n < 0 || n >= m {
		return err
	}
	err = l.setCounter(ctx, s, version, l.shape().next(m)-1)
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}
