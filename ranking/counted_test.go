package ranking_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func hits(t *testing.T, a *articles, category string, counts map[string]int) {
	t.Helper()
	for id, n := range counts {
		if _, err := a.Upsert(ctx, id, func(v *article) error { v.Category = category; return nil }); err != nil {
			t.Fatal(err)
		}
		for range n {
			must(t, a.views.Hit(ctx, id))
		}
	}
}

func TestBoard_ByACounterIsExactAfterFlushAndRefresh(t *testing.T) {
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			s := memkv.New(memkv.Options{})
			rng := seeded(t)
			counts := map[string]int64{}
			var mu sync.Mutex
			var processes []*articles
			for range 3 {
				processes = append(processes, openArticles(plain{s}, batch))
			}
			for i := range 60 {
				must(t, processes[0].Create(ctx, &article{ID: fmt.Sprint("a", i)}))
			}
			var wg sync.WaitGroup
			for _, p := range processes {
				seed := rng.Int64()
				wg.Go(func() {
					for i := range int64(150) {
						id := fmt.Sprint("a", (seed+i*i*7)%60&63)
						if err := p.views.Hit(ctx, id); err != nil {
							t.Error(err)
						}
						mu.Lock()
						counts[id]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			for _, p := range processes {
				must(t, p.db.Flush(ctx))
			}
			checkCounted(t, processes[0], counts)
			for _, p := range processes {
				_ = p.db.Close(ctx)
			}
		})
	}
}

func checkCounted(t *testing.T, a *articles, counts map[string]int64) {
	t.Helper()
	must(t, a.TopViews.Refresh(ctx))
	var want []int64
	for id, n := range counts {
		if _, err := a.Get(ctx, id); err == nil {
			want = append(want, n)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	places, err := a.TopViews.At(ctx, 1, 1000)
	must(t, err)
	var got []int64
	for i, p := range places {
		got = append(got, p.Score)
		if p.Score != counts[p.Item.ID] {
			t.Errorf("%s stands at %d, but was counted %d times", p.Item.ID, p.Score, counts[p.Item.ID])
		}
		if rank, err := a.TopViews.Rank(ctx, p.Item.ID); rank != i+1 || err != nil {
			t.Errorf("%s has rank %d, %v; want %d", p.Item.ID, rank, err, i+1)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores: mismatch (-want +got):\n%s", diff)
	}
}

func TestBoard_ByACounterHoldsWhatTheRecordsSay(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		hits(t, a, "tea", map[string]int{"a": 3, "b": 5, "c": 1})
		flush(t, a)
		want(t, allOf(t, a.TopViews, 2), "b", "a", "c")
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "b", "a", "c")

		update(t, a, "b", func(v *article) { v.Draft = true })
		want(t, allOf(t, a.TopViews, 2), "a", "c")
		update(t, a, "b", func(v *article) { v.Draft = false })
		want(t, allOf(t, a.TopViews, 2), "b", "a", "c")

		update(t, a, "b", func(v *article) { v.Category = "coffee" })
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "a", "c")
		want(t, allOf(t, a.ViewsADay.Of("coffee"), 2), "b")

		must(t, a.Delete(ctx, "a"))
		flush(t, a)
		want(t, allOf(t, a.TopViews, 2), "b", "c")
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "c")
		if _, err := a.TopViews.Rank(ctx, "a"); !errors.Is(err, kv.ErrNotFound) {
			t.Error("rank of a deleted record:", err)
		}
	})
}

func TestBoard_ByACounterIsNotAskedAboutANewID(t *testing.T) {
	eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, mem *memkv.Store) {
		a := openArticles(s, ranking.Windowed)
		defer a.db.Close(ctx)
		asked := func() bool {
			flush(t, a)
			// A board that is asked for a member begins its tree.
			return slices.ContainsFunc(mem.Keys(), func(key string) bool {
				return strings.HasPrefix(key, "rank:Article:TopViews:")
			})
		}
		for range 3 {
			must(t, a.Create(ctx, &article{Category: "tea"}))
		}
		if asked() {
			t.Error("a record with a new id was looked for on the board")
		}
		_, err := kv.Next(ctx, mem, a.views.key("given"), 0, 7)
		must(t, err)
		must(t, a.Create(ctx, &article{ID: "given", Category: "tea"}))
		if !asked() {
			t.Error("a record with an id that was given was not looked for on the board")
		}
		want(t, allOf(t, a.TopViews, 2), "given")
	})
}

func flush(t *testing.T, a *articles) {
	t.Helper()
	if err := a.db.Flush(ctx); err != nil {
		t.Fatal("flush:", err)
	}
}

func update(t *testing.T, a *articles, id string, f func(*article)) {
	t.Helper()
	if _, err := a.Update(ctx, id, func(v *article) error { f(v); return nil }); err != nil {
		t.Fatal(err)
	}
	flush(t, a)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestBoards_ARecordLeavesThoseOfAllPeriods(t *testing.T) {
	c := proof.NewClock(time.Date(2025, 3, 30, 23, 0, 0, 0, time.UTC))
	eachKind(t, memkv.Options{Now: c.Now}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
		a := openArticles(s, ranking.Windowed, kvmodel.Clock(c.Now))
		defer a.db.Close(ctx)
		hits(t, a, "tea", map[string]int{"a": 3, "b": 2, "c": 1})
		first := c.Now()
		c.Advance(2 * time.Hour)
		is := func(category string, want ...string) {
			t.Helper()
			flush(t, a)
			board := a.ViewsADay.On(first).Of(category)
			places, err := board.At(ctx, 1, 9)
			var got []string
			for _, p := range places {
				got = append(got, p.Item.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, mismatch (-want +got):\n%s", category, err, diff)
			}
			if n, err := board.Len(ctx); n != len(want) || err != nil {
				t.Errorf("%s has %d, %v; want %d", category, n, err, len(want))
			}
		}
		is("tea", "a", "b", "c")
		must(t, a.Delete(ctx, "a"))
		is("tea", "b", "c")
		update(t, a, "c", func(v *article) { v.Category = "coffee" })
		is("tea", "b")
		is("coffee", "c")
		must(t, a.Put(ctx, &article{ID: "a", Category: "tea"}))
		is("tea", "a", "b")
		c.Advance(22 * time.Hour) // The next store begins an hour before midnight, too.
	})
}

func TestBoards_OfAPeriodCountOnlyThatPeriod(t *testing.T) {
	c := proof.NewClock(time.Date(2025, 3, 30, 23, 0, 0, 0, time.UTC))
	s := memkv.New(memkv.Options{Now: c.Now})
	a := openArticles(s, ranking.Windowed, kvmodel.Clock(c.Now))
	defer a.db.Close(ctx)
	hits(t, a, "tea", map[string]int{"a": 3, "b": 1})
	first := c.Now()
	c.Advance(2 * time.Hour)
	hits(t, a, "tea", map[string]int{"b": 4, "c": 2})
	flush(t, a)
	want(t, allOf(t, a.ViewsADay.Of("tea"), 10), "b", "c")
	want(t, allOf(t, a.ViewsADay.On(first).Of("tea"), 10), "a", "b")
	want(t, allOf(t, a.TopViews, 10), "b", "a", "c")
	want(t, allOf(t, a.ViewsADay.On(first.AddDate(0, 0, 5)).Of("tea"), 10))

	c.Advance(3*24*time.Hour - 2*time.Hour)
	want(t, allOf(t, a.ViewsADay.On(first).Of("tea"), 10))
	c.Advance(7 * 24 * time.Hour)
	for _, key := range s.Keys() {
		if r, err := kv.One(ctx, s, kv.OpGet(key)); err == nil && isOfPeriod(key) {
			t.Errorf("%s is left of a period: %d bytes", key, len(r.Value))
		}
	}
}

func isOfPeriod(key string) bool {
	return len(key) > 4 && (key[:4] == "per:" || key[:5] == "rank:" && key[5:17] == "Article:TopV" && key[17:19] == "#h")
}
