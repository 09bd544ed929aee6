package whole_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Two processes change the tags of a few posts on a simulated store, and one is killed. Then a
// third repairs, and the values must be those of the records, with their counts.

var sweepTags = []string{"go", "kv", "sea", "tex"}

func sweepValues(t *testing.T, n int, powers kvtest.Powers, as postsAs) {
	world := kvtest.Hostile(powers)
	world.Crash, world.Pause = 0, 0
	world.Fault = valueFaults
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		sim.CrashAt("p", 1+sim.Rand().IntN(200))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { changePosts(sim, s, rng, as) })
		}
		sim.Wait()
		repairPosts(sim, as)
		sim.Wait()
		p := openPosts(sim.Still(), as)
		if powers.Ordered {
			wantSweptValues(sim.T(), p, true)
		}
		// A cut trip may leave a count without the line that would start its recount.
		must(sim.T(), p.Rebuild(ctx))
		wantSweptValues(sim.T(), p, powers.Ordered)
		closePosts(sim.T(), p)
	})
}

func changePosts(sim *kvtest.Sim, s kv.Store, rng *rand.Rand, as postsAs) {
	p := openPosts(s, as)
	for range 5 {
		id := fmt.Sprint("p", rng.IntN(4))
		var tags []string
		for range rng.IntN(3) {
			tags = append(tags, sweepTags[rng.IntN(len(sweepTags))])
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		switch rng.IntN(5) {
		case 0:
			_ = p.Delete(limited, id)
		case 1:
			_ = p.tag(limited, id, tags...)
		default:
			_ = p.Put(limited, &post{ID: id, Tags: tags, Draft: rng.IntN(8) == 0})
		}
		checkShownValues(limited, sim, p)
		cancel()
	}
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_ = p.db.Close(closing)
}

func checkShownValues(ctx context.Context, sim *kvtest.Sim, p *posts) {
	l, err := p.ByTags.Values.Page(ctx, "", 10)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, item := range l.Items {
		if item.Count < 1 || seen[item.Value] {
			sim.T().Errorf("%q is shown with %d, shown before: %v", item.Value, item.Count, seen[item.Value])
		}
		seen[item.Value] = true
	}
}

func repairPosts(sim *kvtest.Sim, as postsAs) {
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		p := openPosts(s, as)
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, time.Minute, time.Minute, 2 * time.Hour, time.Minute, time.Minute, time.Minute} {
			time.Sleep(wait)
			for range 5 {
				if p.db.Repair(ctx) == nil {
					break
				}
			}
		}
		_ = p.db.Close(ctx)
	})
}

func wantSweptValues(t *testing.T, p *posts, all bool) {
	t.Helper()
	if all {
		checkValues(t, p)
		return
	}
	want := countsOf(t, p)
	for name, got := range map[string]used{"Page": byUse(t, p, 3), "Words": inOrder(t, p, 3)} {
		proof.NoDiff(t, diffs.Diff(want, got), "%s", name)
	}
}

func valueFaults(m kvtest.Moment) kvtest.Fault {
	odds := [20]kvtest.Fault{0: kvtest.Mute, 7: kvtest.Lost, 13: kvtest.Unsent, 17: kvtest.Late}
	switch {
	case proof.Spared(m):
		return kvtest.None
	case strings.HasPrefix(m.Op.Key, "c:"), strings.HasPrefix(m.Op.Key, "rank:"):
		return max(odds[m.Step%len(odds)], kvtest.None)
	}
	return kvtest.ByRate
}

// Processes give posts of their own one tag and remove it, without faults or repairs.
func contestOfValues(t *testing.T, n int, powers kvtest.Powers) {
	proof.Sweep(t, n, kvtest.World{Powers: powers, Slow: 0.05}, func(sim *kvtest.Sim) {
		finished := true
		for i, name := range []string{"p", "q", "r"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) {
				p := openPosts(s, postsAs{})
				for range 6 {
					time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
					tags := [][]string{{"go"}, {"go", "kv"}, nil, {"kv"}}[rng.IntN(4)]
					if err := p.Put(ctx, &post{ID: name, Tags: tags}); err != nil {
						sim.T().Error(err)
					}
				}
				finished = p.db.Close(ctx) == nil && finished
			})
		}
		sim.Wait()
		if !finished {
			repairPosts(sim, postsAs{})
			sim.Wait()
		}
		p := openPosts(sim.Still(), postsAs{})
		checkValues(sim.T(), p)
		report, err := p.ByTags.Values.Verify(ctx, "go", "kv")
		if err != nil || report.Stale+report.Pending+report.Drift+len(report.Wrong)+len(report.Missing) > 0 {
			sim.T().Errorf("%+v, %v", report, err)
		}
		closePosts(sim.T(), p)
	})
}

func TestSweep_InAContestTheLastToFollowHasSeenTheLastNumberOfAValue(t *testing.T) {
	contestOfValues(t, 60, kvtest.ServerPowers)
	contestOfValues(t, 60, kvtest.NoPowers)
}

func TestSweep_AfterACrashAnywhereValuesAreTheFunctionOfTheRecords(t *testing.T) {
	sweepValues(t, 60, kvtest.ServerPowers, postsAs{})
}

func TestSweep_WhereTripsAreCutARebuildMakesValuesTheFunctionOfTheRecords(t *testing.T) {
	sweepValues(t, 60, kvtest.NoPowers, postsAs{})
}

func TestSweep_WhereAChangeIsOneTransactionValuesAreTheFunctionOfTheRecords(t *testing.T) {
	sweepValues(t, 60, kvtest.AllPowers, postsAs{})
	sweepValues(t, 60, kvtest.OptimisticPowers, postsAs{})
}

func TestSweep_ValuesFollowTheCounterOfTheirListAfterACrash(t *testing.T) {
	sweepValues(t, 30, kvtest.ServerPowers, postsAs{countedIn: true})
}
