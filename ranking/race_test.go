package ranking_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

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
					must(t, errors.Join(p.db.Close(ctx), q.db.Close(ctx)))
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

// slowOnce delays for a second the first trip since it was armed that writes a member's own record.
type slowOnce struct {
	kv.Store
	board string
	armed atomic.Bool
}

func (*slowOnce) Powers() kv.Powers { return kv.Powers{} }
func (*slowOnce) Close() error      { return nil }

func (s *slowOnce) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		own := strings.HasPrefix(op.Key, "rank:Talk:"+s.board+":i:")
		if own && op.Kind != kv.Get && s.armed.CompareAndSwap(true, false) {
			time.Sleep(time.Second)
			break
		}
	}
	return s.Store.Do(ctx, ops)
}

// lookedBefore has p see the counts of before and write them slowly. Meanwhile another process makes
// the changes of during.
func lookedBefore(t *testing.T, board string, before, during func(m *talks) error, check func(m *talks)) {
	synctest.Test(t, func(t *testing.T) {
		store := plain{memkv.New(memkv.Options{})}
		slow := &slowOnce{Store: store, board: board}
		p, q := openTalks(t, slow, ranking.Windowed), openTalks(t, &slowOnce{Store: store}, ranking.Windowed)
		must(t, errors.Join(p.Create(ctx, &talk{ID: "a", Born: 1}), p.Create(ctx, &talk{ID: "b"}), p.db.Flush(ctx), before(p)))
		slow.armed.Store(true)
		slowly := make(chan error)
		go func() { slowly <- p.db.Flush(ctx) }()
		time.Sleep(100 * time.Millisecond)
		must(t, errors.Join(during(q), q.db.Flush(ctx)))
		if err := <-slowly; err != nil {
			t.Error(err)
		}
		check(q)
	})
}

func TestBoard_WhoLooksBeforeARecordIsDeletedDoesNotBringItBack(t *testing.T) {
	for name, during := range map[string]func(m *talks) error{
		"deleted": func(m *talks) error { return m.Delete(ctx, "a") },
		"made again": func(m *talks) error {
			return errors.Join(m.Delete(ctx, "a"), m.Create(ctx, &talk{ID: "a"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := func(m *talks) error { _, err := m.votes.Add(ctx, "a", 5); return err }
			lookedBefore(t, "TopVotes", before, during, func(m *talks) {
				m.shows(t, m.Top)
				if n, err := m.Top.Len(ctx); n != 0 || err != nil {
					t.Errorf("it has %d members, %v; want none", n, err)
				}
			})
		})
	}
}

func TestBoard_WhoLooksBeforeACounterGoesBackDoesNotBringItsScoreBack(t *testing.T) {
	count := func(delta int64) func(m *talks) error {
		return func(m *talks) error { _, err := m.views.Add(ctx, "b", delta); return err }
	}
	lookedBefore(t, "Front", count(900), count(-900), func(m *talks) { m.shows(t, m.Front, "a", "b") })
}

func TestBoard_AnEntryWithoutALineIsFoundOnceItsProcessHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := plain{memkv.New(memkv.Options{})}
		// One journal line is refused, and no read of a record after it is answered.
		var armed, away atomic.Bool
		s := filtered{store, func(op *kv.Op) bool {
			if strings.HasPrefix(op.Key, "line:") && op.Kind == kv.Append && armed.CompareAndSwap(true, false) {
				away.Store(true)
				return true
			}
			return away.Load() && strings.HasPrefix(op.Key, "r:")
		}}
		p, q := openOne(s, ranking.NoTies), openOne(store, ranking.NoTies)
		must(t, p.Create(ctx, &article{ID: "a", Stock: 3}))
		armed.Store(true)
		if _, err := p.Update(ctx, "a", func(v *article) error { v.Stock = 5; return nil }); !errors.Is(err, kv.ErrUnavailable) {
			t.Fatal(err)
		}
		closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		if p.db.Close(closing) == nil {
			t.Error("all is cleaned up")
		}
		for range 4 {
			time.Sleep(time.Minute)
			_ = q.db.Repair(ctx)
		}
		if report, err := q.TopStock.Verify(ctx); report.Pending > 0 || err != nil {
			t.Errorf("%+v, %v", report, err)
		}
		must(t, q.db.Close(ctx))
	})
}

func copyOf(t *testing.T, mem *memkv.Store) *memkv.Store {
	t.Helper()
	to := memkv.New(memkv.Options{})
	for _, key := range mem.Keys() {
		r, err := kv.One(ctx, mem, kv.OpGet(key))
		if err == nil {
			_, err = kv.One(ctx, to, kv.OpSet(key, r.Value))
		}
		must(t, err)
	}
	return to
}

// The process is killed after each write by which it moves a record over the seam of two pages.
func TestBoard_At_PagesAreNeighborsAfterAProcessWasKilled(t *testing.T) {
	full := memkv.New(memkv.Options{})
	first := openArticles(still{full}, ranking.Windowed)
	must(t, first.CreateMulti(ctx, manyArticles(201, func(i int, v *article) { v.Stock = int64(10 * i) })))
	must(t, first.db.Close(ctx))
	for _, to := range []int64{1505, 505} {
		t.Run(fmt.Sprint("to ", to), func(t *testing.T) {
			for writes, ended := 0, false; !ended; writes += proof.Size(4, 1) {
				synctest.Test(t, func(t *testing.T) {
					mem := copyOf(t, full)
					left := writes
					p := openArticles(filtered{mem, func(op *kv.Op) bool {
						if op.Kind.Writes() {
							left--
						}
						return left < 0
					}}, ranking.Windowed)
					_, _ = p.Update(ctx, memberID(101), func(a *article) error { a.Stock = to; return nil })
					_ = p.db.Flush(ctx)
					ended = left > 0
					_ = p.db.Close(ctx)

					// A reader that meets what is left has it repaired, which is a write.
					reader := openArticles(filtered{mem, func(op *kv.Op) bool { return op.Kind.Writes() }}, ranking.Windowed)
					checkSeam(t, reader)
					_ = reader.db.Close(ctx)

					q := openArticles(still{mem}, ranking.Windowed)
					for range 3 {
						must(t, q.db.Repair(ctx))
						time.Sleep(time.Minute)
					}
					flush(t, q)
					checkSeam(t, q)
					checkNumbers(t, q, records(t, q))
					checkTidy(t, q)
					must(t, q.db.Close(ctx))
				})
			}
		})
	}
}

func checkSeam(t *testing.T, a *articles) {
	t.Helper()
	seen, last := map[string]bool{}, int64(1<<62)
	for rank := 1; rank <= 301; rank += 100 {
		places, err := a.TopStock.At(ctx, rank, 100)
		must(t, err)
		for _, p := range places {
			if seen[p.Item.ID] || p.Score > last {
				t.Errorf("from rank %d: %s with %d, after %d, shown before: %v", rank, p.Item.ID, p.Score, last, seen[p.Item.ID])
			}
			seen[p.Item.ID], last = true, p.Score
		}
	}
	proof.Equal(t, len(seen), 201, "the pages show")
}
