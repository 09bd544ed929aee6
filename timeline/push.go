package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// The letters are those of docs/timeline.md.

// errAgain: somebody else was faster, or nobody can tell; look again.
var errAgain = errors.New("again")

// pushTries bounds how often a push tries anything again.
const pushTries = 8

// take returns a number that nobody else has, above all that were acknowledged
// before it was asked for. This is P1.
func (l *lane) take(ctx context.Context, s kvmodel.Store) (int64, error) {
	var err error
	for range pushTries {
		var n int64
		n, err = l.takeOnce(ctx, s)
		if !errors.Is(err, errAgain) && !errors.Is(err, kvmodel.ErrUnclear) {
			return n, err
		}
	}
	return 0, fmt.Errorf("%s: %w: no number after %d tries", l.counter, kvmodel.ErrUnavailable, pushTries)
}

func (l *lane) takeOnce(ctx context.Context, s kvmodel.Store) (int64, error) {
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
func (l *lane) ask(ctx context.Context, s kvmodel.Store) (known, n int64, err error) {
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
		errs := kvmodel.Together(ctx, s,
			func(s kvmodel.Store) (err error) { n, err = l.increment(ctx, s); return err },
			func(s kvmodel.Store) (err error) { known, err = l.join(ctx, s); return err },
		)
		if err = errs[0]; errs[1] != nil {
			l.forget()
			return 0, 0, errs[1]
		}
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
func (l *lane) join(ctx context.Context, s kvmodel.Store) (top int64, err error) {
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
func (l *lane) increment(ctx context.Context, s kvmodel.Store) (int64, error) {
	r, err := kvmodel.One(ctx, s, kvmodel.OpIncrement(l.counter, 1))
	if err == nil && r.Number > lastStamp || errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, kvmodel.ErrNotNumber) {
		return 0, errNoCounter
	}
	return r.Number, err
}

// recover makes the counter anew and returns its value, which is the caller's
// own number. top is the highest stamp known; scanned tells that it is that of
// all segments. This is RECOVER.
func (l *lane) recover(ctx context.Context, s kvmodel.Store, top int64, scanned bool) (int64, error) {
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
	if err := l.setCounter(ctx, s, version, n); err != nil || l.atomic {
		return n, err
	}
	return n, l.confirm(ctx, s, n)
}

// confirm looks, once the counter is made, whether others had made and lost
// one meanwhile: then n is too low.
func (l *lane) confirm(ctx context.Context, s kvmodel.Store, n int64) error {
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
func (l *lane) count(ctx context.Context, s kvmodel.Store) (int64, kvmodel.Version, error) {
	r, err := kvmodel.One(ctx, s, kvmodel.OpGet(l.counter))
	if err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		return 0, 0, err
	}
	return counted(r), r.Version, nil
}

// counted returns the number in a counter that was read.
func counted(r kvmodel.Result) int64 {
	if r.Err != nil {
		return absent
	}
	n, err := kvmodel.ParseNumber(r.Value)
	if err != nil || n > lastStamp {
		return poisoned
	}
	return n
}

// setCounter makes the counter n if it still has version, 0 if it was absent.
func (l *lane) setCounter(ctx context.Context, s kvmodel.Store, version kvmodel.Version, n int64) error {
	op := kvmodel.OpAdd(l.counter, strconv.AppendInt(nil, n, 10))
	if version != 0 {
		op = kvmodel.OpSwap(l.counter, version, op.Value)
	}
	_, err := kvmodel.One(ctx, s, op)
	if changed(err) || errors.Is(err, kvmodel.ErrUnclear) {
		return errAgain
	}
	return err
}

// changed tells whether err is the answer that somebody else was faster.
func changed(err error) bool {
	return errors.Is(err, kvmodel.ErrExists) || errors.Is(err, kvmodel.ErrConflict) || errors.Is(err, kvmodel.ErrNotFound)
}

// unlessChanged returns nil for the answer that somebody else was faster.
func unlessChanged(err error) error {
	if changed(err) {
		return nil
	}
	return err
}

// raise puts the counter above m if it is not there. This is RAISE.
func (l *lane) raise(ctx context.Context, s kvmodel.Store, m int64) error {
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

// publish puts e into its segment. When it returns nil, whoever begins to read
// finds it. This is P2.
func (l *lane) publish(ctx context.Context, s kvmodel.Store, e entry) error {
	g := l.shape()
	i := g.segment(g.block(e.stamp))
	a := addition{key: l.key(g, i), data: e.encode(nil), opens: g.isNew(e.stamp)}
	return a.put(ctx, s, func() error { return l.trim(ctx, s, i, e.stamp) })
}

// An addition is entries to be put at the end of what a key holds.
type addition struct {
	key   string
	data  []byte
	ttl   time.Duration // of the key, if it is made
	opens bool          // the key is likely to be absent
}

// put carries out a. It calls trim where the key is full, which a few times has
// to make room.
func (a addition) put(ctx context.Context, s kvmodel.Store, trim func() error) error {
	trims := 0
	for tries := range pushTries {
		if tries > 0 || !a.opens {
			_, err := kvmodel.One(ctx, s, kvmodel.OpAppend(a.key, a.data))
			if again(ctx, err) {
				continue
			}
			if !errors.Is(err, kvmodel.ErrNotStored) {
				return err
			}
		}
		// The key is absent or full, and an add tells which.
		_, err := kvmodel.One(ctx, s, kvmodel.OpAdd(a.key, a.data).For(a.ttl))
		switch {
		case errors.Is(err, kvmodel.ErrExists) && tries > 0:
			if trims++; trims > 2 {
				return fmt.Errorf("%s: %w: no room for an entry of %d bytes", a.key, kvmodel.ErrNotStored, len(a.data))
			}
			if err := trim(); err != nil {
				return err
			}
		case !errors.Is(err, kvmodel.ErrExists) && !again(ctx, err):
			return err
		}
	}
	return fmt.Errorf("%s: %w: not put there after %d tries", a.key, kvmodel.ErrUnclear, pushTries)
}

// again tells whether the op that ended in err is to be sent once more: an
// entry that stands twice is one entry.
func again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, kvmodel.ErrUnclear) || errors.Is(err, kvmodel.ErrUnavailable))
}

// tidy does what the push of n owes: the first of a block trims its segment, and
// where it may have lost against other pushes, somebody does half a block later
// in the segment before, by then quiet. In
// a transaction that is a part of it, and otherwise it comes after the reply.
// This is P3.
func (l *lane) tidy(ctx context.Context, s kvmodel.Store, n int64) {
	i, due := l.due(n)
	switch {
	case !due:
	case l.atomic:
		// A segment that is not trimmed now is trimmed on the next lap.
		_ = l.trim(ctx, s, i, n)
	default:
		l.db.Soon(func(ctx context.Context) error { return l.trim(ctx, l.db.Store(), i, n) })
	}
}

// due returns the segment that is to be trimmed after n.
func (l *lane) due(n int64) (segment int64, due bool) {
	g := l.shape()
	lap := n / (g.width * g.blocks)
	switch {
	case lap == 0:
		return 0, false
	case g.width < 4 && lap%(4/g.width) != 0:
		// A segment of few stamps need not be trimmed on each lap.
		return 0, false
	case n%g.width == 0:
		return g.segment(g.block(n)), true
	case n%g.width == g.width/2:
		return g.segment(g.block(n) - 1), l.trimmed.Load() < g.block(n)-1
	}
	return 0, false
}

// trim cuts off what was lapped in segment i. Anybody may do it at any time.
// own is a number the caller knows to be handed out: a higher one in the
// segment shows whether the counter has gone back. These are T1 and T2.
func (l *lane) trim(ctx context.Context, s kvmodel.Store, i, own int64) error {
	results, err := kvmodel.GetAll(ctx, s, l.key(l.shape(), i), l.counter)
	if err != nil {
		return err
	}
	seg, err := l.decode(l.shape(), i, results[0])
	if err != nil {
		return err
	}
	if top := highest(seg.entries); top > own && counted(results[1]) < top {
		return l.raise(ctx, s, top)
	}
	return l.cut(ctx, s, seg)
}

// cut is T2, with the segment in hand: what stands from the first entry of the
// newest block on stays.
func (l *lane) cut(ctx context.Context, s kvmodel.Store, seg segment) error {
	newest := l.shape().block(highest(seg.entries))
	from := 0
	for from < len(seg.entries) && l.shape().block(seg.entries[from].stamp) != newest {
		from++
	}
	if from > 0 && seg.version != 0 {
		_, err := kvmodel.One(ctx, s, kvmodel.OpSwap(seg.key, seg.version, encodeAll(seg.entries[from:])))
		if err != nil {
			return unlessChanged(err)
		}
	}
	l.trimmed.Store(newest)
	return nil
}
