package ranking_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

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
