package ranking_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/ranking"
)

// Two processes change the same few records, and one is killed. Then a third repairs.

// still is a store without powers that outlives its users.
type still struct{ kv.Store }

func (still) Powers() kv.Powers { return kv.Powers{} }
func (still) Close() error      { return nil }

func sweep(t *testing.T, seeds int, powers kvtest.Powers) {
	ranking.SmallLeaves(t)
	world := kvtest.Hostile(powers)
	world.Crash, world.Pause = 0, 0
	world.Fault = faults
	proof.Sweep(t, seeds, world, func(sim *kvtest.Sim) {
		open := openAny(sim)
		first := open(sim.Still())
		for i := range 6 {
			must(t, first.Create(ctx, &article{ID: fmt.Sprint("a", i), Stock: int64(i), Category: "tea", Title: titles[i]}))
		}
		must(t, first.db.Close(ctx))
		sim.CrashAt("p", 1+sim.Rand().IntN(250))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { changeSome(open(s), rng) })
		}
		sim.Wait()
		repairAll(sim, open)
		sim.Wait()
		checkSwept(sim, open, !powers.Ordered)
	})
}

func openAny(sim *kvtest.Sim) func(kv.Store) *articles {
	ties := [][2]ranking.Ties{{ranking.Shared, ranking.NoTies}, {ranking.Dense, ranking.Newest}, {ranking.Newest, ranking.Dense}}[sim.Seed()%3]
	return func(s kv.Store) *articles { return openTied(s, ranking.Windowed, ties[0], ties[1]).withTitles() }
}

func changeSome(a *articles, rng *rand.Rand) {
	for range 5 {
		id := fmt.Sprint("a", rng.IntN(9))
		v := article{ID: id, Stock: []int64{0, 3, 50, -9}[rng.IntN(4)] + rng.Int64N(4), Category: []string{"tea", "coffee"}[rng.IntN(2)], Price: float64(rng.IntN(3)), Draft: rng.IntN(4) == 0, Title: titles[rng.IntN(len(titles))]}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		switch rng.IntN(6) {
		case 0:
			_ = a.Delete(limited, id)
		case 1:
			_ = a.views.Hit(limited, id)
		default:
			_ = a.Put(limited, &v)
		}
		cancel()
		checkShown(a)
	}
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_ = a.db.Close(closing)
}

func checkShown(a *articles) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	places, err := a.TopStock.At(limited, 1, 20)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, p := range places {
		if p.Score != p.Item.Stock || seen[p.Item.ID] {
			panic(fmt.Sprintf("%s is shown at %d with stock %d, shown before: %v", p.Item.ID, p.Score, p.Item.Stock, seen[p.Item.ID]))
		}
		seen[p.Item.ID] = true
	}
}

// repairAll runs for longer than the grace time.
func repairAll(sim *kvtest.Sim, open func(kv.Store) *articles) {
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		a := open(s)
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
			time.Sleep(wait)
			for range 5 {
				if a.db.Repair(ctx) == nil {
					break
				}
			}
		}
		_ = a.db.Close(ctx)
	})
}

// checkSwept asserts that boards are the function of the records. Without an order in a trip, one
// that is cut off may leave an entry without a line (garbage): no page shows it, and Mend removes it.
func checkSwept(sim *kvtest.Sim, open func(kv.Store) *articles, garbage bool) {
	t := sim.T()
	a := open(sim.Still())
	all := records(t, a)
	checkNumbers(t, a, all)
	checkBoards(t, a, all)
	checkTitles(t, a, all)
	report, err := a.TopStock.Verify(ctx, slices.Sorted(maps.Keys(all))...)
	if err != nil || report.Pending > 0 && !garbage {
		t.Errorf("verify: %+v, %v", report, err)
	}
	checkMended(t, a, slices.Sorted(maps.Keys(all)))
	checkBoards(t, a, all)
	checkTitles(t, a, all)
	must(t, a.db.Close(ctx))
}

func checkMended(t *testing.T, a *articles, ids []string) {
	for _, b := range []mended{a.TopStock, a.TopViews, a.Titles} {
		if _, err := b.Mend(ctx, ids...); err != nil {
			t.Error("mend:", err)
		}
		report, err := b.Verify(ctx, ids...)
		if err != nil || report.Pending+report.Stale+report.Drift+len(report.Missing)+len(report.Wrong) > 0 {
			t.Errorf("verify after mend: %+v, %v", report, err)
		}
		if n, err := b.Len(ctx); err != nil || n != report.Members {
			t.Errorf("%d members by the count, %v; %d entries", n, err, report.Members)
		}
	}
}

type mended interface {
	Mend(ctx context.Context, ids ...string) (ranking.Report, error)
	Verify(ctx context.Context, ids ...string) (ranking.Report, error)
	Len(ctx context.Context) (int, error)
}

func faults(m kvtest.Moment) kvtest.Fault {
	switch {
	case proof.Spared(m):
		return kvtest.None
	case strings.HasPrefix(m.Op.Key, "r:"), strings.HasPrefix(m.Op.Key, "rank:"):
		return kvtest.ByRate
	}
	odds := [20]kvtest.Fault{0: kvtest.Mute, 7: kvtest.Lost, 13: kvtest.Unsent}
	if fault := odds[m.Step%len(odds)]; fault != kvtest.ByRate {
		return fault
	}
	return kvtest.None
}

func TestSweep_AfterACrashEveryBoardIsTheFunctionOfTheRecords(t *testing.T) {
	sweep(t, 60, kvtest.ServerPowers)
}

func TestSweep_AfterACrashEveryBoardIsTheFunctionOfTheRecordsInAnyOrder(t *testing.T) {
	sweep(t, 60, kvtest.NoPowers)
}

func TestSweep_ATransactionIsWholeOrNothing(t *testing.T) {
	sweep(t, 60, kvtest.AllPowers)
}

func TestSweep_ATransactionThatRunsTwiceIsWholeOrNothing(t *testing.T) {
	sweep(t, 60, kvtest.OptimisticPowers)
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_InAContestEveryNumberIsThatOfTheRecords", "lost cas rank:")
	proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "torn")
}
