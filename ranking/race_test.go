package ranking_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// The first try of one process loses to another, without any fault, and its second try decides
// something else.
func TestBoard_ALostRaceLeavesNothingThatCounts(t *testing.T) {
	for name, second := range map[string]func(*article) error{
		"the second try changes nothing":       func(*article) error { return nil },
		"the second try changes another field": func(a *article) error { a.Category = "late"; return nil },
		"the second try wants another score":   func(a *article) error { a.Stock = 30; return nil },
		"the caller gives up":                  func(*article) error { return fmt.Errorf("enough: %w", kvmodel.ErrInvalid) },
	} {
		for other, score := range map[string]int64{"to another score": 20, "to the same score": 100, "and keeps its score": 10} {
			t.Run(name+"/the other one moves it "+other, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem := memkv.New(memkv.Options{})
					p, q := openArticles(still{mem}, ranking.Windowed), openArticles(still{mem}, ranking.Windowed)
					for id, stock := range map[string]int64{"a": 10, "b": 50, "c": 90} {
						must(t, p.Create(ctx, &article{ID: id, Stock: stock}))
					}
					race(t, p, q, func(a *article) { a.Stock = 100 }, func(a *article) { a.Stock, a.Price = score, 1 }, second)
					flush(t, p)
					flush(t, q)
					checkNumbers(t, p, records(t, p))
					checkTidy(t, p)
					for _, a := range []*articles{p, q} {
						if err := a.db.Close(ctx); err != nil {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}

// race updates the record a in p by first. Before that commits, q updates it by other, so p tries
// again, by second.
func race(t *testing.T, p, q *articles, first, other func(*article), second func(*article) error) {
	t.Helper()
	tries := 0
	_, _ = p.Update(ctx, "a", func(a *article) error {
		if tries++; tries > 1 {
			return second(a)
		}
		first(a)
		_, err := q.Update(ctx, "a", func(a *article) error { other(a); return nil })
		return err
	})
	if tries != 2 {
		t.Fatalf("%d tries: there was no race", tries)
	}
}

// checkNumbers asserts that ranks, lengths and At are a function of the records all.
func checkNumbers(t *testing.T, a *articles, all map[string]*article) {
	t.Helper()
	length := func(name string, n int, err error, in func(*article) bool) {
		t.Helper()
		want := 0
		for _, v := range all {
			if in(v) {
				want++
			}
		}
		if err != nil || n != want {
			t.Errorf("%s: the length is %d, %v; want %d", name, n, err, want)
		}
	}
	n, err := a.TopStock.Len(ctx)
	length("TopStock", n, err, func(*article) bool { return true })
	n, err = a.Cheapest.Len(ctx)
	length("Cheapest", n, err, func(v *article) bool { return !v.Draft })
	for _, category := range []string{"tea", "coffee"} {
		n, err = a.StockBy.Of(category).Len(ctx)
		length("StockBy "+category, n, err, func(v *article) bool { return v.Category == category })
	}
	stocks := make([]int64, 0, len(all))
	for _, v := range all {
		stocks = append(stocks, v.Stock)
	}
	slices.SortFunc(stocks, func(x, y int64) int { return cmp.Compare(y, x) })
	for id, v := range all {
		want, last := rankAmong(v, all, a.stock)
		if rank, err := a.TopStock.Rank(ctx, id); err != nil || rank < want || rank > last {
			t.Errorf("%s has rank %d, %v; want %d", id, rank, err, want)
		}
	}
	seen := map[string]bool{}
	for i, stock := range stocks {
		at, err := a.TopStock.At(ctx, i+1, 1)
		if err != nil || len(at) != 1 || at[0].Score != stock || seen[at[0].Item.ID] {
			t.Errorf("at %d: %v, %v; want another one with %d", i+1, at, err, stock)
			continue
		}
		seen[at[0].Item.ID] = true
	}
}

func checkTidy(t *testing.T, a *articles) {
	t.Helper()
	report, err := a.TopStock.Verify(ctx)
	if err != nil || report.Stale+report.Pending+report.Drift+len(report.Wrong) > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

func records(t *testing.T, a *articles) map[string]*article {
	t.Helper()
	all := map[string]*article{}
	for v, err := range a.All(ctx) {
		must(t, err)
		all[v.ID] = v
	}
	return all
}
