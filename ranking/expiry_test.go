package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// lot is a record that may end by itself.
type lot struct {
	ID   string
	Bid  int64
	Ends time.Time
}

type lots struct {
	*kvmodel.Records[lot, string]
	db   *kvmodel.DB
	bids *counter
	Top  *ranking.Board[lot, string, int64]
	Most *ranking.Board[lot, string, int64] // by a counter
}

func openLots(t *testing.T, s kv.Store) *lots {
	t.Helper()
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := kvmodel.NewRecords(db, kvmodel.Schema[lot, string]{
		Name: "Lot", Version: 1,
		ID:      func(l *lot) string { return l.ID },
		SetID:   func(l *lot, id string) { l.ID = id },
		Key:     kvmodel.StringKey[string](),
		Codec:   asJSON[lot]{},
		Expires: func(l *lot) *time.Time { return &l.Ends },
	})
	bids := &counter{s: db.Store()}
	return &lots{r, db, bids, ranking.NewBoard(r, ranking.Spec[lot, int64]{
		Name: "Top", Of: ranking.Int[int64](), Score: func(l *lot) int64 { return l.Bid },
	}), ranking.NewBoard(r, ranking.Spec[lot, int64]{
		Name: "Most", Of: ranking.Int[int64](), Counter: bids,
	})}
}

// Half of the records end by themselves, and nobody reads a page.
func TestBoard_WhatHasEndedCountsNowhere(t *testing.T) {
	for name, powers := range map[string]func(kv.Store) kv.Store{
		"atomic": func(s kv.Store) kv.Store { return s },
		"plain":  func(s kv.Store) kv.Store { return still{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ranking.SmallLeaves(t)
				s := powers(memkv.New(memkv.Options{}))
				a := openLots(t, s)
				for i := range 100 {
					l := &lot{ID: fmt.Sprint(i), Bid: int64(i)}
					if i%2 == 0 {
						l.Ends = time.Now().Add(time.Minute + time.Duration(i)*time.Second)
					}
					if err := errors.Join(a.Create(ctx, l), a.bids.Hit(ctx, l.ID)); err != nil {
						t.Fatal(err)
					}
				}
				// One ends earlier than it was to, one later, and one never.
				for id, ends := range map[string]time.Time{"10": time.Now().Add(time.Minute), "20": time.Now().Add(time.Hour), "30": {}} {
					if _, err := a.Update(ctx, id, func(l *lot) error { l.Ends = ends; return nil }); err != nil {
						t.Fatal(err)
					}
				}
				if err := a.db.Flush(ctx); err != nil {
					t.Fatal(err)
				}
				checkLots(t, a, 100)
				checkMost(t, a, 100)
				time.Sleep(4 * time.Minute)
				checkLots(t, a, 52)
				checkMost(t, a, 52)
				if err := a.db.Flush(ctx); err != nil {
					t.Fatal(err)
				}
				// It has been paid for.
				metered, meter := kvmodel.Metered(ctx)
				if n, err := a.Top.Len(metered); n != 52 || err != nil || meter.Cost().Trips != 1 || meter.Cost().Ops > 2 {
					t.Errorf("the length is %d, %v, for %+v", n, err, meter.Cost())
				}
				time.Sleep(time.Hour)
				checkLots(t, a, 51)
				checkMost(t, a, 51)
				for i := range 20 {
					if _, err := a.Upsert(ctx, fmt.Sprint(2*i), func(l *lot) error { l.Bid = int64(200 + i); return nil }); err != nil {
						t.Fatal(err)
					}
				}
				if err := a.db.Flush(ctx); err != nil {
					t.Fatal(err)
				}
				checkLots(t, a, 70)
				if report, err := a.Top.Verify(ctx); err != nil || report.Stale+report.Pending+report.Drift+len(report.Wrong) > 0 {
					t.Errorf("verify: %+v, %v", report, err)
				}
				if err := a.db.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A record comes where another one has ended and is no longer counted, so that there
// are as many as before that.
func TestBoard_WhatHasEndedLeavesItsNumberToTheNext(t *testing.T) {
	for name, ends := range map[string]time.Duration{"for good": 0, "for a while": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ranking.SmallLeaves(t)
				a := openLots(t, still{memkv.New(memkv.Options{})})
				for i := range 20 {
					l := &lot{ID: fmt.Sprint(i), Bid: int64(i)}
					if i == 10 {
						l.Ends = time.Now().Add(time.Minute)
					}
					if err := a.Create(ctx, l); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(3 * time.Minute)
				checkLots(t, a, 19)
				next := &lot{ID: "next", Bid: 10}
				if ends > 0 {
					next.Ends = time.Now().Add(ends)
				}
				if err := errors.Join(a.db.Flush(ctx), a.Create(ctx, next), a.db.Flush(ctx)); err != nil {
					t.Fatal(err)
				}
				checkLots(t, a, 20)
				if time.Sleep(time.Hour); ends > 0 {
					checkLots(t, a, 19)
				}
				if err := a.db.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// In the contest of those that end, two processes change a few records, one of them
// dies, and the others repair what it has left. Whatever ends, whenever it does, all
// numbers are those of the records.
func contestOfEnds(t *testing.T, seeds int, powers kvtest.Powers) {
	ranking.SmallLeaves(t)
	proof.Sweep(t, seeds, contested(powers), func(sim *kvtest.Sim) {
		first := openLots(t, sim.Still())
		for i := range 6 {
			if err := first.Create(ctx, &lot{ID: fmt.Sprint("s", i), Bid: int64(i * i * 9)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := first.db.Close(ctx); err != nil {
			t.Fatal(err)
		}
		sim.CrashAt("p", 1+sim.Rand().IntN(200))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { contendWithEnds(openLots(t, s), rng) })
		}
		sim.Wait()
		sim.Spare(proof.Fixer)
		sim.Do(proof.Fixer, func(s kv.Store) {
			a := openLots(t, s)
			for range 4 {
				_ = a.db.Repair(ctx)
				time.Sleep(time.Minute)
			}
			_ = a.db.Close(ctx)
		})
		sim.Wait()
		last := openLots(t, sim.Still())
		for _, wait := range []time.Duration{0, time.Hour, 3 * time.Hour} {
			time.Sleep(wait)
			checkLots(t, last, liveLots(t, last))
			if err := last.db.Flush(ctx); err != nil {
				t.Error(err)
			}
			checkLots(t, last, liveLots(t, last))
		}
		if err := last.db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// contendWithEnds changes the contested lots as one process.
func contendWithEnds(a *lots, rng *rand.Rand) {
	for range 6 {
		limited, cancel := context.WithTimeout(ctx, 8*time.Second)
		// Whether it succeeds is checked at the end.
		id, ends := []string{"x", "y", "z"}[rng.IntN(3)], time.Time{}
		if wait := []time.Duration{0, 20 * time.Second, 3 * time.Minute, 2 * time.Hour}[rng.IntN(4)]; wait > 0 {
			ends = time.Now().Add(wait)
		}
		switch rng.IntN(6) {
		case 0:
			_ = a.Delete(limited, id)
		case 1:
			_, _ = a.Update(limited, id, func(l *lot) error { l.Ends = ends; return nil })
		default:
			_ = a.Put(limited, &lot{ID: id, Bid: contestedScores[rng.IntN(len(contestedScores))], Ends: ends})
		}
		cancel()
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(100)) * time.Second)
			_, _ = a.Top.Len(ctx) // It corrects what it finds to have ended.
		}
	}
	closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = a.db.Close(closing)
}

// liveLots returns how many of the contested lots, and of those beside them, live.
func liveLots(t *testing.T, a *lots) (n int) {
	t.Helper()
	all, err := a.GetMulti(ctx, []string{"x", "y", "z", "s0", "s1", "s2", "s3", "s4", "s5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l != nil {
			n++
		}
	}
	return n
}

func TestSweep_InAContestWhatHasEndedCountsNowhere(t *testing.T) {
	contestOfEnds(t, 40, kvtest.ServerPowers)
}

func TestSweep_InAContestWhatHasEndedCountsNowhereInAnyOrder(t *testing.T) {
	contestOfEnds(t, 40, kvtest.NoPowers)
}

// checkMost asserts that n lots are on the board by a counter.
func checkMost(t *testing.T, a *lots, n int) {
	t.Helper()
	// The first who reads has what has ended counted out, beside the reply.
	if _, err := a.Most.Len(ctx); err != nil {
		t.Error(err)
	}
	if err := a.db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Most.Len(ctx); got != n || err != nil {
		t.Errorf("the length by count is %d, %v; want %d", got, err, n)
	}
	if at, err := a.Most.At(ctx, 1, 200); len(at) != n || err != nil {
		t.Errorf("%d at the top by count, %v; want %d", len(at), err, n)
	}
}

// checkLots asserts that n lots are on the board, and that all numbers are those of
// the pages.
func checkLots(t *testing.T, a *lots, n int) {
	t.Helper()
	if got, err := a.Top.Len(ctx); got != n || err != nil {
		t.Errorf("the length is %d, %v; want %d", got, err, n)
	}
	half, err := a.Top.Between(0, 50).Count(ctx)
	places, err2 := a.Top.At(ctx, 1, 100)
	if err != nil || err2 != nil || len(places) != n {
		t.Fatalf("%d at the top, %v, %v; want %d", len(places), err, err2, n)
	}
	low := 0
	for i, p := range places {
		if p.Score < 50 {
			low++
		}
		if rank, err := a.Top.Rank(ctx, p.Item.ID); rank != i+1 || err != nil {
			t.Errorf("%s has rank %d, %v; want %d", p.Item.ID, rank, err, i+1)
		}
		if at, err := a.Top.At(ctx, i+1, 1); err != nil || len(at) != 1 || at[0].Item.ID != p.Item.ID {
			t.Errorf("at %d: %v, %v; want %s", i+1, at, err, p.Item.ID)
		}
	}
	if half != low {
		t.Errorf("%d are counted below 50; want %d", half, low)
	}
}
