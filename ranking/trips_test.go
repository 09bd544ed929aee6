package ranking_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
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
			must(t, a.CreateMulti(ctx, manyArticles(members)))
			for i := range members {
				must(t, a.views.Add(ctx, memberID(i), 100_000/int64(i+1)+100))
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

func TestBoard_AHitAllocatesNoMoreThanItsIncrement(t *testing.T) {
	m := openTalks(t, memkv.New(memkv.Options{}), ranking.Windowed)
	must(t, m.Create(ctx, &talk{ID: "a"}))
	m.count(t, m.votes, "a", 1)
	must(t, m.db.Flush(ctx))
	got := proof.Allocs(200, func() {
		proof.Ends(t, nil)(m.votes.Add(ctx, "a", 1))
	})
	if got > 4 { // the key, the op and the number in the store
		t.Errorf("%.0f allocations, want at most 4", got)
	}
}

func TestBoards_FollowRecordsThatAreMadeTogetherInFewTrips(t *testing.T) {
	var made atomic.Int64
	a := openArticles(counting(&made), ranking.Windowed)
	defer a.db.Close(ctx)
	all := manyArticles(1001, func(i int, v *article) { v.Category, v.Price, v.Stock = "tea", float64(i%100)+1, int64(i) })
	create := func(some []*article) (trips int64, err error) {
		before := made.Load()
		err = a.CreateMulti(ctx, some)
		flush(t, a)
		return made.Load() - before, err
	}
	proof.Done(t)(create(all[:500]))
	if trips, err := create(all[500:1000]); trips > 60 || err != nil {
		t.Errorf("500 records took %d trips, want at most 60: %v", trips, err)
	}
	for name, len := range map[string]func(context.Context) (int, error){"all": a.Cheapest.Len, "tea": a.StockBy.Of("tea").Len} {
		if n, err := len(ctx); n != 1000 || err != nil {
			t.Errorf("%d are on the board of %s, %v; want 1000", n, name, err)
		}
	}
	proof.Ends(t, kv.ErrExists)(create(all[999:]))
	if n, err := a.Cheapest.Len(ctx); n != 1001 || err != nil {
		t.Errorf("%d are on the board, %v; want 1001", n, err)
	}
}

func counting(trips *atomic.Int64) kv.Store {
	return kv.Trace(still{memkv.New(memkv.Options{})}, func(context.Context, kv.Trip) { trips.Add(1) })
}

func TestBoard_ABurstOfCreatesTakesFewTripsEach(t *testing.T) {
	const n, clients = 800, 32
	var trips atomic.Int64
	a := openArticles(counting(&trips), ranking.Windowed)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < n; i += clients {
				proof.Is(t, a.Create(ctx, &article{ID: memberID(i), Stock: 1}), nil)
			}
		})
	}
	all.Wait()
	flush(t, a)
	if got := trips.Load(); got > 12*n {
		t.Errorf("%d trips for %d creates", got, n)
	}
	report, err := a.TopStock.Verify(ctx)
	if err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	must(t, a.db.Close(ctx))
}

func TestBoard_ABurstOfFirstCountsTakesFewTrips(t *testing.T) {
	const n = 500
	var trips atomic.Int64
	a := openArticles(counting(&trips), ranking.Windowed)
	must(t, a.CreateMulti(ctx, manyArticles(n, func(_ int, v *article) { v.Category = "tea" })))
	flush(t, a)
	for i := range n {
		must(t, a.views.Hit(ctx, memberID(i)))
	}
	before := trips.Load()
	flush(t, a)
	if got := trips.Load() - before; got > 100 {
		t.Errorf("%d trips for %d counts on two boards", got, n)
	}
	for _, board := range []*ranking.Board[article, string, int64]{a.TopViews, a.ViewsADay.Of("tea")} {
		if got, err := board.Len(ctx); got != n || err != nil {
			t.Errorf("%d members, %v; want %d", got, err, n)
		}
	}
	must(t, a.db.Close(ctx))
}

func TestBoard_APageByItsNumberTakesOneTripWhereNothingIsNew(t *testing.T) {
	a := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed)
	defer a.db.Close(ctx)
	must(t, a.CreateMulti(ctx, manyArticles(60, func(i int, v *article) { v.Price = float64(i) })))
	look := func(what string, trips, first int, page func(context.Context) ([]*article, error)) {
		t.Helper()
		flush(t, a)
		metered, meter := kv.Metered(ctx)
		items, err := page(metered)
		if got := meter.Cost().Trips; err != nil || len(items) != 20 || items[0].Price != float64(first) || got != trips {
			t.Errorf("%s: %d trips, want %d; %d records, %v", what, got, trips, len(items), err)
		}
	}
	numbered := func(page int) func(context.Context) ([]*article, error) {
		return func(ctx context.Context) ([]*article, error) {
			p, err := a.Cheapest.Numbered(ctx, page, 20)
			return p.Items, err
		}
	}
	at := func(ctx context.Context) (items []*article, err error) {
		places, err := a.Cheapest.At(ctx, 21, 20)
		for _, p := range places {
			items = append(items, p.Item)
		}
		return items, err
	}
	look("page 2", 2, 20, numbered(2))
	look("page 2 again", 1, 20, numbered(2))
	look("the same by rank", 1, 20, at)
	look("page 1", 2, 0, numbered(1))
	look("page 1 again", 1, 0, numbered(1))
	look("page 1 by cursor", 1, 0, func(ctx context.Context) ([]*article, error) {
		l, err := a.Cheapest.Page(ctx, "", 20)
		return l.Items, err
	})
	must(t, a.Create(ctx, &article{ID: "new", Price: -1}))
	look("page 1 with one that is new", 2, -1, numbered(1))
	look("page 2, to which one has moved", 2, 19, numbered(2))
	look("page 2 then", 1, 19, numbered(2))
}

func TestBoard_TheFirstPageByItsNumberReadsItsLeavesInOneTrip(t *testing.T) {
	a := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed)
	defer a.db.Close(ctx)
	must(t, a.CreateMulti(ctx, manyArticles(203, func(i int, v *article) {
		if v.Price = float64(i); i >= 3 {
			v.Price += 1000
		}
	})))
	flush(t, a)
	for range 2 {
		metered, meter := kv.Metered(ctx)
		page, err := a.Cheapest.Numbered(metered, 1, 20)
		if err != nil || len(page.Items) != 20 || page.Items[3].Price != 1003 {
			t.Fatalf("%+v, %v", page, err)
		}
		if got := meter.Cost().Trips; got > 2 {
			t.Errorf("%d trips, want 2", got)
		}
	}
}
