package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// publish puts e into its segment. After it returns nil, every new read finds e. This is P2.
func (l *lane) publish(ctx context.Context, s kv.Store, e entry) error {
	g := l.shape
	i := g.segment(g.block(e.stamp))
	a := addition{key: l.key(i), data: seal(e.encode(nil)), opens: g.isNew(e.stamp)}
	return a.put(ctx, s, func() error { return l.trim(ctx, s, i, e.stamp) })
}

// An addition is a set of entries to append to a key.
type addition struct {
	key   string
	data  []byte
	ttl   time.Duration // of the key, if it is created
	opens bool          // the key is likely to be absent
}

// put carries out a. If the key is full it calls trim, up to twice, to make room. After an unclear
// answer, put returns nil or an ErrUnclear.
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
			if again(ctx, err) {
				continue
			}
			if !errors.Is(err, kv.ErrNotStored) {
				return err
			}
		}
		// The key is absent or full; an add tells which.
		err := one(kv.OpAdd(a.key, a.data).For(a.ttl))
		switch {
		case errors.Is(err, kv.ErrExists) && tries > 0:
			if trims++; trims > 2 {
				return fmt.Errorf("%s: %w: no room for an entry of %d bytes", a.key, kv.ErrNotStored, len(a.data))
			}
			if err := trim(); err != nil {
				return err
			}
		case !errors.Is(err, kv.ErrExists) && !again(ctx, err):
			return err
		}
	}
	return fmt.Errorf("%s: %w: not added after %d tries", a.key, kv.ErrUnclear, pushTries)
}

// again reports whether to resend an op that returned err. An entry stored twice is one entry.
func again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrUnavailable))
}
