package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// process is one process of an app: a DB on a store shared with others, and a class of notes with
// an index.
type process struct {
	*notes
	db     *kvmodel.DB
	life   *mortal
	byCode *index.Unique[note, string]
}

func start(t *testing.T, s kv.Store, opts ...kvmodel.Option) *process {
	t.Helper()
	life := &mortal{Store: s}
	db := open(t, life, opts...)
	p := &process{db: db, life: life, notes: kvmodel.NewRecords(db, noteSchema())}
	p.byCode = index.NewUnique(p.notes, codes)
	return p
}

func (p *process) ends(t *testing.T) *process {
	t.Cleanup(func() { _ = p.db.Close(context.Background()) })
	return p
}

func (p *process) finds(t *testing.T, ctx context.Context, code string) {
	t.Helper()
	if _, err := p.byCode.Find(ctx, code); err != nil {
		t.Errorf("find %s: %v", code, err)
	}
}

func inTime(t *testing.T, f func(t *testing.T, ctx context.Context, mem *memkv.Store)) {
	synctest.Test(t, func(t *testing.T) { f(t, t.Context(), memkv.New(memkv.Options{})) })
}

func keys(mem *memkv.Store, families ...string) []string {
	var all []string
	for _, key := range mem.Keys() {
		family, _, _ := strings.Cut(key, ":")
		if slices.Contains(families, family) {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

var journals = []string{"procs", "out", "line", "fixed"}

// wait lets d pass, and then waits until all goroutines are idle.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestJournal_Close_RemovesItAndKeepsTheIDs(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem))
		want := createNotes(t, ctx, p.notes, 0, 10)
		wantLen(t, 1, keys(mem, "line"), "segments, want one")
		must(t, p.db.Close(ctx))
		wantSame(t, []string{"procs"}, keys(mem, journals...), "what is left of the journal")
		next := start(t, plain(mem)).ends(t)
		wantSame(t, want, allIDs(t, ctx, next.notes), "all")
		must(t, p.db.Close(ctx))
		wantErr(t, p.Create(ctx, &note{Text: "too late"}), kv.ErrUnavailable)
	})
}

func TestJournal_ItRollsOverByAgeAndRemovesWhatIsArchived(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		var want []string
		for second := range 10 {
			want = append(want, createNotes(t, ctx, p.notes, 10*second, 10)...)
			wait(1100 * time.Millisecond)
			if got := keys(mem, "line"); len(got) > 2 {
				t.Errorf("after %d s there are segments %q", second, got)
			}
			wantSame(t, 0, p.db.Stats().Lines, "open lines")
		}
		if got := keys(mem, "line"); len(got) != 1 || !strings.HasSuffix(got[0], ":10") {
			t.Errorf("segments %q, want only number 10", got)
		}
		wantSame(t, want, allIDs(t, ctx, p.notes), "all")
	})
}

func TestJournal_ItRollsOverBySize(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		for i := range 20 {
			createNotes(t, ctx, p.notes, 500*i, 500)
			wait(10 * time.Millisecond) // A roll-over may pause, but takes no second.
		}
		for _, key := range keys(mem, "line") {
			r, err := kv.One(ctx, mem, kv.OpGet(key))
			must(t, err)
			if len(r.Value) > 64<<10 {
				t.Errorf("%s has %d bytes", key, len(r.Value))
			}
		}
		wait(3 * time.Second)
		if got := keys(mem, "line"); len(got) != 1 || strings.HasSuffix(got[0], ":1") {
			t.Errorf("segments %q, want one that is not the first", got)
		}
	})
}

func TestJournal_AnIdleProcessAsksNothingAndWakesWithoutATripMore(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var mu sync.Mutex
		trips := map[kv.Kind]int{}
		p := start(t, kv.Trace(plain(mem), func(_ context.Context, trip kv.Trip) {
			mu.Lock()
			defer mu.Unlock()
			for _, op := range trip.Ops {
				trips[op.Kind]++
			}
		})).ends(t)
		must(t, p.Create(ctx, &note{Text: "x"}))
		wait(20 * time.Second)
		mu.Lock()
		clear(trips)
		mu.Unlock()
		wait(5 * time.Hour)
		mu.Lock()
		delete(trips, kv.Get) // repair looks for the dead
		wantSame(t, map[kv.Kind]int{}, trips, "what an idle process asked")
		mu.Unlock()
		c := cost(t, ctx, func(ctx context.Context) error { return p.Create(ctx, &note{Text: "x"}) })
		if c.Trips != 2 {
			t.Errorf("waking took %v, want 2 trips", c)
		}
		wait(3 * time.Second)
		wantSame(t, 0, p.db.Stats().Lines, "open lines")
		wantSame(t, 2, len(allIDs(t, ctx, p.notes)), "records")
	})
}

func TestJournal_AProcessThatDiesIsRepairedAfter30SecondsAndRemovedAfterTheGrace(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		other := start(t, plain(mem)).ends(t)
		must(t, other.Create(ctx, &note{ID: "other", Text: "x"}))
		dieMoving(t, ctx, mem)
		wait(60 * time.Second)
		wantSame(t, []string{"u:Note:ByCode:new"}, keys(mem, "u"), "claims after the first pass")
		wantLen(t, 2, keys(mem, "out"), "heads, want both until the grace has passed")
		// The second pass finds a claim that a paused client adds late.
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet("u:Note:ByCode:old", claimOf(1, "a"))))
		wait(time.Hour + 4*time.Minute)
		wantSame(t, []string{"u:Note:ByCode:new"}, keys(mem, "u"), "claims after the second pass")
		wantLen(t, 2, keys(mem, "out", "line", "fixed"), "journals, want the living one's head and segment")
		wantSame(t, []string{"a", "other"}, allIDs(t, ctx, other.notes), "all")
	})
}

func TestJournal_AProcessThatWakesAfterItWasRemovedWritesUnderANewName(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				s := kind(mem)
				sleeper := start(t, s).ends(t)
				sleeper.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
				must(t, sleeper.Create(ctx, &note{ID: "before", Text: "x"}))
				must(t, sleeper.db.Flush(ctx))
				other := start(t, s).ends(t)
				other.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
				must(t, other.Create(ctx, &note{ID: "other", Text: "x", Code: "c"}))
				first := keys(mem, "out")
				sleeper.life.kill()
				wait(3 * time.Hour)
				sleeper.life.dead.Store(false)
				if got := keys(mem, "out"); slices.Equal(got, first) {
					t.Fatalf("the journal of the sleeper was not removed: %q", got)
				}
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				want := []string{"before", "other"}
				for i := range 5 {
					id := fmt.Sprintf("since%d", i)
					must(t, sleeper.Create(ctx, &note{ID: id, Text: "x"}))
					want = append(want, id)
					wait(1100 * time.Millisecond)
				}
				// It dies again, this time for good, and repair must find it.
				must(t, sleeper.Create(ctx, &note{ID: "unarchived", Text: "x"}))
				want = append(want, "unarchived")
				sleeper.life.kill()
				slices.Sort(want)
				wantSame(t, want, allIDs(t, ctx, other.notes), "all")
				heads, listed := keys(mem, "out"), 0
				r, err := kv.One(ctx, mem, kv.OpGet("procs"))
				for _, head := range heads {
					if err == nil && strings.Contains(string(r.Value), strings.TrimPrefix(head, "out:")) {
						listed++
					}
				}
				if listed != len(heads) {
					t.Errorf("%d of the heads %q are listed in %q", listed, heads, r.Value)
				}
			})
		})
	}
}

// A process that stalls during a write, unlike one that stalls when idle, ticks as soon as it goes
// on. It must notice that its journal was removed.
func TestJournal_AProcessThatTicksOnAfterItWasRemovedIsNotLost(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		stalled := start(t, plain(mem)).ends(t)
		other := start(t, plain(mem)).ends(t)
		must(t, other.Create(ctx, &note{ID: "other", Text: "x"}))
		must(t, stalled.Create(ctx, &note{ID: "before", Text: "x"}))
		stalled.life.kill() // with a segment that has a line in it
		wait(2 * time.Hour)
		stalled.life.dead.Store(false)
		wait(5 * time.Second) // it ticks
		must(t, stalled.Create(ctx, &note{ID: "since", Text: "x"}))
		stalled.life.kill()
		wantSame(t, []string{"before", "other", "since"}, allIDs(t, ctx, other.notes), "all")
		wait(3 * time.Hour)
		wantLen(t, 2, keys(mem, "out", "line", "fixed"), "journals, want only the living one's head and segment")
		wantSame(t, []string{"before", "other", "since"}, allIDs(t, ctx, other.notes), "all after the removal")
	})
}

func TestJournal_LinesOfUnknownModelsAreLeftForOthersAndTheRestIsDoneOnce(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dead := start(t, plain(mem)).ends(t)
		both := edges(dead.db)
		must(t, dead.Create(ctx, &note{ID: "n", Text: "x"}))
		must(t, both.Create(ctx, &edge{vote: vote{User: "u", Story: "s"}}))
		head := keys(mem, "out")
		dead.life.kill()

		var given []string
		knowsNotes := start(t, plain(mem)).ends(t)
		must(t, knowsNotes.Create(ctx, &note{ID: "m", Text: "x"}))
		wait(3 * time.Hour)
		wantLen(t, 2, keys(mem, "out"), "heads, want the dead one's as well")
		must(t, knowsNotes.Each(ctx, kvmodel.Walk{}, func(v *note) error { given = append(given, v.ID); return nil }))
		if slices.Sort(given); !slices.Equal(given, []string{"m", "n"}) {
			t.Errorf("Each gives %q, want each of two notes once", given)
		}
		knowsAll := start(t, plain(mem)).ends(t)
		all := edges(knowsAll.db)
		must(t, all.Create(ctx, &edge{vote: vote{User: "u2", Story: "s"}}))
		wait(3 * time.Hour)
		if got := keys(mem, "out"); slices.Contains(got, head[0]) {
			t.Errorf("heads %q, want the dead one's to be gone", got)
		}
		n := 0
		for _, err := range all.All(ctx) {
			must(t, err)
			n++
		}
		proof.Equal(t, n, 2, "edges")
	})
}

func TestJournal_OneThatCannotBeRepairedDoesNotHoldUpTheOthers(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var dead []*process
		for i := range 3 {
			p := start(t, plain(mem)).ends(t)
			must(t, p.Create(ctx, &note{ID: fmt.Sprint("n", i), Text: "x", Code: fmt.Sprint("c", i)}))
			dead = append(dead, p)
		}
		for _, p := range dead {
			p.life.kill()
		}
		// The record of the second one is corrupt.
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet("r:Note:n1", []byte("corrupt"))))
		living := start(t, plain(mem)).ends(t)
		must(t, living.Create(ctx, &note{ID: "living", Text: "x"}))
		wait(3 * time.Hour)
		wantLen(t, 2, keys(mem, "out"), "heads, want the living one's and that of the corrupt record")
		if n := living.db.Stats().Failed; n == 0 {
			t.Error("nothing is said to have failed")
		}
	})
}

func TestJournal_AnUnclearAppendIsSentAgainAndALineMayStandTwice(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		unclear := 0
		s := tamper(plain(mem), func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			err := next(ops)
			for i := range ops {
				if ops[i].Kind == kv.Append && strings.HasPrefix(ops[i].Key, "line:") && unclear < 2 {
					unclear++
					ops[i].Result.Err = kv.ErrUnclear
					err = kv.ErrUnclear
				}
			}
			return err
		})
		p := start(t, s).ends(t)
		must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
		if unclear != 2 {
			t.Fatalf("%d appends were unclear, want 2", unclear)
		}
		wait(3 * time.Second)
		wantSame(t, []string{"a"}, allIDs(t, ctx, p.notes), "all")
		wantSame(t, 0, p.db.Stats().Lines, "open lines")
	})
}

func TestRepair_ALineStaysUntilTheOldEntriesAreGone(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := tamper(plain(mem), nil)
		p := start(t, s).ends(t)
		must(t, p.Create(ctx, &note{ID: "a", Text: "x", Code: "old"}))
		must(t, p.db.Flush(ctx))
		s.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if ops[0].Kind == kv.CompareAndDelete && strings.HasPrefix(ops[0].Key, "u:") {
				return kv.Fail(ops, kv.ErrUnavailable)
			}
			return next(ops)
		})
		proof.Done(t)(p.Update(ctx, "a", func(n *note) error { n.Code = "new"; return nil }))
		// The journal rolls over more than once before the process dies.
		wait(5 * time.Second)
		p.life.kill()
		proof.NoDiff(t, cmp.Diff([]string{"u:Note:ByCode:new", "u:Note:ByCode:old"}, keys(mem, "u")), "claims after the crash")
		other := start(t, plain(mem)).ends(t)
		must(t, other.Create(ctx, &note{Text: "x"}))
		wait(time.Minute)
		wantSame(t, []string{"u:Note:ByCode:new"}, keys(mem, "u"), "claims after the repair")
	})
}

func TestRepair_Of2000LinesTakes5TripsPer100(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	clock := proof.NewClock(time.Now())
	// Its segments stay, because it cannot roll over.
	p := start(t, tamper(plain(mem), func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		if ops[0].Kind == kv.Get && strings.HasPrefix(ops[0].Key, "out:") {
			return kv.Fail(ops, kv.ErrUnavailable)
		}
		return next(ops)
	}), kvmodel.Clock(clock.Now))
	var vs []*note
	for i := range 2000 {
		vs = append(vs, &note{Text: "x", Code: fmt.Sprint("c", i)})
	}
	must(t, p.CreateMulti(ctx, vs))
	p.life.kill()

	other := start(t, plain(mem), kvmodel.Clock(clock.Now))
	must(t, other.db.Repair(ctx)) // sees it alive
	clock.Advance(31 * time.Second)
	begin := time.Now()
	c := cost(t, ctx, other.db.Repair)
	t.Logf("repair of 2,000 lines: %v in %v", c, time.Since(begin))
	if c.Trips > 150 {
		t.Errorf("it took %v, want at most 150 trips", c)
	}
	wantSame(t, 2000, len(allIDs(t, ctx, other.notes)), "records")
	_ = p.db.Close(ctx)
	must(t, other.db.Close(ctx))
}
