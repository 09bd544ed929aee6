package index_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// totalIDs are ids in two shards.
var totalIDs = func() (ids []string) {
	shards := map[uint64]bool{}
	for _, id := range leafIDs(someLeaves("", 1000)) {
		shard := memberlog.PositionOf(id).Hash % 64
		if shard < 2 {
			shards[shard] = true
			ids = append(ids, id)
		}
		if len(ids) == 6 && len(shards) == 2 {
			return ids
		}
	}
	panic("no ids in one shard")
}()

func openTotal(s kv.Store) *leaves {
	l := newLeaves(openQuiet(s))
	*l.Total.Limits() = memberlog.Limits{Split: 60, Merge: 30, Slack: 20, Look: 60, Grace: 24 * time.Hour}
	return l
}

// changeLeaves makes six random changes as one process, and stays for a while.
func changeLeaves(s kv.Store, rng *rand.Rand, stays time.Duration) {
	l := openTotal(s)
	for range 6 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		id, other := totalIDs[rng.IntN(len(totalIDs))], totalIDs[rng.IntN(len(totalIDs))]
		switch rng.IntN(9) {
		case 0, 1:
			_ = l.Create(ctx, &leaf{ID: id, Tree: "oak"})
		case 2:
			_, _ = l.Upsert(ctx, id, func(v *leaf) error { v.N++; return nil })
		case 3:
			_ = l.CreateMulti(ctx, []*leaf{{ID: id}, {ID: other}})
		case 4:
			_, _ = l.Update(ctx, id, func(v *leaf) error { v.N++; v.Tree += "?"; return nil })
		case 5:
			_ = l.Purge(ctx, id)
		default:
			_ = l.Delete(ctx, id)
		}
		cancel()
	}
	time.Sleep(stays)
	leave(l.db)
}

// checkTotal asserts that the total is the number of live records, before and after a rebuild.
func checkTotal(sim *kvtest.Sim) {
	ctx, t := context.Background(), sim.T()
	l := openTotal(sim.Still())
	live := 0
	for _, id := range totalIDs {
		_, err := l.Get(ctx, id)
		if err == nil {
			live++
		} else if !errors.Is(err, kv.ErrNotFound) {
			t.Error(err)
		}
	}
	l.want(t, ctx, live)
	must(t, l.Rebuild(ctx))
	l.want(t, ctx, live)
	must(t, l.db.Close(ctx))
}

func openTotalDB(s kv.Store) *kvmodel.DB { return openTotal(s).db }

func TestSweep_AfterACrashAnywhereATotalIsTheNumberOfRecords(t *testing.T) {
	for _, powers := range everyPower {
		change := func(_ *kvtest.Sim, s kv.Store, rng *rand.Rand) { changeLeaves(s, rng, 0) }
		sweepCrash(t, 150, powers, change, openTotalDB, checkTotal)
	}
}

func TestSweep_ATotalWhoseNumbersAreDroppedIsTheNumberOfRecords(t *testing.T) {
	world := kvtest.World{Powers: kvtest.ServerPowers, Evict: 0.03, Evictable: func(key string) bool { return strings.HasPrefix(key, "c:") }}
	proof.Sweep(t, 100, world, func(sim *kvtest.Sim) {
		inTwo(sim, func(_ *kvtest.Sim, s kv.Store, rng *rand.Rand) { changeLeaves(s, rng, 5*time.Minute) })
		repairWith(sim, openTotalDB)
		checkTotal(sim)
	})
}

// One process creates and deletes records, and another changes them, so that changes lose races. A
// change that has returned nil with no answer missing must be in the total; without doubt, every
// change must be.
func TestSweep_ATotalShowsEachChangeOnceItHasReturned(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers} {
		world := kvtest.Hostile(powers)
		world.Crash, world.Pause = 0, 0
		world.Fault = func(m kvtest.Moment) kvtest.Fault {
			if m.Op.Kind == kv.Increment || m.Client == "q" {
				return faults(m)
			}
			return kvtest.None // a failed change ends the run, and the looks would be too few
		}
		looked, runs := 0, 0
		proof.Sweep(t, 100, world, func(sim *kvtest.Sim) {
			runs++
			rng := rand.New(rand.NewPCG(sim.Seed(), 1))
			sim.Go("p", func(s kv.Store) { looked += countAll(sim, s, rng) })
			sim.Go("q", func(s kv.Store) {
				l := openTotal(s)
				for range 20 {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					_, _ = l.Update(ctx, totalIDs[sim.Seed()%uint64(len(totalIDs))], func(v *leaf) error { v.N++; return nil })
					cancel()
				}
				leave(l.db)
			})
			sim.Wait()
			// let their background work end
			sim.Do("no one", func(kv.Store) { time.Sleep(5 * time.Minute) })
		})
		t.Logf("%+v: looked %d times in %d runs", powers, looked, runs)
		if looked < 5*runs {
			t.Error("that is too seldom")
		}
	}
}

// countAll is the only process that creates and deletes records. It returns the number of its looks
// at the total.
func countAll(sim *kvtest.Sim, s kv.Store, rng *rand.Rand) (looked int) {
	ctx, l, in := context.Background(), openTotal(s), map[string]bool{}
	defer leave(l.db)
	look := func(when string) {
		doubted := l.db.Stats().InDoubt > 0
		n, err := l.Count(ctx)
		if err != nil || doubted || l.db.Stats().InDoubt > 0 {
			return
		}
		want := 0
		for _, is := range in {
			if is {
				want++
			}
		}
		if looked++; n != want {
			sim.T().Errorf("Count %d %s, want %d", n, when, want)
		}
	}
	for range 10 {
		id, err := totalIDs[rng.IntN(len(totalIDs))], error(nil)
		switch {
		case in[id]:
			err = l.Delete(ctx, id)
		case rng.IntN(2) == 0:
			_, err = l.Upsert(ctx, id, func(v *leaf) error { v.Tree = "oak"; return nil })
		default:
			err = l.Create(ctx, &leaf{ID: id})
		}
		if err != nil {
			return looked // from here on the members are unknown
		}
		in[id] = !in[id]
		look("after a change of " + id)
	}
	for range 5 {
		time.Sleep(time.Minute)
		look("at rest")
	}
	return looked
}
