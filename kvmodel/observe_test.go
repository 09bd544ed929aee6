package kvmodel_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type told struct {
	mu   sync.Mutex
	what []string
}

func (o *told) say(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.what = append(o.what, what)
}

func (o *told) hooks() kvmodel.Hooks {
	return kvmodel.Hooks{
		Verb: func(ctx context.Context, w kv.Work) (context.Context, func()) {
			o.say("begin " + w.String())
			return ctx, func() { o.say("end " + w.String()) }
		},
		Trip: func(_ context.Context, trip kv.Trip) { o.say("trip for " + trip.For.String()) },
	}
}

func openObserved(t *testing.T, s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	db, err := kvmodel.Open(s, opts...)
	must(t, err)
	t.Cleanup(func() { db.Close(context.WithoutCancel(t.Context())) })
	return db
}

func get(ctx context.Context, db *kvmodel.DB) error {
	_, err := kv.GetAll(ctx, db.Store(), "a")
	return err
}

func TestObserve_WhatAVerbCallsIsAPartOfIt(t *testing.T) {
	var o told
	db := openObserved(t, memkv.New(memkv.Options{}), kvmodel.Observe(o.hooks()))
	ctx, end := db.Begin(t.Context(), "front page")
	inner, innerEnd := db.Begin(ctx, "list")
	_ = get(inner, db)
	innerEnd()
	end()
	_ = get(t.Context(), db)
	want := []string{"begin front page", "trip for front page", "end front page", "trip for "}
	wantSame(t, want, o.what, "calls")
}

func TestObserve_TripsOfWorksSideBySideAreForAllOfThem(t *testing.T) {
	var o told
	db := openObserved(t, memkv.New(memkv.Options{}), kvmodel.Observe(o.hooks()))
	work := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, end := db.Begin(ctx, name)
			defer end()
			return get(ctx, db)
		}
	}
	must(t, db.SideBySide(t.Context(), work("a"), work("b")))
	times := map[string]int{}
	for _, what := range o.what {
		times[what]++
	}
	want := map[string]int{
		"begin SideBySide": 1, "end SideBySide": 1, "trip for SideBySide": 1,
		"begin a": 1, "end a": 1, "begin b": 1, "end b": 1,
	}
	wantSame(t, want, times, "calls")
}

func TestObserve_SeveralHooksAreAllCalled(t *testing.T) {
	var a, b told
	onlyTrips := kvmodel.Hooks{Trip: b.hooks().Trip}
	db := openObserved(t, memkv.New(memkv.Options{}), kvmodel.Observe(a.hooks()), kvmodel.Observe(onlyTrips))
	ctx, end := db.Begin(t.Context(), "page")
	_ = get(ctx, db)
	end()
	wantSame(t, []string{"begin page", "trip for page", "end page"}, a.what, "calls")
	wantSame(t, []string{"trip for page"}, b.what, "calls of the second")
}

type briefly struct {
	kv.Store
	left int
}

func (r *briefly) Do(ctx context.Context, ops []kv.Op) error {
	if r.left--; r.left >= 0 {
		return kv.Fail(ops, kv.Unavailable(errors.New("not yet")))
	}
	return r.Store.Do(ctx, ops)
}

func TestRetries_RepeatsAndShowsAndCountsEachTry(t *testing.T) {
	var o told
	db := openObserved(t, &briefly{memkv.New(memkv.Options{}), 2}, kvmodel.Observe(o.hooks()), kvmodel.Retries(3, time.Millisecond))
	ctx, meter := kvmodel.Metered(t.Context())
	must(t, get(ctx, db))
	wantSame(t, []string{"trip for ", "trip for ", "trip for "}, o.what, "calls")
	wantSame(t, 3, meter.Cost().Trips, "trips")
	db = openObserved(t, &briefly{memkv.New(memkv.Options{}), 1})
	proof.Is(t, get(t.Context(), db), kvmodel.ErrUnavailable)
}

func TestOnTrip_TellsOfTripsUntilItIsStopped(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(t.Context())
	get := func(key string) {
		if _, err := kv.One(t.Context(), db.Store(), kv.OpGet(key)); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
	}
	listen := func() (keys *[]string, stop func()) {
		keys = new([]string)
		return keys, db.OnTrip(func(_ context.Context, trip kv.Trip) {
			for _, op := range trip.Ops {
				if op.Key != "format:ringtree" {
					*keys = append(*keys, op.Key)
				}
			}
		})
	}
	get("a")
	first, stopFirst := listen()
	get("b")
	second, stopSecond := listen()
	err = kv.PowersOf(db.Store()).Atomic(t.Context(), func(s kv.Store) error {
		_, err := kv.One(t.Context(), s, kv.OpSet("c", nil))
		return err
	})
	must(t, err)
	stopFirst()
	get("d")
	stopSecond()
	stopSecond()
	get("e")
	if want := []string{"b", "c"}; !slices.Equal(*first, want) {
		t.Errorf("the first has heard of %q, want %q", *first, want)
	}
	if want := []string{"c", "d"}; !slices.Equal(*second, want) {
		t.Errorf("the second has heard of %q, want %q", *second, want)
	}
}

// troubled is a store in a file that may be damaged.
type troubled struct {
	kv.Store
	trouble *atomic.Pointer[error]
}

func (s troubled) Powers() kv.Powers {
	return kv.Powers{Disk: func() kv.Disk { return kv.Disk{Trouble: *s.trouble.Load()} }}
}

func TestDB_LogsTroubleWithItsFileNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log proof.Log
		var trouble atomic.Pointer[error]
		set := func(err error) { trouble.Store(&err) }
		set(errors.New("mkdir /no: no such file or directory"))
		db := open(t, troubled{memkv.New(memkv.Options{}), &trouble}, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
		kvmodel.NewRecords(db, noteSchema())
		counts := func(wantWarnings, wantOver int) {
			t.Helper()
			synctest.Wait()
			warnings := strings.Count(log.String(), `level=WARN msg="ringtree: the store's file has a problem; retrying"`)
			over := strings.Count(log.String(), "the store's file works again")
			if warnings != wantWarnings || over != wantOver {
				t.Errorf("after %v: %d warnings and %d times over, want %d and %d:\n%s", time.Now(), warnings, over, wantWarnings, wantOver, log.String())
			}
		}
		time.Sleep(time.Minute)
		counts(1, 0)
		time.Sleep(10 * time.Minute)
		counts(2, 0)
		set(nil)
		time.Sleep(time.Minute)
		counts(2, 1)
		must(t, db.Close(t.Context()))
	})
}

// The write path relies on claims that are added and dropped, on lines written before the changes
// they announce, and on records that are swapped.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryIndexIsTheFunctionOfTheRecords", "lost append line:", "lost cdel u:")
	proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "torn")
	proof.Notices(t, "TestSweep_ARecordThatComesAndGoesKeepsItsClaim", "blind add u:", "blind cas r:", "blind cas procs")
	proof.Notices(t, "TestSweep_ACounterHasTheHitsOfItsOwnRecordAndNoOthers", "lost incr n:")
	proof.Notices(t, "TestSweep_AHistoryHasJustWhatCommitted", "lost append h:", "blind cas h:")
	proof.Notices(t, "TestSweep_AReaderMendsWhatACrashLeavesWithin45Seconds", "lost append line:")
	if proof.Long() { // These take a second or more each.
		proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryIndexIsTheFunctionOfTheRecords", "cut")
		proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "blind cas r:")
		proof.Notices(t, "TestSweep_ACutTripLeavesNothingThatIsShownOrInTheWay", "blind add r:")
		proof.Notices(t, "TestSweep_AnIntentThatHasBegunIsCarriedOutWhole", "lost append line:")
		proof.Notices(t, "TestSweep_ARecordThatComesAndGoesKeepsItsClaim", "blind cdel u:")
	}
}
