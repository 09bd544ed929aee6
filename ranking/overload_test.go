package ranking_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// fill gives db so much to do that there is no room in its queue until free is closed.
func fill(db *kvmodel.DB, free <-chan struct{}) {
	for db.Soon(func(context.Context) error { <-free; return nil }) {
	}
}

// What comes while there is too much to do is written when that is over.
func TestBoard_ByACounter_GoesOnFollowingAfterAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, free := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed), make(chan struct{})
		must(t, a.Create(ctx, &article{ID: "a"}))
		fill(a.db, free)
		must(t, a.views.Hit(ctx, "a"))
		time.Sleep(5 * time.Second) // The window has been due for long.
		close(free)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkCounted(t, a, map[string]int64{"a": 1})
		must(t, a.views.Hit(ctx, "a"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkCounted(t, a, map[string]int64{"a": 2})
		must(t, a.db.Close(ctx))
	})
}

// routersAway is a store that takes no routers while it is on: no reports of nodes.
type routersAway struct {
	kv.Store
	on     atomic.Bool
	closed atomic.Bool
	late   atomic.Int64 // trips after Close
}

func (r *routersAway) Powers() kv.Powers { return kv.Powers{} }
func (r *routersAway) Close() error      { r.closed.Store(true); return nil }

func (r *routersAway) Do(ctx context.Context, ops []kv.Op) error {
	if r.closed.Load() {
		r.late.Add(1)
	}
	for i := range ops {
		if r.on.Load() && ops[i].Kind == kv.CompareAndSwap && isRouter(ops[i].Value) {
			ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
			continue
		}
		_ = r.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func isRouter(value []byte) bool { return len(value) > 3 && string(value[:3]) == "K1R" }

// Reports that fail beside many other works that fail are made when the outage is over.
func TestBoard_ReportsAreMadeAfterAnOutageOfMuchElse(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		away := &routersAway{Store: memkv.New(memkv.Options{})}
		a := openArticles(away, ranking.Windowed)
		for i := range 40 {
			must(t, a.Create(ctx, &article{ID: memberID(i), Stock: int64(i)}))
		}
		flush(t, a)
		away.on.Store(true)
		for a.db.Surely(ctx, func(context.Context) error {
			if away.on.Load() {
				return errors.New("away, too")
			}
			return nil
		}) == nil {
		}
		for i := range 20 {
			must(t, a.Delete(ctx, memberID(i)))
		}
		if err := a.db.Flush(ctx); err == nil {
			t.Error("Flush says nothing of the reports that failed")
		}
		away.on.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		checkNumbers(t, a, records(t, a))
		_ = a.db.Close(ctx) // The lines of the deletions may be left to repair.
	})
}

// A window that was left open by a hit on a closed DB does not go on asking its store.
func TestBoard_ByACounter_OfAClosedDBAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &routersAway{Store: memkv.New(memkv.Options{})}
		a := openArticles(s, ranking.Windowed)
		must(t, a.views.Hit(ctx, "a"))
		must(t, a.db.Close(ctx))
		must(t, a.views.followers[0].Counted(ctx, "a", 1, 2))
		time.Sleep(time.Minute)
		synctest.Wait()
		if late := s.late.Load(); late > 0 {
			t.Errorf("%d trips after Close", late)
		}
	})
}
