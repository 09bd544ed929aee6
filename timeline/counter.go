package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	errAgain     = errors.New("again")      // lost a race, or unclear: read again
	errNoCounter = errors.New("no counter") // absent or unusable
)

// take returns the last of run consecutive numbers, unique and above all numbers acknowledged before
// the call. This is P1.
func (l *lane) take(ctx context.Context, s kv.Store, run int64) (int64, error) {
	for range pushTries {
		n, err := l.takeOnce(ctx, s, run)
		if !errors.Is(err, errAgain) && !errors.Is(err, kv.ErrUnclear) {
			return n, err
		}
	}
	return 0, fmt.Errorf("%s: %w: no number after %d tries", l.counterKey(), kv.ErrUnavailable, pushTries)
}

func (l *lane) takeOnce(ctx context.Context, s kv.Store, run int64) (int64, error) {
	known, n, err := l.ask(ctx, s, run)
	if err != nil {
		return 0, err
	}
	g, first := l.shape, n-run+1
	if !l.atomic && (first <= known || g.block(first) <= g.block(l.top())-g.blocks) {
		// The counter went back, or the ring has already passed this number.
		if err := l.raise(ctx, s, max(known, l.top())); err != nil {
			return 0, err
		}
		return 0, errAgain
	}
	l.learn(n)
	return n, nil
}

// ask adds run to the counter. known is the highest number known before, at the first use of the lane
// from the segments.
func (l *lane) ask(ctx context.Context, s kv.Store, run int64) (known, n int64, err error) {
	known, first := l.meet()
	switch {
	case l.atomic:
		// counter and segments always agree, and known numbers may have been rolled back
		known, first = 0, false
		n, err = l.increment(ctx, s, run)
	case !first:
		n, err = l.increment(ctx, s, run)
	default:
		errs := kv.Together(ctx, s,
			func(s kv.Store) (err error) { n, err = l.increment(ctx, s, run); return err },
			func(s kv.Store) (err error) { known, err = l.join(ctx, s); return err },
		)
		if err = errs[0]; errs[1] != nil {
			l.forget()
			return 0, 0, errs[1]
		}
		l.learn(known)
	}
	if errors.Is(err, errNoCounter) {
		n, err = l.recover(ctx, s, known, run)
	}
	return known, n, err
}

const wholeRing = 32

// join returns the highest stamp in the lane. Of a large ring it reads only the segment after the
// counter's, which has newer entries if the counter went back. This is JOIN.
func (l *lane) join(ctx context.Context, s kv.Store) (top int64, err error) {
	g := l.shape
	if g.blocks <= wholeRing {
		return l.scanAll(ctx, s)
	}
	n, _, err := l.readCounter(ctx, s)
	if err != nil || n < 0 {
		return 0, err
	}
	i := g.segment(g.block(n) + 1)
	return l.scan(ctx, s, i, i+1)
}

func (l *lane) increment(ctx context.Context, s kv.Store, run int64) (int64, error) {
	r, err := kv.One(ctx, s, kv.OpIncrement(l.counterKey(), run))
	if err == nil && r.Number > lastStamp || errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrNotNumber) {
		return 0, errNoCounter
	}
	return r.Number, err
}

// recover recreates the counter and returns its value, the last of the caller's own numbers. top is
// the highest known stamp. It reads the segments again: an earlier read may lack entries pushed before the loss.
// This is RECOVER.
func (l *lane) recover(ctx context.Context, s kv.Store, top, run int64) (int64, error) {
	var count, high int64
	var version kv.Version
	errs := kv.Together(ctx, s,
		func(s kv.Store) (err error) { count, version, err = l.readCounter(ctx, s); return err },
		func(s kv.Store) (err error) { high, err = l.scanAll(ctx, s); return err },
	)
	if err := kv.Join(errs...); err != nil {
		return 0, err
	}
	if count >= 0 {
		return 0, errAgain
	}
	top = max(top, high)
	n := run
	if top > 0 {
		n = l.shape.next(top) + run - 1
	}
	if n > lastStamp {
		return 0, fmt.Errorf("%s: %w: all numbers up to %d are used; the counter was set too high", l.counterKey(), kv.ErrNotNumber, int64(lastStamp))
	}
	err := l.setCounter(ctx, s, version, n)
	if err != nil || l.atomic {
		return n, err
	}
	// if others created and lost a counter in between, n is too low
	if top, err = l.scanAll(ctx, s); err != nil || top < n {
		return n, err
	}
	l.learn(top)
	return 0, cmp.Or(l.raise(ctx, s, top), errAgain)
}

func (l *lane) readCounter(ctx context.Context, s kv.Store) (int64, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(l.counterKey()))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return 0, 0, err
	}
	return numberIn(r), r.Version, nil
}

func (l *lane) setCounter(ctx context.Context, s kv.Store, version kv.Version, n int64) error {
	_, err := kv.One(ctx, s, kv.OpReplace(l.counterKey(), version, strconv.AppendInt(nil, n, 10)))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return errAgain
	}
	return err
}

func unlessRaced(err error) error {
	if kv.Raced(err) {
		return nil
	}
	return err
}

// raise is RAISE.
func (l *lane) raise(ctx context.Context, s kv.Store, m int64) error {
	n, version, err := l.readCounter(ctx, s)
	if err != nil || n < 0 || n >= m {
		return err
	}
	if err = l.setCounter(ctx, s, version, l.shape.next(m)-1); errors.Is(err, errAgain) {
		return nil
	}
	return err
}

const pushTries = 8

// begin moves the lane to the dawn of the nth era, unless it is there.
func (l *lane) begin(ctx context.Context, s kv.Store, n int64) error {
	if dawn(n) > lastStamp {
		return fmt.Errorf("%s: %w: era %d", l.counterKey(), kv.ErrNotNumber, n)
	}
	for range pushTries {
		count, version, err := l.readCounter(ctx, s)
		if err != nil || count >= dawn(n) {
			return err
		}
		if count < 0 {
			// a lost counter may have been higher
			if top, err := l.scanAll(ctx, s); err != nil || top >= dawn(n) {
				return err
			}
		}
		if err = l.setCounter(ctx, s, version, dawn(n)); err == nil {
			l.learn(dawn(n))
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: no era after %d tries", l.counterKey(), kv.ErrConflict, pushTries)
}

func (l *lane) era(ctx context.Context, s kv.Store) (int64, error) {
	count, _, err := l.readCounter(ctx, s)
	return era(max(count, l.top(), 0)), err
}
