package tally

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type numbers struct {
	base           Base
	model, counter string
	keys           kv.Family
	zero           int64 // stored for 0
	signed         bool  // negative numbers are shown as they are

	mu        sync.Mutex
	followers []Follower
	counters  []Follower // the followers with counts of their own
}

type Base struct {
	Store  kv.Store
	Atomic func(context.Context, func(kv.Store) error) error // nil: not supported
	Now    func() time.Time
	Work   *work.Queue

	Begin func(ctx context.Context, model, counter string) (context.Context, func())

	Failures *work.Failures
}

func (n *numbers) Key(id string) string { return n.keys.Key(id) }

func (n *numbers) Keys() kv.Family { return n.keys }

// None stands for a missing number.
const None = math.MinInt64

func (n *numbers) Number(absent int64, r kv.Result) (int64, error) {
	switch {
	case r.Err == nil:
	case errors.Is(r.Err, kv.ErrNotFound):
		return absent, nil
	default:
		return 0, r.Err
	}
	stored, err := kv.ParseNumber(r.Value)
	return n.shown(stored), err
}

func (n *numbers) shown(stored int64) int64 {
	if n.signed {
		return stored - n.zero
	}
	return max(0, stored-n.zero)
}

func (n *numbers) failure(id string, err error) error {
	if errors.Is(err, kv.ErrNotNumber) {
		return wire.Corrupt(n.Key(id), err)
	}
	return err
}

func (n *numbers) Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	counts, errs, err := n.countEach(ctx, s, ids)
	for i := range errs {
		if errs[i] != nil {
			return nil, n.failure(ids[i], errs[i])
		}
	}
	return counts, err
}

func (n *numbers) countEach(ctx context.Context, s kv.Store, ids []string) (counts []int64, errs []error, err error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(ids, n.Key)...)
	if err != nil {
		return nil, nil, err
	}
	counts, errs = make([]int64, len(ids)), make([]error, len(ids))
	for i, r := range results {
		counts[i], errs[i] = n.Number(None, r)
	}
	return counts, errs, nil
}

func (n *numbers) Follow(f Follower) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.followers = append(n.followers, f)
	if only, ok := f.(OnlyFollower); !ok || !only.OnlyFollows() {
		n.counters = append(n.counters, f)
	}
}

func (n *numbers) following() []Follower {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.followers)
}

func (n *numbers) counting(ctx context.Context, id string, delta int64) (works []func(kv.Store) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.counters {
		works = append(works, func(s kv.Store) error { return f.Counting(ctx, s, id, delta) })
	}
	return works
}

func (n *numbers) tell(ctx context.Context, id string, delta, count int64) {
	var errs []error
	for _, f := range n.following() {
		if err := f.Counted(ctx, id, delta, count); err != nil {
			errs = append(errs, err)
		}
	}
	n.warn(id, errs)
}

func (n *numbers) warn(id string, errs []error) {
	if len(errs) == 0 {
		return
	}
	if err := kv.Join(errs...); err != nil {
		err = fmt.Errorf("%s.%s of %s: %w", n.model, n.counter, kv.Quote(id), err)
		n.base.Failures.Log(slog.LevelWarn, "updating an index that follows a counter failed", work.About(n.model, n.counter, err))
	}
}

// tellSoon calls the followers in the background, after any transaction under way. If there is too
// much to do, they follow with the next change.
func (n *numbers) tellSoon(ctx context.Context, all []Told) {
	if len(n.following()) == 0 || len(all) == 0 {
		return
	}
	tell := func(ctx context.Context) error {
		ctx, end := n.base.Begin(ctx, n.model, n.counter)
		defer end()
		if n.base.Atomic != nil {
			// Transactions run one after another.
			if err := n.base.Atomic(ctx, func(kv.Store) error { return nil }); err != nil {
				return err
			}
		}
		for _, t := range all {
			n.tell(ctx, t.ID, t.Delta, t.Sum)
		}
		return nil
	}
	if n.base.Atomic == nil {
		n.base.Work.Later(ctx, tell)
		return
	}
	// Later might run it immediately, inside the transaction that it has to wait for.
	n.base.Work.Soon(func(ctx context.Context) error {
		if err := tell(ctx); err != nil {
			return n.base.Work.Surely(ctx, tell)
		}
		return nil
	})
}
