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

// fill leaves no room in the queue of db until free is closed.
func fill(db *kvmodel.DB, free <-chan struct{}) {
	for db.Soon(func(context.Context) error { <-free; return nil }) {
	}
}

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

func isRouter(value []byte) bool { return len(value) > 3 && string(value[:3]) == "K1R" }

func TestBoard_ReportsAreMadeAfterAnOutageOfMuchElse(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool // for routers: no reports of nodes are taken
		a := openArticles(filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool {
			return away.Load() && op.Kind == kv.CompareAndSwap && isRouter(op.Value)
		}}, ranking.Windowed)
		for i := range 40 {
			must(t, a.Create(ctx, &article{ID: memberID(i), Stock: int64(i)}))
		}
		flush(t, a)
		away.Store(true)
		for a.db.Surely(ctx, func(context.Context) error {
			if away.Load() {
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
		away.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		checkNumbers(t, a, records(t, a))
		_ = a.db.Close(ctx) // The lines of the deletions may be left to repair.
	})
}

func TestBoard_ByACounter_OfAClosedDBAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trips atomic.Int64
		a := openArticles(counting(&trips), ranking.Windowed)
		must(t, a.views.Hit(ctx, "a"))
		must(t, a.db.Close(ctx))
		before := trips.Load()
		must(t, a.views.followers[0].Counted(ctx, "a", 1, 2))
		time.Sleep(time.Minute)
		synctest.Wait()
		if late := trips.Load() - before; late > 0 {
			t.Errorf("%d trips after Close", late)
		}
	})
}
