package ranking_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func TestBoard_ByACounterFollowsItInFewOps(t *testing.T) {
	const members, hits = 500, 6_000
	for _, c := range []struct {
		name  string
		batch ranking.Batch
		most  float64 // ops of the board for each hit
	}{{"window", ranking.Windowed, 1}, {"sampled", ranking.Sampled, 0.7}} {
		t.Run(c.name, func(t *testing.T) {
			var ops atomic.Int64
			s := kv.Trace(still{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if strings.HasPrefix(op.Key, "rank:Article:TopViews:") {
						ops.Add(1)
					}
				}
			})
			a := openArticles(s, c.batch)
			var all []*article
			for i := range members {
				all = append(all, &article{ID: memberID(i)})
			}
			must(t, a.CreateMulti(ctx, all))
			for i, v := range all {
				must(t, a.views.Add(ctx, v.ID, 100_000/int64(i+1)+100))
			}
			flush(t, a)
			ops.Store(0)
			rng := rand.New(rand.NewPCG(1, 2))
			popular := rand.NewZipf(rng, 1.1, 10, members-1)
			for i := range hits {
				must(t, a.views.Hit(ctx, memberID(int(popular.Uint64()))))
				if i%2000 == 1999 {
					flush(t, a) // A window is over.
				}
			}
			got := float64(ops.Load()) / hits
			t.Logf("%.3f ops of the board for each hit", got)
			if got > c.most || got == 0 {
				t.Errorf("%.3f ops of the board for each hit, want at most %v", got, c.most)
			}
			must(t, a.db.Close(ctx))
		})
	}
}
