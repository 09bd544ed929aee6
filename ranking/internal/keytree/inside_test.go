package keytree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestTree_ChangesInTransactionsKeepEntriesAndCounts(t *testing.T) {
	undone := errors.New("undone")
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		mem := memkv.New(memkv.Options{})
		r := open(mem, func(c *Config) { c.Atomic = true })
		all := map[string]int64{}
		for range 100 {
			next := maps.Clone(all)
			settings := make([]Setting, 1+rng.IntN(6))
			scores := make([]int64, len(settings))
			for i, k := range rng.Perm(40)[:len(settings)] {
				settings[i].ID, scores[i] = fmt.Sprint("id", k), rng.Int64N(30)
				if next[settings[i].ID] = scores[i]; scores[i] < 6 {
					delete(next, settings[i].ID)
				}
			}
			end := error(nil)
			if rng.IntN(4) == 0 {
				end = undone
			}
			err := kv.PowersOf(mem).Atomic(ctx, func(s kv.Store) error {
				due := new(Due)
				errs := r.SetAll(ctx, s, r.own, settings, OneByOne(func(i int) Change {
					if scores[i] < 6 {
						return Out
					}
					return To(FromInt(scores[i]))
				}), due)
				must(t, errors.Join(errs...))
				must(t, due.Report(ctx, s))
				return end
			})
			if err != end {
				t.Fatal(err)
			}
			if err == nil {
				all = next
			}
		}
		ids := slices.Sorted(maps.Keys(all))
		if report := r.checkInvariants(t, ids...); report.Pending+report.Drift != 0 || r.Lost() {
			t.Errorf("seed %d: %d entries are pending, counts are off by %d", seed, report.Pending, report.Drift)
		}
		n, err := r.Count(ctx, mem, Between{})
		if must(t, err); n != len(all) {
			t.Errorf("seed %d: %d members, want %d", seed, n, len(all))
		}
		states, err := r.own.States(ctx, mem, ids)
		must(t, err)
		for i, id := range ids {
			proof.Equal(t, states[i].Score.Int(), all[id], "seed %d: %s is at", seed, id)
		}
		if t.Failed() {
			return
		}
	}
}

func TestTree_AMoveInATransactionWritesEachLeafOnce(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	r := open(mem, func(c *Config) { c.Atomic = true })
	for _, score := range []int64{1, 2} {
		err := kv.PowersOf(mem).Atomic(ctx, func(s kv.Store) error {
			in, w := *r, &writesOf{Store: s, times: map[string]int{}}
			in.s = w
			in.set(t, "a", score)
			for key, n := range w.times {
				if n > 1 {
					t.Errorf("%s is written %d times", key, n)
				}
			}
			return nil
		})
		must(t, err)
	}
}

type writesOf struct {
	kv.Store
	times map[string]int
}

func (w *writesOf) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *writesOf) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind == kv.CompareAndSwap {
			w.times[ops[i].Key]++
		}
	}
	return w.Store.Do(ctx, ops)
}
