package keytree

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func fill(t testing.TB, r *ranking, n int) (ids []string) {
	for i := range n {
		ids = append(ids, idOf(i))
		r.set(t, ids[i], int64(i%30))
	}
	return ids
}

func nodesOf(mem *memkv.Store) (keys []string) {
	for _, key := range slices.Sorted(slices.Values(mem.Keys())) {
		if strings.Contains(key, ":key0") {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestTree_Rebuild_LeavesNoNodeThatIsEmptyOrOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		r := open(plain{mem})
		ids := fill(t, r, 100)
		for i, id := range ids {
			r.set(t, id, int64(1000+i%30))
		}
		drop(t, mem, nodesOf(mem)[7])
		before := len(nodesOf(mem))
		must(t, r.rebuild(ids...))
		report := r.checkInvariants(t, ids...)
		if report.Members != len(ids) || report.Stale+report.Pending+report.Lost > 0 {
			t.Errorf("after a rebuild: %+v", report)
		}
		if after := len(nodesOf(mem)); after != report.Leaves+report.Routers || after >= before {
			t.Errorf("%d nodes are stored, %d before; the tree has %d", after, before, report.Leaves+report.Routers)
		}
		for _, key := range mem.Keys() {
			if strings.HasSuffix(key, ":lease") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

func TestTree_Rebuild_KeepsTiesAndCountsScores(t *testing.T) {
	for name, config := range map[string]func(*Config){"with ties": withTies, "dense": dense} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := open(newMem(), config)
				m := &model{scores: map[string]Score{}}
				for i := range 60 {
					s := FromInt(int64(i % 9))
					if r.Code != Signed {
						s = s.WithTie(TieAt(time.Now().AddDate(0, 0, i/20)))
					}
					m.scores[idOf(i)] = s
					r.setTo(t, idOf(i), s)
				}
				must(t, r.Rebuild(ctx, r.s, nil, 0))
				m.order = r.orderOf(t)
				if report := r.checkInvariants(t, slices.Sorted(maps.Keys(m.scores))...); report.Drift > 0 {
					t.Errorf("after a rebuild: %+v", report)
				}
				checkPages(t, r, m.members(), true, 7)
				checkRanks(t, r, m)
			})
		})
	}
}

func TestTree_Rebuild_LetsOthersReadAndWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMem()
		r := open(s)
		ids := fill(t, r, 60)
		done := make(chan error, 1)
		go func() { done <- open(s).Rebuild(ctx, s, nil, 0) }()
		var workers sync.WaitGroup
		for w := range 3 {
			workers.Go(func() {
				mine, rng := open(s), rand.New(rand.NewPCG(1, uint64(w)))
				for range proof.Size(100, 300) {
					time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
					mine.set(t, ids[10+rng.IntN(50)], rng.Int64N(100))
					if seen, err := pageThrough(mine, rng.IntN(2) == 0); err != nil || len(seen) < 10 {
						t.Errorf("a page in between: %d, %v", len(seen), err)
					} else if !slices.Contains(seen, ids[0]) || !slices.Contains(seen, ids[9]) {
						t.Error("a member that did not move was missed")
					}
				}
			})
		}
		if err := <-done; err != nil {
			t.Error("rebuild:", err)
		}
		workers.Wait()
		r.checkInvariants(t, ids...)
		r.checkCounts(t)
	})
}

func TestTree_Rebuild_RefusesASecondAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMem()
		r := open(s)
		ids := fill(t, r, 60)
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- open(s).Rebuild(ctx, s, ids, 0) }()
		}
		refused := 0
		for range 2 {
			switch err := <-errs; {
			case errors.Is(err, kv.ErrConflict):
				refused++
			case err != nil:
				t.Error(err)
			}
		}
		proof.Equal(t, refused, 1, "of two rebuilds were refused")
		if report := r.checkInvariants(t, ids...); report.Members != len(ids) {
			t.Errorf("%d members, want %d", report.Members, len(ids))
		}
	})
}

func TestTree_Rebuild_KeepsTheMemberOfAProcessThatStalledAcrossIt(t *testing.T) {
	for at := 1; ; at++ {
		var trips int
		for _, stall := range []time.Duration{4 * time.Second, 10 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				s := newMem()
				ids := fill(t, open(s), 40)
				slow := &disturbed{Store: s, at: map[int]func(){at: func() { time.Sleep(stall) }}}
				var moved sync.WaitGroup
				moved.Go(func() { open(slow).set(t, ids[0], 500) })
				if err := open(s).Rebuild(ctx, s, nil, 0); err != nil {
					t.Error("rebuild:", err)
				}
				moved.Wait()
				trips = slow.trips
				r := open(s)
				r.checkInvariants(t, ids...)
				if st, err := r.Standing(ctx, s, ids[0], true, Single); err != nil || st.Before != 0 || st.Score.Int() != 500 {
					t.Errorf("stalled for %v at trip %d: it stands behind %d at %d, %v", stall, at, st.Before, st.Score.Int(), err)
				}
			})
		}
		if at > trips {
			return
		}
	}
}

func TestSweep_AfterARebuildDiesTheNextOneEndsIt(t *testing.T) {
	proof.Sweep(t, 40, kvtest.World{Powers: kvtest.NoPowers}, func(sim *kvtest.Sim) {
		base := open(keep{sim.Store()})
		ids := fill(sim.T(), base, 20)
		sim.CrashAt("first", 1+sim.Rand().IntN(120))
		sim.Go("first", func(s kv.Store) {
			_ = open(s).Rebuild(ctx, s, ids, 0)
		})
		for p := range 2 {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(p)))
			sim.Go(fmt.Sprint("writer", p), func(s kv.Store) {
				r := open(s)
				for range 15 {
					time.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond)
					_ = r.change(ids[rng.IntN(len(ids))], To(FromInt(rng.Int64N(100))))
				}
			})
		}
		sim.Wait()
		base.checkInvariants(sim.T(), ids...)
		sim.Do("second", func(s kv.Store) {
			time.Sleep(2 * time.Minute)
			if err := open(s).Rebuild(ctx, s, ids, 0); err != nil {
				sim.T().Error("the next rebuild:", err)
			}
		})
		base.checkInvariants(sim.T(), ids...)
		base.checkCounts(sim.T())
	})
}
