package ranking_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// unreported is a store in which no router is written while it is on. Of those that should be, some
// are written all the same, and nobody is told so.
type unreported struct {
	kv.Store
	on    atomic.Bool
	write func() bool
}

func (u *unreported) Powers() kv.Powers { return kv.Powers{} }
func (u *unreported) Close() error      { return nil }

func (u *unreported) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		router := u.on.Load() && ops[i].Kind == kv.CompareAndSwap && isRouter(ops[i].Value)
		if !router || u.write() {
			_ = u.Store.Do(ctx, ops[i:i+1])
		}
		if router {
			ops[i].Result = kv.Result{Err: kv.ErrUnclear}
		}
	}
	return kv.Unanswered(ops)
}

func TestBoard_FlushMakesUpForReportsThatFailed(t *testing.T) {
	for name, odds := range map[string]int{"none is written": 0, "some are written": 3} {
		t.Run(name, func(t *testing.T) { failReports(t, odds) })
	}
}

func failReports(t *testing.T, odds int) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(1, 2))
		u := &unreported{Store: memkv.New(memkv.Options{}), write: func() bool {
			mu.Lock()
			defer mu.Unlock()
			return odds > 0 && rng.IntN(odds) == 0
		}}
		a := openArticles(u, ranking.Windowed)
		for i := range 40 {
			must(t, a.Create(ctx, &article{ID: fmt.Sprint(i), Stock: int64(i * 7 % 40)}))
		}
		flush(t, a)
		u.on.Store(true)
		for i := range 10 {
			must(t, a.Delete(ctx, fmt.Sprint(i)))
		}
		if err := a.db.Flush(ctx); err == nil && odds == 0 {
			t.Error("flush says nothing of the reports that failed")
		}
		u.on.Store(false)
		flush(t, a)
		checkNumbers(t, a, records(t, a))
		checkTidy(t, a)
		must(t, a.db.Close(ctx))
	})
}
