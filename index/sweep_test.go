package index_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Processes move records between lists; one is killed, and the rest is repaired. Every list must
// then hold exactly the records with its value. The lists are constantly folded, split and joined.

var (
	sweepIDs  = []string{"a", "b", "c", "d"}
	sweepTags = []string{"go", "kv"}
)

func openQuiet(s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	db, err := kvmodel.Open(s, append(opts, kvmodel.Log(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		panic(err)
	}
	return db
}

func openSweep(s kv.Store) *books {
	b := newBooks(openQuiet(s))
	for _, l := range []*memberlog.Limits{b.ByAuthor.Limits(), b.ByTags.Limits()} {
		*l = memberlog.Limits{Split: 60, Merge: 30, Slack: 20, Look: 60, Grace: 24 * time.Hour}
	}
	return b
}

func changeBooks(sim *kvtest.Sim, s kv.Store, rng *rand.Rand, n int) {
	b := openSweep(s)
	for range n {
		id, tag := sweepIDs[rng.IntN(len(sweepIDs))], sweepTags[rng.IntN(len(sweepTags))]
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		var err error
		switch rng.IntN(6) {
		case 0, 1:
			err = b.Create(ctx, &book{ID: id, Author: "knuth", Tags: []string{tag}})
		case 2, 3, 4:
			_, err = b.Update(ctx, id, func(b *book) error {
				b.N++
				b.Tags = []string{tag}
				return nil
			})
		case 5:
			err = b.Delete(ctx, id)
		}
		if errors.Is(err, kvmodel.ErrCorrupt) {
			sim.T().Error(err)
		}
		readBooks(ctx, sim, b, tag)
		cancel()
	}
	leave(b.db)
}

func readBooks(ctx context.Context, sim *kvtest.Sim, b *books, tag string) {
	p, err := b.ByTags.Of(tag).Page(ctx, "", 3)
	if errors.Is(err, kvmodel.ErrCorrupt) {
		sim.T().Error(err)
	}
	for _, v := range p.Items {
		if !slices.Contains(v.Tags, tag) {
			sim.T().Errorf("the list of %s has %+v", tag, v)
		}
	}
}

// repairWith repairs, after all other processes have ended, for longer than the grace period.
func repairWith(sim *kvtest.Sim, open func(kv.Store) *kvmodel.DB) {
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		db := open(s)
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, time.Minute, time.Minute, 2 * time.Hour, time.Minute, time.Minute, time.Minute} {
			time.Sleep(wait)
			for range 5 {
				if db.Repair(context.Background()) == nil {
					break
				}
			}
		}
		_ = db.Close(context.Background())
	})
	sim.Wait()
}

// still is a store without powers that outlives its users.
type still struct{ kv.Store }

func (still) Powers() kv.Powers { return kv.Powers{} }
func (still) Close() error      { return nil }

// checkBooks asserts that the lists agree with the records. With garbage, there may be entries
// without a record and a line: no page shows them, and a rebuild removes them from every list that
// has a record.
func checkBooks(sim *kvtest.Sim, garbage, counted bool) {
	checkLists(sim, garbage, counted)
	ctx := context.Background()
	b := openSweep(sim.Still())
	must(sim.T(), b.Rebuild(ctx))
	checkSizes(sim.T(), ctx, b, !garbage)
	must(sim.T(), b.db.Close(ctx))
}

// checkSizes asserts that Size and Count are exact, with empty also those of empty lists.
func checkSizes(t *testing.T, ctx context.Context, b *books, empty bool) {
	t.Helper()
	lists := map[*index.List[book, string]]int{b.ByAuthor.Of("knuth"): 0}
	for _, tag := range sweepTags {
		lists[b.ByTags.Of(tag)] = 0
	}
	for v, err := range b.All(ctx) {
		must(t, err)
		for l := range lists {
			if in, err := l.Contains(ctx, v.ID); err != nil {
				t.Fatal(err)
			} else if in {
				lists[l]++
			}
		}
	}
	for l, want := range lists {
		n, err := l.Count(ctx)
		size, sizeErr := l.Size(ctx)
		if err != nil || sizeErr != nil {
			t.Fatal(err, sizeErr)
		}
		if (n != want || size != want) && (want > 0 || empty) {
			t.Errorf("Count %d and Size %d, want %d", n, size, want)
		}
	}
}

// checkLists is checkBooks before a rebuild.
func checkLists(sim *kvtest.Sim, garbage, counted bool) {
	t := sim.T()
	ctx := context.Background()
	b := openSweep(sim.Still())
	if !garbage {
		checkSizes(t, ctx, b, true)
	}
	for _, tag := range sweepTags {
		var want []string
		for _, id := range sweepIDs {
			v, err := b.Get(ctx, id)
			if err == nil && slices.Contains(v.Tags, tag) {
				want = append(want, id)
			} else if err != nil && !errors.Is(err, kv.ErrNotFound) {
				t.Fatal(err)
			}
		}
		got := idsOf(t, ctx, b.ByTags.Of(tag))
		if garbage {
			got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(want, id) })
		}
		proof.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "the list of %s", tag)
		if n := counterOf(t, ctx, sim.Store(), tag); counted && n != int64(len(want)) {
			t.Errorf("%d of %s are counted, want %d", n, tag, len(want))
		}
		p, err := b.ByTags.Of(tag).Page(ctx, "", 10)
		must(t, err)
		shown := bookIDs(p.Items)
		slices.Sort(shown)
		proof.NoDiff(t, cmp.Diff(want, shown, cmpopts.EquateEmpty()), "the page of %s", tag)
	}
	must(t, b.db.Close(ctx))
}

// zero is the stored form of a derived count of 0.
const zero = 1 << 40

func counterOf(t testing.TB, ctx context.Context, s kv.Store, tag string) int64 {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet("c:Tag:Books:"+tag))
	if errors.Is(err, kv.ErrNotFound) {
		return 0
	}
	must(t, err)
	n, err := kv.ParseNumber(r.Value)
	must(t, err)
	return n - zero
}

// sweepCrash runs change as two processes, kills one before an op chosen by the seed, repairs, and
// calls check.
func sweepCrash(t *testing.T, n int, powers kvtest.Powers, change func(*kvtest.Sim, kv.Store, *rand.Rand), open func(kv.Store) *kvmodel.DB, check func(*kvtest.Sim)) {
	const ops = 150 // of a process, about
	world := kvtest.Hostile(powers)
	world.Crash, world.Pause = 0, 0
	world.Fault = faults
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		sim.CrashAt("p", 1+int(sim.Seed()%ops))
		inTwo(sim, change)
		repairWith(sim, open)
		check(sim)
	})
}

func inTwo(sim *kvtest.Sim, change func(*kvtest.Sim, kv.Store, *rand.Rand)) {
	for i, name := range []string{"p", "q"} {
		rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
		sim.Go(name, func(s kv.Store) { change(sim, s, rng) })
	}
	sim.Wait()
}

// leave closes db. Its unfinished work is left to repair.
func leave(db *kvmodel.DB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = db.Close(ctx)
}

func sweepBooks(t *testing.T, powers kvtest.Powers) {
	change := func(sim *kvtest.Sim, s kv.Store, rng *rand.Rand) { changeBooks(sim, s, rng, 5) }
	sweepCrash(t, 150, powers, change, func(s kv.Store) *kvmodel.DB { return openSweep(s).db }, func(sim *kvtest.Sim) {
		checkBooks(sim, !powers.Ordered, powers.Ordered)
	})
}

// faults spares the moments of [proof.Spared]. An addition to a counter is often lost, late, or
// done without an answer.
func faults(m kvtest.Moment) kvtest.Fault {
	odds := [20]kvtest.Fault{0: kvtest.Mute, 7: kvtest.Lost, 13: kvtest.Unsent, 17: kvtest.Late}
	switch {
	case proof.Spared(m):
		return kvtest.None
	case strings.HasPrefix(m.Op.Key, "c:"):
		return max(odds[m.Step%len(odds)], kvtest.None)
	}
	return kvtest.ByRate
}

var everyPower = []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers, kvtest.OptimisticPowers}

func TestSweep_AfterACrashAnywhereEveryListIsTheFunctionOfTheRecords(t *testing.T) {
	sweepBooks(t, kvtest.ServerPowers)
}

func TestSweep_WhereTripsAreCutNoListMissesARecord(t *testing.T) {
	sweepBooks(t, kvtest.NoPowers)
}

func TestSweep_WhereAChangeIsOneTransactionEveryListIsTheFunctionOfTheRecords(t *testing.T) {
	sweepBooks(t, kvtest.AllPowers)
}

func TestSweep_WhereTransactionsRunTwiceEveryListIsTheFunctionOfTheRecords(t *testing.T) {
	sweepBooks(t, kvtest.OptimisticPowers)
}

// Each process has records of its own, so it knows which are in the list, whatever happens to its
// removals.
func TestSweep_AProcessSeesItsOwnChangesInTheNumbersAtOnce(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers} {
		world := kvtest.Hostile(powers)
		world.Crash, world.Pause = 0, 0
		proof.Sweep(t, 100, world, func(sim *kvtest.Sim) {
			for i, name := range []string{"p", "q"} {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
				sim.Go(name, func(s kv.Store) { countOwn(sim, s, rng, name) })
			}
			sim.Wait()
			// let their background work end
			sim.Do("no one", func(kv.Store) { time.Sleep(5 * time.Minute) })
		})
	}
}

func countOwn(sim *kvtest.Sim, s kv.Store, rng *rand.Rand, author string) {
	ctx, b, in := context.Background(), openSweep(s), map[string]bool{}
	for range 12 {
		id, err := author+sweepIDs[rng.IntN(len(sweepIDs))], error(nil)
		if in[id] && rng.IntN(2) == 0 && !errors.Is(b.Create(ctx, &book{ID: id, Author: author}), kv.ErrExists) {
			break
		}
		switch {
		case !in[id]:
			_, err = b.Upsert(ctx, id, func(v *book) error { v.Author = author; return nil })
		case rng.IntN(2) == 0:
			_, err = b.Update(ctx, id, func(v *book) error { v.Author = author + "?"; return nil })
		default:
			err = b.Delete(ctx, id)
		}
		if err != nil {
			break // from here on the members are unknown
		}
		in[id] = !in[id]
		want := 0
		for _, is := range in {
			if is {
				want++
			}
		}
		n, err := b.ByAuthor.Of(author).Count(ctx)
		size, sizeErr := b.ByAuthor.Of(author).Size(ctx)
		if err == nil && n != want || sizeErr == nil && size != want {
			sim.T().Errorf("%s: Count %d and Size %d after a change of %s, want %d", author, n, size, id, want)
		}
	}
	leave(b.db)
}

// A store short of memory drops parts of lists. No reader may take the rest for the whole list.
func TestSweep_ALossIsReportedAndRebuilt(t *testing.T) {
	world := kvtest.World{Powers: kvtest.NoPowers, Evict: 0.03, Evictable: func(key string) bool { return strings.HasPrefix(key, "l:") }}
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers} {
		world.Powers = powers
		runs, refused := 0, 0
		proof.Sweep(t, 80, world, func(sim *kvtest.Sim) {
			runs++
			inTwo(sim, func(sim *kvtest.Sim, s kv.Store, rng *rand.Rand) { changeBooks(sim, s, rng, 8) })
			ctx := context.Background()
			b := openSweep(sim.Still())
			// a rebuild comes to a list without records only after a reader has found its loss
			lists := []*index.List[book, string]{b.ByAuthor.Of("knuth")}
			for _, tag := range sweepTags {
				lists = append(lists, b.ByTags.Of(tag))
			}
			for _, list := range lists {
				for _, err := range list.IDs(ctx) {
					if errors.Is(err, kvmodel.ErrNeedsRebuild) {
						refused++
					} else {
						must(sim.T(), err)
					}
				}
			}
			if err := b.Rebuild(ctx); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
				must(sim.T(), err)
			}
			// a loss found by this rebuild needs another one
			must(sim.T(), b.Rebuild(ctx))
			must(sim.T(), b.db.Close(ctx))
			// if a removal was dropped, its member may come back as an entry that no reader shows
			checkBooks(sim, true, false)
		})
		t.Logf("%+v: %d lists were refused in %d runs", powers, refused, runs)
		if refused == 0 && runs >= 80 { // a few runs may read nothing that was lost
			t.Error("no list was ever refused")
		}
	}
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryListIsTheFunctionOfTheRecords", "lost append line:", "lost append l:", "lost incr c:")
	proof.Notices(t, "TestSweep_WhereAChangeIsOneTransactionEveryListIsTheFunctionOfTheRecords", "torn")
	proof.Notices(t, "TestSweep_AfterACrashAnywhereATotalIsTheNumberOfRecords", "lost incr c:")
	proof.Notices(t, "TestSweep_NumbersHaveNoGapAndNoTwoOwners", "blind add r:")
	proof.Notices(t, "TestSweep_Children_NoneIsLeftOfADeletedRecordAndNoneElseGoes", "lost append l:", "lost append line:")
}
