package ranking_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking"
)

func TestBoards_FollowRecordsThatAreMadeTogetherInFewTrips(t *testing.T) {
	var made atomic.Int64
	a := openArticles(counting(&made), ranking.Windowed)
	defer a.db.Close(ctx)
	articlesOf := func(from, n int) (all []*article) {
		for i := range n {
			all = append(all, &article{ID: fmt.Sprint(from + i), Category: "tea", Price: float64(i%100) + 1, Stock: int64(i)})
		}
		return all
	}
	create := func(from, n int) (trips int64) {
		before := made.Load()
		must(t, a.CreateMulti(ctx, articlesOf(from, n)))
		flush(t, a)
		return made.Load() - before
	}
	create(0, 500)
	if trips := create(500, 500); trips > 60 {
		t.Errorf("500 records took %d trips, want at most 60", trips)
	}
	if n, err := a.Cheapest.Len(ctx); n != 1000 || err != nil {
		t.Errorf("%d are on the board, %v; want 1000", n, err)
	}
	if n, err := a.StockBy.Of("tea").Len(ctx); n != 1000 || err != nil {
		t.Errorf("%d are on the board of tea, %v; want 1000", n, err)
	}
	if err := a.CreateMulti(ctx, articlesOf(999, 2)); !errors.Is(err, kv.ErrExists) {
		t.Errorf("a record that is there was made again: %v", err)
	}
	flush(t, a)
	if n, err := a.Cheapest.Len(ctx); n != 1001 || err != nil {
		t.Errorf("%d are on the board, %v; want 1001", n, err)
	}
}
