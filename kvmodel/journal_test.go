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
	p.byCode = index.NewUnique(p.notes, kvmodel.IndexSpec[note, string]{
		Name: "ByCode", Fields: []string{"Code"}, Key: kvmodel.StringKey[string](),
		Values: func(n *note) []string { return []string{n.Code} },
	})
	return p
}

func (p *process) ends(t *testing.T) *process {
	t.Cleanup(func() { _ = p.db.Close(context.Background()) })
	return p
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
		if got := keys(mem, "line"); len(got) != 1 {
			t.Fatalf("segments %q, want one", got)
		}
		must(t, p.db.Close(ctx))
		if diff := cmp.Diff([]string{"procs"}, keys(mem, journals...)); diff != "" {
			t.Errorf("what is left of the journal (-want +got)\n%s", diff)
		}
		next := start(t, plain(mem)).ends(t)
		if diff := cmp.Diff(want, allIDs(t, ctx, next.notes)); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
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
			if n := p.db.Stats().Lines; n != 0 {
				t.Errorf("%d lines are open", n)
			}
		}
		if got := keys(mem, "line"); len(got) != 1 || !strings.HasSuffix(got[0], ":10") {
			t.Errorf("segments %q, want only number 10", got)
		}
		if diff := cmp.Diff(want, allIDs(t, ctx, p.notes)); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
	})
}

func TestJournal_ItRollsOverBySize(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		for i := range 20 {
			createNotes(t, ctx, p.notes, 500*i, 500)
			synctest.Wait()
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
		if diff := cmp.Diff(map[kv.Kind]int{}, trips); diff != "" {
			t.Errorf("what an idle process asked (-want +got)\n%s", diff)
		}
		mu.Unlock()
		c := cost(t, ctx, func(ctx context.Context) error { return p.Create(ctx, &note{Text: "x"}) })
		if c.Trips != 2 {
			t.Errorf("waking took %v, want 2 trips", c)
		}
		wait(3 * time.Second)
		if n := p.db.Stats().Lines; n != 0 {
			t.Errorf("%d lines are open", n)
		}
		if got := len(allIDs(t, ctx, p.notes)); got != 2 {
			t.Errorf("%d records, want 2", got)
		}
	})
}

func TestJournal_AProcessThatDiesIsRepairedAfter30SecondsAndRemovedAfterTheGrace(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		other := start(t, plain(mem)).ends(t)
		must(t, other.Create(ctx, &note{ID: "other", Text: "x"}))

		p := start(t, plain(mem)).ends(t)
		must(t, p.Create(ctx, &note{ID: "a", Text: "x", Code: "old"}))
		must(t, p.db.Flush(ctx))
		synctest.Wait() // Its first look for the dead takes trips too.
		// It dies with the commit of a change of an indexed value.
		_, err := p.Get(ctx, "a")
		must(t, err)
		p.life.dies.Store(p.life.trips.Load() + 3)
		_, err = p.Update(ctx, "a", func(n *note) error { n.Code = "new"; return nil })
		must(t, err)
		wantErr(t, p.db.Flush(ctx), kv.ErrUnavailable)
		if diff := cmp.Diff([]string{"u:Note:ByCode:new", "u:Note:ByCode:old"}, keys(mem, "u")); diff != "" {
			t.Fatalf("claims after the crash (-want +got)\n%s", diff)
		}

		wait(60 * time.Second)
		if diff := cmp.Diff([]string{"u:Note:ByCode:new"}, keys(mem, "u")); diff != "" {
			t.Errorf("claims after the first pass (-want +got)\n%s", diff)
		}
		if got := keys(mem, "out"); len(got) != 2 {
			t.Errorf("heads %q, want both until the grace has passed", got)
		}
		// The second pass finds a claim that a paused client adds late.
		_, err = kv.One(ctx, mem, kv.OpSet("u:Note:ByCode:old", claimOf(1, "a")))
		must(t, err)
		wait(time.Hour + 4*time.Minute)
		if diff := cmp.Diff([]string{"u:Note:ByCode:new"}, keys(mem, "u")); diff != "" {
			t.Errorf("claims after the second pass (-want +got)\n%s", diff)
		}
		if got := keys(mem, "out", "line", "fixed"); len(got) != 2 {
			t.Errorf("journals %q, want the living one's head and segment", got)
		}
		if diff := cmp.Diff([]string{"a", "other"}, allIDs(t, ctx, other.notes)); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
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
				if diff := cmp.Diff(want, allIDs(t, ctx, other.notes)); diff != "" {
					t.Errorf("all (-want +got)\n%s", diff)
				}
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
		if diff := cmp.Diff([]string{"before", "other", "since"}, allIDs(t, ctx, other.notes)); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
		wait(3 * time.Hour)
		if got := keys(mem, "out", "line", "fixed"); len(got) != 2 {
			t.Errorf("journals %q, want only the living one's head and segment", got)
		}
		if diff := cmp.Diff([]string{"before", "other", "since"}, allIDs(t, ctx, other.notes)); diff != "" {
			t.Errorf("all after the removal (-want +got)\n%s", diff)
		}
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
		if got := keys(mem, "out"); len(got) != 2 {
			t.Errorf("heads %q, want the dead one's as well", got)
		}
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
		if n != 2 {
			t.Errorf("%d edges, want 2", n)
		}
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
		_, err := kv.One(ctx, mem, kv.OpSet("r:Note:n1", []byte("corrupt")))
		must(t, err)
		living := start(t, plain(mem)).ends(t)
		must(t, living.Create(ctx, &note{ID: "living", Text: "x"}))
		wait(3 * time.Hour)
		if got := keys(mem, "out"); len(got) != 2 {
			t.Errorf("%d heads are left, want the living one's and that of the corrupt record", len(got))
		}
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
		if diff := cmp.Diff([]string{"a"}, allIDs(t, ctx, p.notes)); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
		if n := p.db.Stats().Lines; n != 0 {
			t.Errorf("%d lines are open", n)
		}
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
		_, err := p.Update(ctx, "a", func(n *note) error { n.Code = "new"; return nil })
		must(t, err)
		// The journal rolls over more than once before the process dies.
		wait(5 * time.Second)
		p.life.kill()
		if diff := cmp.Diff([]string{"u:Note:ByCode:new", "u:Note:ByCode:old"}, keys(mem, "u")); diff != "" {
			t.Fatalf("claims after the crash (-want +got)\n%s", diff)
		}
		other := start(t, plain(mem)).ends(t)
		must(t, other.Create(ctx, &note{Text: "x"}))
		wait(time.Minute)
		if diff := cmp.Diff([]string{"u:Note:ByCode:new"}, keys(mem, "u")); diff != "" {
			t.Errorf("claims after the repair (-want +got)\n%s", diff)
		}
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
	if got := len(allIDs(t, ctx, other.notes)); got != 2000 {
		t.Errorf("%d records, want 2000", got)
	}
	_ = p.db.Close(ctx)
	must(t, other.db.Close(ctx))
}
