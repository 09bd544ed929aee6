package ranking_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

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

// A process is killed after each of the writes by which it moves a record over the seam of two
// pages, up or down.
func TestBoard_At_PagesAreNeighborsAfterAProcessWasKilled(t *testing.T) {
	full := memkv.New(memkv.Options{})
	first := openArticles(still{full}, ranking.Windowed)
	for i := range 201 {
		must(t, first.Create(ctx, &article{ID: fmt.Sprint(i), Stock: int64(10 * i)}))
	}
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
					_, _ = p.Update(ctx, "101", func(a *article) error { a.Stock = to; return nil })
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
	if len(seen) != 201 {
		t.Errorf("the pages show %d of 201 records", len(seen))
	}
}
