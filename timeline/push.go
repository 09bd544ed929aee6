package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// add publishes entries, which are in order, and does the upkeep due.
func (l *lane) add(ctx context.Context, s kv.Store, entries ...entry) error {
	for len(entries) > 0 {
		n, block := 1, l.shape.block(entries[0].stamp)
		for n < len(entries) && l.shape.block(entries[n].stamp) == block {
			n++
		}
		if err := l.publish(ctx, s, entries[:n]...); err != nil {
			return err
		}
		for _, e := range entries[:n] {
			l.tidy(ctx, s, e.stamp)
		}
		entries = entries[n:]
	}
	return nil
}

// publish puts entries of one block into their segment. After it returns nil, every new read finds
// them. This is P2.
func (l *lane) publish(ctx context.Context, s kv.Store, entries ...entry) error {
	g, top := l.shape, entries[len(entries)-1].stamp
	i := g.segment(g.block(top))
	a := addition{key: l.key(i), data: encodeAll(entries), opens: g.isNew(entries[0].stamp)}
	return a.put(ctx, s, func() error { return l.trim(ctx, s, i, top) })
}

type addition struct {
	key   string
	data  []byte
	ttl   time.Duration // if the key is created
	opens bool          // the key is likely absent
}

// put calls trim, up to twice, if the key is full. After an unclear answer it returns nil or an
// ErrUnclear.
func (a addition) put(ctx context.Context, s kv.Store, trim func() error) (err error) {
	trims, unclear := 0, false
	one := func(op kv.Op) error {
		_, err := kv.One(ctx, s, op)
		unclear = unclear || errors.Is(err, kv.ErrUnclear)
		return err
	}
	defer func() {
		if unclear {
			err = kv.Unclear(err)
		}
	}()
	for tries := range pushTries {
		if tries > 0 || !a.opens {
			err := one(kv.OpAppend(a.key, a.data))
			if resend(ctx, err) {
				continue
			}
			if !errors.Is(err, kv.ErrNotStored) {
				return err
			}
		}
		// an add tells whether the key is absent or full
		err := one(kv.OpAdd(a.key, a.data).For(a.ttl))
		switch {
		case errors.Is(err, kv.ErrExists) && tries > 0:
			if trims++; trims > 2 {
				return fmt.Errorf("%s: %w: no room for an entry of %d bytes", a.key, kv.ErrNotStored, len(a.data))
			}
			if err := trim(); err != nil {
				return err
			}
		case !errors.Is(err, kv.ErrExists) && !resend(ctx, err):
			return err
		}
	}
	return fmt.Errorf("%s: %w: not added after %d tries", a.key, kv.ErrUnclear, pushTries)
}

// resend: an entry stored twice is one entry.
func resend(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrUnavailable))
}

// tidy trims a segment in the transaction, or in the background. This is P3.
func (l *lane) tidy(ctx context.Context, s kv.Store, n int64) {
	i, due := l.due(n)
	switch {
	case !due:
	case l.atomic:
		// if it fails, the next lap trims the segment
		_ = l.trim(ctx, s, i, n)
	default:
		l.db.Soon(func(ctx context.Context) error { return l.trim(ctx, l.db.Store(), i, n) })
	}
}

// due returns the segment to trim after n: the first push of a block trims its segment; in case
// that lost races, the push half a block later trims the segment before, quiet by then.
func (l *lane) due(n int64) (segment int64, due bool) {
	g := l.shape
	lap := n / (g.width * g.blocks)
	switch {
	case lap == 0:
		return 0, false
	case g.width < 4 && lap%(4/g.width) != 0:
		// a segment of few stamps need not be trimmed on every lap
		return 0, false
	case n%g.width == 0:
		return g.segment(g.block(n)), true
	case n%g.width == g.width/2:
		return g.segment(g.block(n) - 1), l.trimmed.Load() < (g.block(n)-1)*g.width
	}
	return 0, false
}

// trim removes lapped entries from segment i. own was handed out: if the segment has a higher
// number, the counter may have gone back. This is T1 and T2.
func (l *lane) trim(ctx context.Context, s kv.Store, i, own int64) error {
	key := l.key(i)
	results, err := kv.GetAll(ctx, s, key, l.counterKey())
	if err != nil {
		return err
	}
	seg, err := l.decode(i, key, results[0])
	if err != nil {
		return err
	}
	if top := highest(seg.entries); top > own && numberIn(results[1]) < top {
		return l.raise(ctx, s, top)
	}
	return l.cut(ctx, s, seg)
}

// cut is T2. It keeps all from the first entry of the newest block on, and drops entries of another
// shape.
func (l *lane) cut(ctx context.Context, s kv.Store, seg segment) error {
	newest := l.shape.block(highest(seg.entries))
	from := 0
	for from < len(seg.entries) && l.shape.block(seg.entries[from].stamp) != newest {
		from++
	}
	// unreadable entries right before may be of the newest block, too
	for from > 0 && seg.entries[from-1].lost() {
		from--
	}
	if (from > 0 || seg.strange) && seg.version != 0 {
		_, err := kv.One(ctx, s, kv.OpSwap(seg.key, seg.version, encodeAll(seg.entries[from:])))
		if err != nil {
			return unlessRaced(err)
		}
	}
	l.trimmed.Store(newest * l.shape.width)
	return nil
}
