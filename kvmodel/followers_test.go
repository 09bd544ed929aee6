package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type refusing struct {
	*memkv.Store
	left atomic.Int64
}

func (r *refusing) Powers() kv.Powers {
	p := r.Store.Powers()
	whole := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		if r.left.Add(-1) >= 0 {
			return fmt.Errorf("%w: refused", kv.ErrUnavailable)
		}
		return whole(ctx, f)
	}
	return p
}

type follower struct {
	mu     sync.Mutex
	counts []int64
}

func (f *follower) Counting(context.Context, kv.Store, string, int64) error { return nil }

func (f *follower) Counted(_ context.Context, _ string, _, count int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts = append(f.counts, count)
	return nil
}

func TestDerived_FollowersLearnOfAChangeOnceTheStoreAnswers(t *testing.T) {
	for refused := range int64(4) {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			s := &refusing{Store: memkv.New(memkv.Options{})}
			db := open(t, s)
			d, f := db.Derived("Story", "Likes"), &follower{}
			d.Follow(f)
			s.left.Store(refused)
			d.Tell(ctx, db.Store(), "a", 1, 7)
			for range refused + 1 {
				_ = db.Flush(ctx) // It says what is not done yet.
			}
			if !slices.Equal(f.counts, []int64{7}) {
				t.Errorf("after %d transactions were refused, the follower knows of %v, want 7 once", refused, f.counts)
			}
			proof.Is(t, db.Close(ctx), nil)
		})
	}
}

type changing struct{ looks uint64 }

func (c *changing) Members(context.Context, kv.Store, string) (tally.Members, error) {
	c.looks++
	return tally.Members{N: 1, Sum: min(c.looks, 2)}, nil
}

func (*changing) Mend(context.Context, kv.Store, string) (bool, error) { return false, nil }

func TestDerived_ARecountBeginsAgainIfAMemberHasTakenThePlaceOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, list := open(t, plain(memkv.New(memkv.Options{}))), &changing{}
		d := db.Derived("Story", "Likes")
		d.Over(list)
		proof.Done(t)(d.Recount(t.Context(), db.Store(), []string{"a"}, 5, func(string) error { return nil }))
		proof.Equal(t, list.looks, 4, "it looked")
		must(t, db.Close(t.Context()))
	})
}
