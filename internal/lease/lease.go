// Package lease lets one process at a time do something, by an item that expires. It bounds wasted
// work. A holder that was asleep may still write beside the next one, so each of its writes must be
// harmless then.
package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ErrEnded means that the lease has expired or belongs to another process. It is an ErrConflict.
var ErrEnded = fmt.Errorf("%w: the lease has ended", kv.ErrConflict)

// Lease is the right to do something for TTL.
type Lease struct {
	Key   string
	Token []byte // of this holder alone
	TTL   time.Duration
	Now   func() time.Time

	since time.Time
}

// Take takes the lease unless another process has it: one trip, or two if somebody has. After an
// ErrUnclear, Take again finds out.
func (l *Lease) Take(ctx context.Context, s kv.Store) (mine bool, err error) {
	l.since = l.Now()
	_, err = kv.One(ctx, s, kv.OpAdd(l.Key, l.Token).For(l.TTL))
	if errors.Is(err, kv.ErrExists) {
		l.since = time.Time{} // of an earlier try whose answer was lost
		err = l.Renew(ctx, s)
	}
	if errors.Is(err, ErrEnded) {
		return false, nil
	}
	return err == nil, err
}

// Renew extends the lease by TTL in two trips, if a quarter of TTL has passed.
func (l *Lease) Renew(ctx context.Context, s kv.Store) error {
	now := l.Now()
	if now.Sub(l.since) < l.TTL/4 {
		return nil
	}
	for {
		version, err := l.read(ctx, s)
		if err == nil {
			_, err = kv.One(ctx, s, kv.OpSwap(l.Key, version, l.Token).For(l.TTL))
		}
		switch {
		case errors.Is(err, kv.ErrNotFound):
			return ErrEnded
		case errors.Is(err, kv.ErrConflict) && !errors.Is(err, ErrEnded):
			continue // a late request of this holder
		case err == nil:
			l.since = now
		}
		return err
	}
}

// Return gives the lease back, unless it has ended.
func (l *Lease) Return(ctx context.Context, s kv.Store) error {
	version, err := l.read(ctx, s)
	if err == nil {
		_, err = kv.One(ctx, s, kv.OpDrop(l.Key, version))
	}
	if kv.Raced(err) {
		return nil
	}
	return err
}

func (l *Lease) read(ctx context.Context, s kv.Store) (kv.Version, error) {
	at, err := kv.One(ctx, s, kv.OpGet(l.Key))
	if err == nil && !bytes.Equal(at.Value, l.Token) {
		err = ErrEnded
	}
	return at.Version, err
}
