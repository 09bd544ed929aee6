package ranking_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/ranking"
)

// In the contest, processes change the same two records again and again, in tries that may decide
// something else each time. One of them dies, and the others repair.

// openOne opens a model with one board: by a field, or by a counter if there is a batch.
func openOne(s kv.Store, ties ranking.Ties, batch ...ranking.Batch) *articles {
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		panic(err)
	}
	r := kvmodel.NewRecords(db, articleSchema())
	made := func(a *article) time.Time { return a.Made }
	if len(batch) > 0 {
		views := &counter{s: db.Store()}
		return &articles{Records: r, db: db, views: views, TopViews: ranking.NewBoard(r, ranking.Spec[article, int64]{
			Name: "TopViews", Of: ranking.Int[int64](), Ties: ties, Made: made, Counter: views, Batch: batch[0],
		})}
	}
	return &articles{Records: r, db: db, TopStock: ranking.NewBoard(r, ranking.Spec[article, int64]{
		Name: "TopStock", Of: ranking.Int[int64](), Ties: ties, Made: made,
		Score: func(a *article) int64 { return a.Stock },
	})}
}

func tiesOf(sim *kvtest.Sim) ranking.Ties {
	return []ranking.Ties{ranking.Shared, ranking.Dense, ranking.Newest}[sim.Seed()/2%3]
}

func contested(powers kvtest.Powers) kvtest.World {
	world := kvtest.Hostile(powers)
	world.Crash = 0
	world.Fault = func(m kvtest.Moment) kvtest.Fault {
		if proof.Spared(m) {
			return kvtest.None
		}
		return kvtest.ByRate
	}
	return world
}

var contestedScores = []int64{3, 5, 900}

func contest(t *testing.T, seeds int, powers kvtest.Powers) {
	ranking.SmallLeaves(t)
	proof.Sweep(t, seeds, contested(powers), func(sim *kvtest.Sim) {
		ties := tiesOf(sim)
		open := func(s kv.Store) *articles { return openOne(s, ties) }
		first := open(sim.Still())
		for i, id := range []string{"x", "y", "s0", "s1", "s2", "s3"} {
			must(t, first.Create(ctx, &article{ID: id, Stock: []int64{3, 900, 1, 4, 600, 1000}[i]}))
		}
		must(t, first.db.Close(ctx))
		sim.CrashAt("p", 1+sim.Rand().IntN(120))
		for i, name := range []string{"p", "q", "r"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { contend(open(s), ties, rng) })
		}
		sim.Wait()
		checkContest(sim, open, ties, !powers.Ordered)
	})
}

var errEnough = errors.New("enough")

func contend(a *articles, ties ranking.Ties, rng *rand.Rand) {
	for range 4 {
		limited, cancel := context.WithTimeout(ctx, 8*time.Second)
		if ties == ranking.Newest && rng.IntN(3) == 0 {
			_ = a.Delete(limited, "x")
		}
		_, _ = a.Upsert(limited, []string{"x", "x", "y"}[rng.IntN(3)], func(v *article) error {
			switch rng.IntN(8) {
			case 0:
				return errEnough
			case 1:
			case 2:
				v.Price = float64(rng.IntN(3))
			default:
				v.Stock = contestedScores[rng.IntN(len(contestedScores))]
			}
			return nil
		})
		cancel()
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
		}
	}
	closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = a.db.Close(closing)
}

// checkContest repairs, and asserts that all numbers are those of the records. garbage: see
// checkSwept.
func checkContest(sim *kvtest.Sim, open func(kv.Store) *articles, ties ranking.Ties, garbage bool) {
	fix(sim, open)
	a := open(sim.Still())
	all := records(sim.T(), a)
	n, err := a.TopStock.Len(ctx)
	if err != nil || n != len(all) {
		sim.T().Errorf("the length is %d, %v; want %d", n, err, len(all))
	}
	for id, v := range all {
		want, last := rankAmong(v, all, ties)
		if rank, err := a.TopStock.Rank(ctx, id); err != nil || rank < want || rank > last {
			sim.T().Errorf("%s with %d has rank %d, %v; want %d", id, v.Stock, rank, err, want)
		}
	}
	places, err := a.TopStock.At(ctx, 1, 100)
	if err != nil || len(places) != len(all) {
		sim.T().Errorf("at the top: %d, %v; want %d", len(places), err, len(all))
	}
	if report, err := a.TopStock.Verify(ctx, "x", "y"); err != nil || len(report.Missing)+len(report.Wrong)+report.Drift > 0 || report.Stale+report.Pending > 0 && !garbage {
		sim.T().Errorf("verify: %+v, %v", report, err)
	}
	must(sim.T(), a.db.Close(ctx))
}

// rankAmong returns the first and the last rank that v may have.
func rankAmong(v *article, all map[string]*article, ties ranking.Ties) (rank, last int) {
	better, beside := map[int64]int{}, 0
	rank = 1
	for _, other := range all {
		later := ties == ranking.Newest && other.Stock == v.Stock && other.Made.After(v.Made)
		switch {
		case other.Stock > v.Stock || later:
			better[other.Stock]++
			rank++
		case ties == ranking.Newest && other != v && other.Stock == v.Stock && other.Made.Equal(v.Made):
			beside++
		}
	}
	if ties == ranking.Dense {
		rank = len(better) + 1
	}
	return rank, rank + beside
}

func fix(sim *kvtest.Sim, open func(kv.Store) *articles) {
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		a := open(s)
		for range 4 {
			_ = a.db.Repair(ctx)
			time.Sleep(time.Minute)
		}
		_ = a.db.Close(ctx)
	})
	sim.Wait()
}

func contestOfCounts(t *testing.T, seeds int, powers kvtest.Powers) {
	ranking.SmallLeaves(t)
	proof.Sweep(t, seeds, contested(powers), func(sim *kvtest.Sim) {
		batch := []ranking.Batch{ranking.Windowed, ranking.Every}[sim.Seed()%2]
		ties := tiesOf(sim)
		open := func(s kv.Store) *articles { return openOne(s, ties, batch) }
		first := open(sim.Still())
		for i, id := range []string{"x", "y", "s0", "s1", "s2", "s3"} {
			must(t, first.Create(ctx, &article{ID: id}))
			for range []int{3, 1, 1, 4, 6, 10}[i] {
				must(t, first.views.Hit(ctx, id))
			}
		}
		must(t, first.db.Close(ctx))
		sim.CrashAt("p", 1+sim.Rand().IntN(150))
		for i, name := range []string{"p", "q", "r"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { hitContested(open(s), rng) })
		}
		sim.Wait()
		fix(sim, open)
		checkMembers(sim.T(), open(sim.Still()), !powers.Ordered)
	})
}

func hitContested(a *articles, rng *rand.Rand) {
	for range 5 {
		limited, cancel := context.WithTimeout(ctx, 8*time.Second)
		id := []string{"x", "x", "y", "z"}[rng.IntN(4)]
		switch rng.IntN(6) {
		case 0:
			_ = a.Delete(limited, id)
		case 1:
			_ = a.Put(limited, &article{ID: id})
		default:
			for range 1 + rng.IntN(4) {
				_ = a.views.Hit(limited, id)
			}
		}
		cancel()
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
		}
	}
	closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = a.db.Close(closing)
}

func checkMembers(t *testing.T, a *articles, garbage bool) {
	t.Helper()
	report, err := a.TopViews.Verify(ctx)
	if err != nil || len(report.Wrong)+report.Drift > 0 || report.Stale+report.Pending > 0 && !garbage {
		t.Errorf("verify: %+v, %v", report, err)
	}
	if n, err := a.TopViews.Len(ctx); err != nil || n != report.Members {
		t.Errorf("the length is %d, %v; want %d", n, err, report.Members)
	}
	if at, err := a.TopViews.At(ctx, 1, 100); err != nil || len(at) != report.Members {
		t.Errorf("at the top: %d, %v; want %d", len(at), err, report.Members)
	}
	must(t, a.db.Close(ctx))
}

func TestSweep_InAContestABoardIsLeftByWhatIsDeletedWhenItComes(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	var unfinished error // what a process has left to repair
	each := func(sim *kvtest.Sim, name string, change func(a *articles, id string)) {
		rng := rand.New(rand.NewPCG(sim.Seed(), uint64(len(name))))
		sim.Go(name, func(s kv.Store) {
			a := openOne(s, ranking.NoTies, ranking.Every)
			for _, id := range ids {
				time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
				change(a, id)
			}
			unfinished = cmp.Or(a.db.Close(ctx), unfinished)
		})
	}
	proof.Sweep(t, 100, kvtest.World{Slow: 0.05}, func(sim *kvtest.Sim) {
		unfinished = nil
		first := openOne(sim.Still(), ranking.NoTies, ranking.Every)
		for _, id := range ids {
			must(t, first.Create(ctx, &article{ID: id}))
		}
		must(t, first.db.Close(ctx))
		each(sim, "counts", func(a *articles, id string) { _ = a.views.Hit(ctx, id) })
		each(sim, "deletes", func(a *articles, id string) { _ = a.Delete(ctx, id) })
		sim.Wait()
		if unfinished != nil {
			fix(sim, func(s kv.Store) *articles { return openOne(s, ranking.NoTies, ranking.Every) })
		}
		checkMembers(sim.T(), openOne(sim.Still(), ranking.NoTies, ranking.Every), false)
	})
}

func TestSweep_InAContestACountedBoardCountsItsMembers(t *testing.T) {
	contestOfCounts(t, 100, kvtest.ServerPowers)
}

func TestSweep_InAContestACountedBoardCountsItsMembersInAnyOrder(t *testing.T) {
	contestOfCounts(t, 100, kvtest.NoPowers)
}

func TestSweep_InAContestEveryNumberIsThatOfTheRecords(t *testing.T) {
	contest(t, 200, kvtest.ServerPowers)
}

func TestSweep_InAContestEveryNumberIsThatOfTheRecordsInAnyOrder(t *testing.T) {
	contest(t, 200, kvtest.NoPowers)
}
