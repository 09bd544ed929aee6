package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// row is what a page shows of a record.
type row struct {
	Rank  int
	ID    string
	Score int64
}

func rows(places []ranking.Place[article, int64]) []row {
	var rows []row
	for _, p := range places {
		rows = append(rows, row{p.Rank, p.Item.ID, p.Score})
	}
	return rows
}

func TestBoard_Table_ShowsTheRanksOfEveryPageBothWays(t *testing.T) {
	ranking.SmallLeaves(t)
	eachStore(t, func(t *testing.T, a *articles) {
		const n = 100
		for i := range n {
			// Three of each score, except the last, share a rank.
			must(t, a.Create(ctx, &article{ID: fmt.Sprintf("a%03d", i), Stock: int64(i / 3)}))
		}
		flush(t, a)
		var forth, back [][]row
		cursor, last := "", ""
		for first := true; first || cursor != ""; first = false {
			table, err := a.TopStock.Table(ctx, cursor, 7)
			if err != nil || table.Len != n {
				t.Fatalf("table: %d in all, %v; want %d", table.Len, err, n)
			}
			forth = append(forth, rows(table.Places))
			cursor, last = table.Next, table.Prev
		}
		for cursor = last; cursor != ""; {
			table, err := a.TopStock.Table(ctx, cursor, 7)
			must(t, err)
			if len(table.Places) > 0 {
				back = append([][]row{rows(table.Places)}, back...)
			}
			cursor = table.Prev
		}
		if diff := cmp.Diff(forth[:len(forth)-1], back); diff != "" {
			t.Errorf("pages back: mismatch (-want +got):\n%s", diff)
		}
		place := 0
		for _, page := range forth {
			for _, r := range page {
				place++
				st, err := a.TopStock.Standing(ctx, r.ID)
				if err != nil || st.Rank != r.Rank || st.Len != n || st.Score != r.Score {
					t.Errorf("%s stands at %+v, %v; the table says %+v", r.ID, st, err, r)
				}
				if first := 1 + (place-2)/3*3 + 1; place > 1 && r.Rank != first || place == 1 && r.Rank != 1 {
					t.Errorf("%s stands at %d of its page's, place %d", r.ID, r.Rank, place)
				}
			}
		}
		if place != n {
			t.Errorf("%d rows, want %d", place, n)
		}
	})
}

// What is on a page is looked up each time; only its records are asked for beforehand.
func TestBoard_APageByItsNumberTakesOneTripWhereNothingIsNew(t *testing.T) {
	a := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed)
	defer a.db.Close(ctx)
	for i := range 60 {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("a", 100+i), Price: float64(i)}))
	}
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

// The first of a board are often in a leaf that has few, as the newest are.
func TestBoard_TheFirstPageByItsNumberReadsItsLeavesInOneTrip(t *testing.T) {
	a := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed)
	defer a.db.Close(ctx)
	for i := range 200 {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("a", i), Price: float64(1000 + i)}))
	}
	for i := range 3 {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("b", i), Price: float64(i)}))
	}
	flush(t, a)
	for range 2 {
		metered, meter := kv.Metered(ctx)
		page, err := a.Cheapest.Numbered(metered, 1, 20)
		if err != nil || len(page.Items) != 20 || page.Items[3].Price != 1000 {
			t.Fatalf("%+v, %v", page, err)
		}
		if got := meter.Cost().Trips; got > 2 {
			t.Errorf("%d trips, want 2", got)
		}
	}
}

func TestBoard_Last_AddsPeriodsUp(t *testing.T) {
	c := proof.NewClock(time.Date(2025, 3, 30, 12, 0, 0, 0, time.UTC))
	a := openArticles(memkv.New(memkv.Options{Now: c.Now}), ranking.Windowed, kvmodel.Clock(c.Now))
	defer a.db.Close(ctx)
	for _, day := range []map[string]int{{"a": 9, "b": 2}, {"a": 1, "b": 3, "c": 4}, {"b": 2, "c": 1, "d": 1}} {
		hits(t, a, "tea", day)
		flush(t, a)
		c.Advance(24 * time.Hour)
	}
	c.Advance(-24 * time.Hour)
	for periods, want := range map[int][]row{
		1: {{1, "b", 2}, {2, "c", 1}, {3, "d", 1}},
		2: {{1, "b", 5}, {2, "c", 5}, {3, "a", 1}},
		3: {{1, "a", 10}, {2, "b", 7}, {3, "c", 5}},
		9: {{1, "a", 10}, {2, "b", 7}, {3, "c", 5}},
	} {
		places, off, err := a.ViewsADay.Of("tea").Last(ctx, periods, 3)
		got := rows(places)
		for i := range got {
			// The order of equal scores is unspecified.
			if i < len(want) && got[i].Score == want[i].Score {
				got[i].ID = want[i].ID
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || off != 0 || err != nil {
			t.Errorf("the last %d days: off by %d, %v, mismatch (-want +got):\n%s", periods, off, err, diff)
		}
	}
	yesterday, err := a.ViewsADay.On(c.Now().AddDate(0, 0, -1)).Of("tea").At(ctx, 1, 9)
	if diff := cmp.Diff([]row{{1, "c", 4}, {2, "b", 3}, {3, "a", 1}}, rows(yesterday)); diff != "" || err != nil {
		t.Errorf("yesterday: %v, mismatch (-want +got):\n%s", err, diff)
	}
	if _, _, err := a.TopViews.Last(ctx, 2, 3); !errors.Is(err, kvmodel.ErrInvalid) {
		t.Error("of a board without periods:", err)
	}
	metered, meter := kv.Metered(ctx)
	if _, _, err := a.ViewsADay.Of("tea").Last(metered, 3, 3); err != nil || meter.Cost().Trips != 2 {
		t.Errorf("%d trips, %v; want 2", meter.Cost().Trips, err)
	}
}
