package intent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// turn is the right to carry out intents of one name with the same turn. Between processes it is an
// item that expires after times.Turn, so a longer call may overlap with another.
type turn struct {
	db    *core.DB
	key   string // empty: no turns
	token []byte // of this holder
	mine  bool
	leave func() // within this process
}

var turnClass = kv.NewClass("turn", 2)

func (i *Intent) turn(ctx context.Context, c Call) (*turn, error) {
	if c.Turn == nil {
		return &turn{mine: true}, nil
	}
	// A turn's name may contain personal data, which must not be in a key.
	sum := sha256.Sum256([]byte(*c.Turn))
	key := turnClass.Key(i.name, hex.EncodeToString(sum[:16]))
	leave, err := i.db.Handling.Take(ctx, key)
	return &turn{i.db, key, kv.RandomBytes(16), false, leave}, err
}

func (t *turn) try(ctx context.Context, s kv.Store) error {
	if t.mine {
		return nil
	}
	_, err := kv.One(ctx, s, kv.OpAdd(t.key, t.token).For(times.Turn))
	switch {
	case errors.Is(err, kv.ErrUnclear):
		return nil
	case !errors.Is(err, kv.ErrExists):
		t.mine = err == nil
		return err
	}
	// The answer to an earlier try may have been lost.
	at, err := kv.One(ctx, s, kv.OpGet(t.key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	t.mine = err == nil && string(at.Value) == string(t.token)
	return err
}

func (t *turn) wait(ctx context.Context) error {
	for !t.mine {
		if !kv.Sleep(ctx, kv.Jitter(turnPause)) {
			return fmt.Errorf("%w: another process is running one with the same turn", kv.ErrUnavailable)
		}
		if err := t.try(ctx, t.db.Store); err != nil {
			return err
		}
	}
	return nil
}

const turnPause = 200 * time.Millisecond

// end releases the turn, to other processes first.
func (t *turn) end(ctx context.Context) {
	if t.key == "" {
		return
	}
	t.db.Later(ctx, func(ctx context.Context) error {
		defer t.leave()
		return t.give(ctx)
	})
}

func (t *turn) give(ctx context.Context) error {
	at, err := kv.One(ctx, t.db.Store, kv.OpGet(t.key))
	if err == nil && string(at.Value) == string(t.token) {
		_, err = kv.One(ctx, t.db.Store, kv.OpDrop(t.key, at.Version))
	}
	if kv.Raced(err) {
		return nil
	}
	return err
}
