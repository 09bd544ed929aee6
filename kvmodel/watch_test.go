package kvmodel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// dieMoving creates a record and changes its value to new, in a process that dies with the commit
// of the change. The claim on old is left.
func dieMoving(t *testing.T, ctx context.Context, mem *memkv.Store) {
	t.Helper()
	p := start(t, plain(mem)).ends(t)
	must(t, p.Create(ctx, &note{ID: "a", Text: "x", Code: "old"}))
	must(t, p.db.Flush(ctx))
	synctest.Wait() // Its first look for the dead takes trips too.
	proof.Done(t)(p.Get(ctx, "a"))
	p.life.dies.Store(p.life.trips.Load() + 3)
	proof.Done(t)(p.Update(ctx, "a", func(n *note) error { n.Code = "new"; return nil }))
	synctest.Wait()
	proof.NoDiff(t, cmp.Diff([]string{"u:Note:ByCode:new", "u:Note:ByCode:old"}, keys(mem, "u")), "claims after the crash")
}

// secondsUntil returns the number of seconds until done, at most limit.
func secondsUntil(t *testing.T, limit int, each func(), done func() bool) int {
	t.Helper()
	for second := range limit + 1 {
		if synctest.Wait(); done() {
			return second
		}
		each()
		time.Sleep(time.Second)
	}
	t.Fatalf("it is not done after %d seconds", limit)
	return 0
}

func TestRepair_AProcessThatWritesOtherModelsMendsWithin45Seconds(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				other := start(t, kind(mem)).ends(t)
				others := edges(other.db)
				var h heard
				h.listen(other.notes)
				p := start(t, kind(mem)).ends(t)
				p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { p.life.kill(); return errDead })
				must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
				n := 0
				secondsUntil(t, 46, func() {
					n++
					must(t, others.Create(ctx, &edge{vote: vote{User: string(rune('a' + n)), Story: "s"}}))
				}, func() bool { return slices.Contains(h.all(), "a: x, created") })
				wait(3 * time.Hour)
				wantLen(t, 1, h.all(), "heard")
			})
		})
	}
}

func aloneOn(mem *memkv.Store) kv.Store {
	p := mem.Powers()
	p.Alone = true
	return powers{mem, p}
}

// dieUnheard makes a change in a process that dies before it calls the handler.
func dieUnheard(t *testing.T, ctx context.Context, s kv.Store) {
	t.Helper()
	p := start(t, s).ends(t)
	p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { p.life.kill(); return errDead })
	must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
	synctest.Wait()
}

func TestRepair_OnAStoreHeldAloneTheDeadAreRepairedRightAfterOpen(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieUnheard(t, ctx, aloneOn(mem))
		next := start(t, aloneOn(mem)).ends(t)
		var h heard
		h.listen(next.notes)
		wait(200 * time.Millisecond)
		wantSame(t, []string{"a: x, created"}, h.all(), "heard")
		wantSame(t, []string{"procs"}, keys(mem, journals...), "what is left of journals")
	})
}

func TestRepair_OnAStoreHeldAloneWhatIsRegisteredLaterIsRepairedThen(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieUnheard(t, ctx, aloneOn(mem))
		db := open(t, aloneOn(mem))
		t.Cleanup(func() { _ = db.Close(ctx) })
		edges(db)
		wait(time.Second)
		r := kvmodel.NewRecords(db, noteSchema())
		wait(time.Second)
		var h heard
		h.listen(r)
		wait(time.Second)
		wantSame(t, []string{"a: x, created"}, h.all(), "heard")
		wantSame(t, []string{"procs"}, keys(mem, journals...), "what is left of journals")
	})
}

// A process that began after the first look is not taken for one that died earlier: a test or a
// tool may open a store twice.
func TestRepair_OnAStoreHeldAloneOnlyTheFirstLookFindsTheDead(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		first := start(t, aloneOn(mem)).ends(t)
		first.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
		wait(time.Second)
		second := start(t, aloneOn(mem)).ends(t)
		second.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
		must(t, second.Create(ctx, &note{ID: "a", Text: "x"}))
		heads := keys(mem, "out")
		edges(first.db)
		wait(20 * time.Second)
		wantSame(t, heads, keys(mem, "out"), "heads")
	})
}

func TestRepair_ALookIsOneTripWithAGetForEachProcess(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var looks proof.Record[int]
		reader := start(t, kv.Trace(plain(mem), func(_ context.Context, trip kv.Trip) {
			looks.Add(len(trip.Ops))
		})).ends(t)
		between := func(want ...int) {
			t.Helper()
			wantSame(t, want, looks.Take(), "ops of each trip")
		}
		wait(45 * time.Second)
		between(2, 2, 2) // the list of processes, and the marker of the format
		var writers []*process
		for range 3 {
			writers = append(writers, start(t, plain(mem)).ends(t))
		}
		for second := range 60 {
			for i, w := range writers {
				must(t, w.Create(ctx, &note{ID: fmt.Sprint(i, "-", second), Text: "x"}))
			}
			wait(time.Second)
		}
		between(2, 3, 5, 5, 5) // and once the heads of new processes
		_ = reader
	})
}

func TestRepair_ALineOfAnIndexThatIsReadIsLeftToWhoKnowsIt(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieMoving(t, ctx, mem)
		older := open(t, plain(mem))
		t.Cleanup(func() { _ = older.Close(ctx) })
		without := kvmodel.NewRecords(older, noteSchema())
		proof.Done(t)(without.Get(ctx, "a"))
		wait(65 * time.Minute)
		wantLen(t, 1, keys(mem, "out"), "heads, want the dead one's")
		newer := start(t, plain(mem)).ends(t)
		proof.Done(t)(newer.Get(ctx, "a"))
		wait(65 * time.Minute)
		wantSame(t, []string{"procs", "u:Note:ByCode:new"}, keys(mem, append(journals, "u")...), "what is left")
	})
}

func TestRepair_ALineOfAnIndexThatIsNotReadIsRepairedByAnyone(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieMoving(t, ctx, mem)
		older := open(t, plain(mem))
		t.Cleanup(func() { _ = older.Close(ctx) })
		without := kvmodel.NewRecords(older, noteSchema())
		// Since it writes the model, no one may read the index any more.
		must(t, without.Create(ctx, &note{ID: "b", Text: "x"}))
		must(t, older.Flush(ctx))
		wait(65 * time.Minute)
		wantLen(t, 1, keys(mem, "out"), "heads, want that of the living process")
	})
}

func TestRepair_ChangesAreLeftToAProcessThatHandlesThemForADay(t *testing.T) {
	for name, kind := range map[string]func(*memkv.Store) kv.Store{
		"alone": aloneOn,
		"plain": func(mem *memkv.Store) kv.Store { return plain(mem) },
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				dieUnheard(t, ctx, kind(mem))
				var later atomic.Int64
				clock := kvmodel.Clock(func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
				start(t, kind(mem), clock).ends(t) // a tool without handlers
				wait(time.Minute)
				later.Add(int64(23 * time.Hour))
				wait(time.Minute)
				wantLen(t, 1, keys(mem, "out"), "heads, want the dead one's")
				later.Add(int64(time.Hour))
				wait(time.Minute)
				later.Add(int64(time.Hour))
				wait(3 * time.Minute)
				wantLen(t, 0, keys(mem, "out"), "journals left though no one handles changes any more")
			})
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				dieUnheard(t, ctx, kind(mem))
				start(t, kind(mem)).ends(t)
				wait(time.Minute)
				next := start(t, kind(mem)).ends(t)
				var h heard
				h.listen(next.notes)
				wait(time.Minute)
				wantSame(t, []string{"a: x, created"}, h.all(), "heard")
			})
		})
	}
}

// A look during the opening of the journal must not take it for an older one.
func TestRepair_OnAStoreHeldAloneAJournalThatIsBeingOpenedIsNotRepaired(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var listed atomic.Int64
		slow := tamper(aloneOn(mem), func(ctx context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			err := next(ops)
			if ops[0].Key == "procs" && ops[0].Kind.Writes() {
				listed.Add(1)
				time.Sleep(time.Second)
			}
			return err
		})
		p := start(t, slow).ends(t)
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
		must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
		wantSame(t, 1, listed.Load(), "writes of the list of processes")
	})
}

func TestSweep_AReaderMendsWhatACrashLeavesWithin45Seconds(t *testing.T) {
	for _, with := range []kvtest.Powers{kvtest.ServerPowers, kvtest.AllPowers} {
		proof.Sweep(t, 120, kvtest.World{Powers: with}, func(sim *kvtest.Sim) {
			out := &outcome{deleted: map[string]bool{}}
			var ended atomic.Int64
			sim.CrashAt("p", 1+sim.Rand().IntN(60))
			sim.Go("p", func(s kv.Store) {
				defer func() { ended.Store(time.Now().UnixNano()) }()
				changeThings(s, "p", rand.New(rand.NewPCG(sim.Seed(), 0)), 4, out)
			})
			sim.Go("reader", func(s kv.Store) {
				m := openMembers(s)
				for ended.Load() == 0 || time.Since(time.Unix(0, ended.Load())) < 46*time.Second {
					_, _ = m.byEmail.Find(context.Background(), "x")
					time.Sleep(time.Second)
				}
				_ = m.db.Close(context.Background())
			})
			sim.Wait()
			m := openMembers(sim.Still())
			checkKeys(sim.T(), sim, allMembers(context.Background(), sim.T(), m), false)
			if err := m.db.Close(context.Background()); err != nil {
				sim.T().Error(err)
			}
		})
	}
}
