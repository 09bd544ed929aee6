package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// site is a store on which indexes are built: it counts the records entered in ByCode, takes a
// while for each trip or transaction, and may stop answering.
type site struct {
	kv.Store
	takes   time.Duration
	entered atomic.Int64
	trips   atomic.Int64
	dies    atomic.Int64 // the number of the fatal trip, if not 0
	isFile  bool
}

func (s *site) Close() error { return nil }

func (s *site) Powers() (p kv.Powers) {
	if whole := kv.PowersOf(s.Store).Atomic; s.isFile {
		p.Alone, p.Walk = true, kv.PowersOf(s.Store).Walk
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			if err := s.trip(ctx); err != nil {
				return err
			}
			return whole(ctx, func(inner kv.Store) error { return f(counter{inner, s}) })
		}
	}
	return p
}

func (s *site) trip(ctx context.Context) error {
	if n, dies := s.trips.Add(1), s.dies.Load(); dies != 0 && n >= dies {
		return errDead
	}
	if s.takes > 0 && !kv.Sleep(ctx, s.takes) {
		return kv.Unavailable(context.DeadlineExceeded)
	}
	return nil
}

func (s *site) Do(ctx context.Context, ops []kv.Op) error {
	if err := s.trip(ctx); err != nil {
		return kv.Fail(ops, err)
	}
	return counter{s.Store, s}.Do(ctx, ops)
}

type counter struct {
	kv.Store
	of *site
}

func (c counter) Powers() kv.Powers { return kv.PowersOf(c.Store) }

func (c counter) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		if op.Kind == kv.Add && strings.HasPrefix(op.Key, "u:Note:ByCode:") {
			c.of.entered.Add(1)
		}
	}
	return c.Store.Do(ctx, ops)
}

// eachSite runs f in a bubble with a store that has n notes and no index, for one process and for
// many.
func eachSite(t *testing.T, n int, f func(t *testing.T, ctx context.Context, at func(dies int64) *site)) {
	for _, kind := range []string{"atomic", "plain"} {
		t.Run(kind, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				at := func(dies int64) *site {
					s := &site{Store: mem, isFile: kind == "atomic"}
					s.dies.Store(dies)
					return s
				}
				fill(t, ctx, at(0), n)
				f(t, ctx, at)
			})
		})
	}
}

// fill creates n notes without an index.
func fill(t *testing.T, ctx context.Context, s kv.Store, n int) {
	t.Helper()
	v := deploy(t, s)
	var all []*note
	for i := range n {
		all = append(all, &note{ID: fmt.Sprintf("%05d", i), Text: "x", Code: fmt.Sprint("c", i)})
	}
	must(t, v.CreateMulti(ctx, all))
	v.undeploy(t)
}

// findsAll fails unless ByCode finds the n notes of fill.
func (v *release) findsAll(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		v.finds(t, "Code", fmt.Sprint("c", i), fmt.Sprintf("%05d", i))
	}
}

func (v *release) abandon(ctx context.Context) { _ = v.db.Close(ctx) }

// On a store held alone, a reader learns of a long build when its first records are entered. Later
// readers learn of it from their first request.
func TestBuild_TellsReadersAtOnceThatItIsLong(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := &site{Store: mem, isFile: true}
		fill(t, ctx, s, 8000)
		s.takes = 120 * time.Millisecond
		v := deploy(t, s, "Code")
		for range 3 {
			before := s.entered.Load()
			request, meter := kvmodel.Metered(ctx)
			_, err := v.by["Code"].Find(request, "c7999")
			wantErr(t, err, kvmodel.ErrNeedsRebuild)
			if !strings.Contains(err.Error(), " of about ") || !strings.Contains(err.Error(), "building: ") {
				t.Errorf("%q does not say how far the build is", err)
			}
			if n := s.entered.Load() - before; n > 500 {
				t.Errorf("%d records were entered while it waited", n)
			}
			if trips := meter.Cost().Trips; trips > 3 {
				t.Errorf("it took %d trips to say so", trips)
			}
		}
		wait(15 * time.Second)
		v.finds(t, "Code", "c7999", "07999")
		v.undeploy(t)
	})
}

func TestBuild_WritesDoNotWait(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := &site{Store: mem, isFile: true}
		fill(t, ctx, s, 500)
		s.takes = 100 * time.Millisecond
		v := deploy(t, s, "Code")
		before := time.Now()
		must(t, v.Create(ctx, &note{ID: "new", Text: "x", Code: "cnew"}))
		proof.Done(t)(v.Update(ctx, "00499", func(n *note) error { n.Code = "other"; return nil }))
		if took := time.Since(before); took > time.Second {
			t.Errorf("two writes have taken %v", took)
		}
		// Without a deadline a reader waits some seconds, which is enough.
		v.finds(t, "Code", "other", "00499")
		v.finds(t, "Code", "cnew", "new")
		v.undeploy(t)
	})
}

func TestBuild_BeginsByItselfOnAStoreThatIsHeldAlone(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := &site{Store: mem, isFile: true}
		fill(t, ctx, s, 500)
		v := deploy(t, s, "Code")
		wait(time.Second)
		wantSame(t, 500, s.entered.Load(), "records entered before the first request")
		wantSame(t, 0, keysWith(mem, "build:"), "build items left")
		wait(time.Minute)
		v.finds(t, "Code", "c7", "00007")
		wantSame(t, 500, s.entered.Load(), "records entered in the end")
		v.undeploy(t)
	})
}

// A failed build is retried, and reports its error until then.
func TestBuild_ThatFailsIsTriedAgain(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		fill(t, ctx, &site{Store: mem, isFile: true}, 500)
		poisoned, err := kv.One(ctx, mem, kv.OpGet("r:Note:00321"))
		must(t, err)
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet("r:Note:00321", []byte("poison"))))
		v := deploy(t, &site{Store: mem, isFile: true}, "Code")
		wait(time.Second)
		_, err = v.by["Code"].Find(ctx, "c1")
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		proof.Contains(t, fmt.Sprint(err), "00321")
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet("r:Note:00321", poisoned.Value)))
		wait(20 * time.Second)
		v.finds(t, "Code", "c321", "00321")
		v.undeploy(t)
	})
}

func TestBuild_ReadersWithoutADeadlineWaitForSomeSeconds(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := &site{Store: mem, isFile: true}
		fill(t, ctx, s, 2000)
		s.takes = 10 * time.Second
		v := deploy(t, s, "Code")
		_, _ = v.by["Code"].Find(ctx, "c1") // reads the built item, which takes time
		before := time.Now()
		v.needsRebuild(t, "Code")
		if took := time.Since(before); took > 16*time.Second {
			t.Errorf("it has waited for %v beside a trip of %v", took, s.takes)
		}
		before = time.Now()
		v.abandon(ctx)
		if took := time.Since(before); took > 30*time.Second {
			t.Errorf("to close it has taken %v", took)
		}
	})
}

// Processes are killed at each trip of a build in turn; the next one continues.
func TestBuild_GoesOnWhereOneThatWasKilledWas(t *testing.T) {
	const n = 2500
	eachSite(t, n, func(t *testing.T, ctx context.Context, at func(int64) *site) {
		work := int64(0)
		for kills := int64(0); ; kills++ {
			dies := kills + 1
			if plain := at(0); !plain.isFile {
				dies = 1 + 8*kills
			}
			s := at(dies)
			v := deploy(t, s, "Code")
			began := time.Now()
			_, err := v.by["Code"].Find(ctx, "c0")
			if errors.Is(err, kvmodel.ErrNeedsRebuild) {
				err = v.Rebuild(ctx)
			}
			work += s.entered.Load()
			if took := time.Since(began); took > 2*time.Minute {
				t.Fatalf("after %d kills it has taken %v: %v", kills, took, err)
			}
			if err != nil {
				v.abandon(ctx)
				if kills > 100 {
					t.Fatal("it does not end")
				}
				continue
			}
			// Each kill repeats a batch, or the progress not saved yet.
			again := int64(100)
			if !s.isFile {
				again = 1100
			}
			if work > n+kills*again {
				t.Errorf("%d records were entered in all, in spite of %d kills", work, kills)
			}
			s.dies.Store(0)
			v.findsAll(t, n)
			v.undeploy(t)
			return
		}
	})
}

func TestBuild_IsTakenOverOnceItsOwnerShowsNoLife(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		fill(t, ctx, &site{Store: mem}, 3000)
		dead := &site{Store: mem, takes: 10 * time.Millisecond}
		dead.dies.Store(80)
		first := deploy(t, dead, "Code")
		if err := first.Rebuild(ctx); err == nil {
			t.Fatal("the first was to die")
		}
		s := &site{Store: mem}
		next := deploy(t, s, "Code")
		began := time.Now()
		must(t, next.Rebuild(ctx))
		if took := time.Since(began); took < 29*time.Second || took > 65*time.Second {
			t.Errorf("it took over after %v", took)
		}
		if n := s.entered.Load(); n > 2100 || n < 100 {
			t.Errorf("it has entered %d of 3,000 records", n)
		}
		next.findsAll(t, 3000)
		wantSame(t, 0, keysWith(mem, "build:"), "build items left")
		next.undeploy(t)
		first.abandon(ctx)
	})
}

func TestBuild_IsTakenOverAtOnceFromOneThatWasClosed(t *testing.T) {
	eachSite(t, 3000, func(t *testing.T, ctx context.Context, at func(int64) *site) {
		slow := at(0)
		slow.takes = 50 * time.Millisecond
		var log proof.Log
		first := plugged(open(t, slow, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil)))), "Code")
		go first.Rebuild(ctx)
		time.Sleep(1500 * time.Millisecond)
		first.undeploy(t)
		synctest.Wait()
		if said := log.String(); strings.Contains(said, "level=ERROR") || !strings.Contains(said, "will resume") {
			t.Errorf("the one that was closed says\n%s", said)
		}
		s := at(0)
		next := deploy(t, s, "Code")
		began := time.Now()
		must(t, next.Rebuild(ctx))
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took over after %v", took)
		}
		if a, b := slow.entered.Load(), s.entered.Load(); a == 0 || b == 0 || a+b > 3200 {
			t.Errorf("the first has entered %d records and the next %d", a, b)
		}
		next.undeploy(t)
	})
}

func TestBuild_OfTwoProcessesThatWantToOneBuilds(t *testing.T) {
	eachSite(t, 3000, func(t *testing.T, ctx context.Context, at func(int64) *site) {
		a, b := at(0), at(0)
		a.takes, b.takes = 50*time.Millisecond, 50*time.Millisecond
		one, other := deploy(t, a, "Code"), deploy(t, b, "Code")
		var wait sync.WaitGroup
		wait.Go(func() { must(t, one.Rebuild(ctx)) })
		time.Sleep(500 * time.Millisecond)
		wait.Go(func() { must(t, other.Rebuild(ctx)) })
		wait.Wait()
		limit := int64(3000)
		if a.isFile {
			limit = 3200 // a later process takes the first for dead, once
		}
		if sum := a.entered.Load() + b.entered.Load(); sum > limit {
			t.Errorf("%d records were entered by one and %d by the other", a.entered.Load(), b.entered.Load())
		}
		one.finds(t, "Code", "c7", "00007")
		other.finds(t, "Code", "c2999", "02999")
		one.undeploy(t)
		other.undeploy(t)
	})
}

func TestBuild_ARebuildJoinsTheBuildUnderWay(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := &site{Store: mem, isFile: true}
		fill(t, ctx, s, 3000)
		s.takes = 50 * time.Millisecond
		s.entered.Store(0)
		v := deploy(t, s, "Code")
		request, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		proof.Ends(t, kvmodel.ErrNeedsRebuild)(v.by["Code"].Find(request, "c1"))
		must(t, v.Rebuild(ctx))
		wantSame(t, 3000, s.entered.Load(), "records entered")
		v.finds(t, "Code", "c1", "00001")
		// If nothing is missing, a rebuild enters everything again.
		must(t, v.Rebuild(ctx))
		wantSame(t, 6000, s.entered.Load(), "records entered after another rebuild")
		v.undeploy(t)
	})
}

func TestBuild_BeginsAgainOnceAProcessWithoutTheIndexHasWritten(t *testing.T) {
	eachSite(t, 3000, func(t *testing.T, ctx context.Context, at func(int64) *site) {
		slow := at(0)
		slow.takes = 50 * time.Millisecond
		first := deploy(t, slow, "Code")
		go first.Rebuild(ctx)
		time.Sleep(1500 * time.Millisecond)
		first.undeploy(t)
		old := deploy(t, at(0))
		proof.Done(t)(old.Update(ctx, "00000", func(n *note) error { n.Code = "changed"; return nil }))
		old.undeploy(t)
		next := deploy(t, at(0), "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "changed", "00000")
		next.undeploy(t)
	})
}

func TestBuild_ARecordInConflictKeepsBackOnlyThatIndex(t *testing.T) {
	eachSite(t, 1200, func(t *testing.T, ctx context.Context, at func(int64) *site) {
		v := deploy(t, at(0))
		for i := range 40 {
			_, err := v.Update(ctx, fmt.Sprintf("%05d", 1000+i), func(n *note) error { n.Code = "same"; n.Text = fmt.Sprint("t", i); return nil })
			must(t, err)
		}
		for i := range 1200 {
			_, err := v.Update(ctx, fmt.Sprintf("%05d", i), func(n *note) error { n.Text = fmt.Sprint("t", i); return nil })
			must(t, err)
		}
		v.undeploy(t)
		s := at(0)
		var log proof.Log
		v = plugged(open(t, s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil)))), "Code", "Text")
		err := v.Rebuild(ctx)
		proof.Contains(t, log.String(), "ErrNeedsRebuild\" model=Note indexes=[ByCode]")
		var duplicates *kvmodel.DuplicatesError
		if !errors.As(err, &duplicates) || !errors.Is(err, kv.ErrExists) {
			t.Fatalf("got %v, want a DuplicatesError", err)
		}
		var got []string
		owner := duplicates.Records[0].ID
		for _, taken := range duplicates.Records {
			got = append(got, taken.By)
			if taken.Index != "ByCode" || taken.ID != owner {
				t.Errorf("%s is in conflict about %v", taken.By, taken)
			}
		}
		var want []string
		for i := 1000; i < 1040; i++ {
			if id := fmt.Sprintf("%05d", i); id != owner {
				want = append(want, id)
			}
		}
		wantSame(t, want, got, "records in conflict")
		// While they conflict, another rebuild enters everything again, in case more is lost.
		before := s.entered.Load()
		wantErr(t, v.Rebuild(ctx), kv.ErrExists)
		if n := s.entered.Load() - before; n < 1200 {
			t.Errorf("another rebuild has entered %d records", n)
		}
		if len(err.Error()) > 2000 {
			t.Errorf("the message is long: %v", err)
		}
		v.finds(t, "Text", "t1039", "01039")
		v.needsRebuild(t, "Code")
		if _, err := v.by["Code"].Find(ctx, "c1"); errors.Is(err, kv.ErrExists) {
			t.Error("a Find says that something exists")
		}
		// Only the repaired records are entered.
		for _, id := range got {
			_, err := v.Update(ctx, id, func(n *note) error { n.Code = "own" + id; return nil })
			must(t, err)
		}
		v.undeploy(t)
		s = at(0)
		v = deploy(t, s, "Code", "Text")
		must(t, v.Rebuild(ctx))
		if n := s.entered.Load(); n > 100 {
			t.Errorf("%d records were entered to mend 39", n)
		}
		v.finds(t, "Code", "same", owner)
		v.finds(t, "Code", "own"+got[7], got[7])
		v.undeploy(t)
	})
}

// The part of a list entered by an earlier process is finished as well: entries without a record
// are removed, and it is counted.
func TestBuild_FinishesWhatOthersHaveEntered(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		for dies := int64(5); dies < 45; dies += 4 {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				finishAfter(t, ctx, &site{Store: mem, isFile: isFile}, dies)
			})
		}
	}
}

// finishAfter builds a list that an older release has left wrong, after a process that died with a
// trip of its build.
func finishAfter(t *testing.T, ctx context.Context, s *site, dies int64) {
	counted := []index.ListOption{index.Counted("Code", "Notes")}
	want := moveCodes(t, ctx, s, 240, counted)
	dead := &site{Store: s.Store, isFile: s.isFile}
	dead.dies.Store(dies)
	first, r, _ := openCodes(t, dead, counted...)
	if err := r.Rebuild(ctx); err == nil {
		dead.dies.Store(0)
	}
	_ = first.Close(ctx)
	db, r, lists := openCodes(t, s, counted...)
	must(t, r.Rebuild(ctx))
	checkLists(t, ctx, want, lists)
	checkCounts(t, ctx, want, db)
	must(t, db.Close(ctx))
}

func TestBuild_SaysHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		fill(t, ctx, &site{Store: mem}, 5000)
		var mu sync.Mutex
		var heard []kvmodel.Build
		s := &site{Store: mem, takes: 100 * time.Millisecond}
		db := open(t, s, kvmodel.Observe(kvmodel.Hooks{Build: func(b kvmodel.Build) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, b)
		}}))
		v := plugged(db, "Code")
		done := make(chan error)
		go func() { done <- v.Rebuild(ctx) }()
		time.Sleep(8*time.Second + 50*time.Millisecond) // between two trips of the build
		builds := db.Stats().Builds
		if len(builds) != 1 || builds[0].Done < 100 || builds[0].Total < 4000 || builds[0].Total > 6000 {
			t.Errorf("Stats say %v", builds)
		}
		_, err := v.by["Code"].Find(ctx, "c1")
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		if want := fmt.Sprint("Note.ByCode: index needs a rebuild: ", db.Stats().Builds[0]); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		other := deploy(t, &site{Store: mem}, "Code")
		_, err = other.by["Code"].Find(ctx, "c1")
		if err == nil || !strings.Contains(err.Error(), "building: ") || !strings.Contains(err.Error(), " of about ") {
			t.Errorf("another process says %v", err)
		}
		must(t, <-done)
		proof.Len(t, db.Stats().Builds, 0, "builds")
		mu.Lock()
		last := heard[len(heard)-1]
		if diff := cmp.Diff(kvmodel.Build{Model: "Note", Indexes: []string{"ByCode"}, Done: 5000, Total: 5000}, last); diff != "" || len(heard) < 4 {
			t.Errorf("the hook was called %d times, at last with (-want +got):\n%s", len(heard), diff)
		}
		mu.Unlock()
		other.undeploy(t)
		v.undeploy(t)
	})
}

func openCodes(t *testing.T, s kv.Store, opts ...index.ListOption) (*kvmodel.DB, *notes, *index.Lists[note, string, string]) {
	db := open(t, s)
	r := kvmodel.NewRecords(db, noteSchema())
	return db, r, index.NewLists(r, codes, opts...)
}

type builder struct {
	*site
	builds atomic.Bool
}

func (b *builder) Do(ctx context.Context, ops []kv.Op) error {
	if ops[0].Kind.Writes() && strings.HasPrefix(ops[0].Key, "build:") {
		b.builds.Store(true)
	}
	if !b.builds.Load() {
		return b.Store.Do(ctx, ops)
	}
	return b.site.Do(ctx, ops)
}

// Lists are read again when all records are entered, and may be counted. A process that lives
// little longer than it takes to read all records still makes progress.
func TestBuild_OfListsEndsHoweverOftenItsLastStepIsCutShort(t *testing.T) {
	for name, test := range map[string]struct {
		n     int
		kills int64 // at least
		opts  []index.ListOption
	}{"list": {800, 2, nil}, "counted": {500, 2, []index.ListOption{index.Counted("Code", "Notes")}}} {
		for _, isFile := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", atomic ", isFile), func(t *testing.T) {
				once, _ := buildLists(t, test.n, 0, isFile, test.opts)
				walk := int64(test.n/100 + 40)
				all, kills := buildLists(t, test.n, walk+60, isFile, test.opts)
				t.Logf("%d trips in one go; %d with %d kills", once, all, kills)
				if most := once*12/10 + kills*walk; all > most || kills < test.kills {
					t.Errorf("%d trips with %d kills, want at most %d; %d in one go", all, kills, most, once)
				}
			})
		}
	}
}

// The first progress of a process counts, however small.
func TestBuild_OfListsComesFurtherWithEachProcess(t *testing.T) {
	if _, kills := buildLists(t, 300, 26, true, nil); kills < 5 || kills > 25 {
		t.Errorf("%d were killed", kills)
	}
}

// buildLists builds lists of n notes, some of them moved by an older release, with processes that
// make life trips each. It returns the total number of trips, and the number of killed processes.
func buildLists(t *testing.T, n int, life int64, isFile bool, opts []index.ListOption) (trips, kills int64) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		want := moveCodes(t, ctx, &site{Store: mem, isFile: isFile}, n, opts)
		for ; ; kills++ {
			if kills > 100 {
				t.Fatal("it does not end")
			}
			s := &site{Store: mem, isFile: isFile}
			s.dies.Store(life)
			db, r, lists := openCodes(t, &builder{site: s}, opts...)
			err := r.Rebuild(ctx)
			trips += s.trips.Load()
			if err != nil {
				_ = db.Close(ctx)
				continue
			}
			s.dies.Store(0)
			checkLists(t, ctx, want, lists)
			if opts != nil {
				checkCounts(t, ctx, want, db)
			}
			must(t, db.Close(ctx))
			return
		}
	})
	return trips, kills
}

// moveCodes creates n notes with lists, and then lets a release without these give every seventh
// the code of the next one. It returns the number of notes with each code.
func moveCodes(t *testing.T, ctx context.Context, s kv.Store, n int, opts []index.ListOption) map[string]int {
	t.Helper()
	db, r, _ := openCodes(t, s, opts...)
	want := map[string]int{}
	var all []*note
	for i := range n {
		code := fmt.Sprint("c", i)
		want[code] = 1
		all = append(all, &note{ID: fmt.Sprintf("%05d", i), Text: "x", Code: code})
	}
	must(t, r.CreateMulti(ctx, all))
	must(t, db.Close(ctx))
	old := deploy(t, s)
	for i := 0; i+1 < n; i += 7 {
		from, to := fmt.Sprint("c", i), fmt.Sprint("c", i+1)
		proof.Done(t)(old.Update(ctx, all[i].ID, func(v *note) error { v.Code = to; return nil }))
		must(t, old.Create(ctx, &note{ID: "other" + all[i].ID, Text: "x", Code: from}))
		want[to] = 2
	}
	old.undeploy(t)
	return want
}

func checkLists(t *testing.T, ctx context.Context, want map[string]int, lists *index.Lists[note, string, string]) {
	t.Helper()
	got := map[string]int{}
	for code := range want {
		var err error
		got[code], err = lists.Of(code).Size(ctx)
		must(t, err)
	}
	wantSame(t, want, got, "sizes")
}

func checkCounts(t *testing.T, ctx context.Context, want map[string]int, db *kvmodel.DB) {
	t.Helper()
	codes := slices.Sorted(maps.Keys(want))
	numbers, err := db.Derived("Code", "Notes").Counts(ctx, db.Store(), codes)
	must(t, err)
	got := map[string]int{}
	for i, code := range codes {
		got[code] = int(numbers[i])
	}
	wantSame(t, want, got, "counts")
}
