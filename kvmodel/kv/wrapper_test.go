package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestCount_AddsUpWhatOneContextAskedFor(t *testing.T) {
	s := kv.Count(newRig())
	metered, meter := kv.Metered(ctx)
	_ = s.Do(metered, []kv.Op{kv.OpSet("a", []byte("12345")), kv.OpSet("b", []byte("1")), kv.OpAdd("a", []byte("xx"))})
	_ = s.Do(metered, []kv.Op{kv.OpGet("a"), kv.OpGet("none")})
	_ = s.Do(ctx, []kv.Op{kv.OpGet("a")})
	_ = s.Do(metered, []kv.Op{kv.OpGet("b")})
	want := kv.Cost{Trips: 3, Depth: 3, Ops: 6, Keys: 5, Read: 6, Wrote: 8}
	proof.NoDiff(t, cmp.Diff(want, meter.Cost()), "cost")
	if want := "3 trips (3 deep), 6 ops, 5 keys, 6 B read, 8 B written"; meter.Cost().String() != want {
		t.Errorf("the cost reads %q, want %q", meter.Cost(), want)
	}
}

func TestCount_MetersAreApart(t *testing.T) {
	s := kv.Count(newRig())
	first, one := kv.Metered(ctx)
	second, other := kv.Metered(ctx)
	inner, innermost := kv.Metered(first)
	_, _ = kv.GetAll(first, s, "k")
	_, _ = kv.GetAll(second, s, "k", "l")
	_, _ = kv.GetAll(inner, s, "k", "l", "m")
	if one.Cost().Ops != 1 || other.Cost().Ops != 2 || innermost.Cost().Ops != 3 {
		t.Errorf("ops: %d, %d and %d, want 1, 2 and 3", one.Cost().Ops, other.Cost().Ops, innermost.Cost().Ops)
	}
}

// slowStore is a store with slow trips.
type slowStore struct {
	kv.Store
	took time.Duration
}

func (s slowStore) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(s.took)
	return s.Store.Do(ctx, ops)
}

func TestCount_DepthIsTheLongestChainOfTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kv.Count(slowStore{memkv.New(memkv.Options{}), time.Second})
		metered, meter := kv.Metered(ctx)
		for range 2 {
			var wg sync.WaitGroup
			for i := range 5 {
				wg.Go(func() { _, _ = kv.GetAll(metered, s, fmt.Sprint("k", i)) })
			}
			wg.Wait()
		}
		if got := meter.Cost(); got.Trips != 10 || got.Depth != 2 {
			t.Errorf("%d trips, %d deep, want 10 and 2", got.Trips, got.Depth)
		}
	})
}

func TestCount_CountsInsideAtomic(t *testing.T) {
	s := kv.Count(memkv.New(memkv.Options{}))
	metered, meter := kv.Metered(ctx)
	err := kv.PowersOf(s).Atomic(metered, func(s kv.Store) error {
		_, err := kv.One(metered, s, kv.OpSet("k", []byte("abc")))
		return err
	})
	if got := meter.Cost(); err != nil || got.Trips != 1 || got.Wrote != 3 {
		t.Errorf("counted %v (%v)", got, err)
	}
}

func TestCount_AndTrace_OfATransactionThatRunsTwiceShowTheLastRun(t *testing.T) {
	var shown []int
	s := kv.Trace(kvtest.Twice(memkv.New(memkv.Options{})), func(_ context.Context, trip kv.Trip) { shown = append(shown, len(trip.Ops)) })
	metered, meter := kv.Metered(ctx)
	err := kv.PowersOf(kv.Count(s)).Atomic(metered, func(s kv.Store) error {
		_, err := kv.One(metered, s, kv.OpSet("k", []byte("abc")))
		return err
	})
	if got := meter.Cost(); err != nil || got.Trips != 1 || got.Wrote != 3 || !slices.Equal(shown, []int{1}) {
		t.Errorf("counted %v, and traced %v ops (%v)", got, shown, err)
	}
}

func TestTrace_ShowsEachTripWithItsResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		r := newRig()
		r.fail = func(trip, op int) error {
			if trip == 2 {
				return errDown
			}
			return nil
		}
		type tag struct{}
		s := kv.Trace(slowStore{r, time.Second}, func(ctx context.Context, trip kv.Trip) {
			if !time.Now().Equal(trip.Start.Add(trip.Took)) {
				t.Errorf("a trip from %v that took %v ended at %v", trip.Start, trip.Took, time.Now())
			}
			line := fmt.Sprintf("%v %v %v", ctx.Value(tag{}), trip.Took, trip.Err)
			for _, op := range trip.Ops {
				line += fmt.Sprintf(" [%v %s: %v]", op.Kind, op.Key, op.Result.Err)
			}
			seen = append(seen, line)
		})
		tagged := context.WithValue(ctx, tag{}, "request 7")
		_ = s.Do(tagged, []kv.Op{kv.OpSet("a", nil), kv.OpGet("b")})
		proof.Ends(t, errDown)(kv.One(tagged, s, kv.OpGet("a")))
		want := []string{
			"request 7 1s <nil> [set a: <nil>] [get b: not found]",
			`request 7 1s get "a": backend: store unavailable: connection refused [get a: backend: store unavailable: connection refused]`,
		}
		proof.NoDiff(t, cmp.Diff(want, seen), "trips")
	})
}

func TestTrace_ShowsATransactionAsOneTripWithItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		s := kv.Trace(slowToCommit{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
			seen = append(seen, fmt.Sprintf("%v: %d ops, %v, %v", trip.For, len(trip.Ops), trip.Took, trip.Err))
		})
		atomic := kv.PowersOf(s).Atomic
		change := func(err error) func(s kv.Store) error {
			return func(s kv.Store) error {
				_, _ = kv.GetAll(ctx, s, "a", "b")
				_, _ = kv.One(ctx, s, kv.OpSet("a", nil))
				return err
			}
		}
		work := kv.Work{Model: "Page", Index: "BySlug", Verb: "Find"}
		_ = atomic(kv.For(ctx, work), change(nil))
		_ = atomic(ctx, change(kv.ErrExists))
		_ = atomic(kv.For(ctx, kv.Work{Verb: "journal"}), change(errDown))
		want := []string{"Page.BySlug.Find: 3 ops, 1s, <nil>", ": 3 ops, 1s, <nil>", fmt.Sprint("journal: 3 ops, 1s, ", errDown)}
		proof.NoDiff(t, cmp.Diff(want, seen), "trips")
	})
}

// slowToCommit is a store with transactions that take a second to commit.
type slowToCommit struct{ kv.Store }

func (s slowToCommit) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	atomic := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		defer time.Sleep(time.Second)
		return atomic(ctx, f)
	}
	return p
}

// tenant returns the store of a tenant in s.
func tenant(t *testing.T, s kv.Store, name string) kv.Store {
	t.Helper()
	p, err := kv.Prefix(s, name)
	must(t, err)
	return p
}

func TestPrefix_KeepsTenantsApart(t *testing.T) {
	r := newRig()
	names := []string{"a", "b", "a:b", "a%3Ab", "A", "é", "a b"}
	for _, name := range names {
		if _, err := kv.One(ctx, tenant(t, r, name), kv.OpAdd("b:k", []byte(name))); err != nil {
			t.Errorf("tenant %q: %v", name, err)
		}
	}
	proof.Ends(t, kv.ErrNotFound)(kv.One(ctx, tenant(t, r, "a"), kv.OpGet("k")))
	for _, name := range names {
		got, err := kv.One(ctx, tenant(t, r, name), kv.OpGet("b:k"))
		if err != nil || string(got.Value) != name {
			t.Errorf("tenant %q reads %q (%v)", name, got.Value, err)
		}
	}
	r.holds(t, "a:b:k", "a")
	r.holds(t, "a%20b:b:k", "a b")
}

func TestPrefix_PowersSayWhatKeysBeginWith(t *testing.T) {
	s := tenant(t, kv.Trace(tenant(t, newRig(), "a b"), func(context.Context, kv.Trip) {}), "c")
	if got := kv.PowersOf(s).Prefix; got != "a%20b:c:" {
		t.Errorf("got %q", got)
	}
}

func TestPrefix_RefusesTenantsThatAreEmptyOrLong(t *testing.T) {
	for name, want := range map[string]string{
		"":                      `tenant "": bad key: 1 to 40 bytes when escaped`,
		strings.Repeat("t", 41): `tenant "` + strings.Repeat("t", 41) + `": bad key: 1 to 40 bytes when escaped`,
		strings.Repeat("é", 7):  `tenant "ééééééé": bad key: 1 to 40 bytes when escaped`,
	} {
		if s, err := kv.Prefix(newRig(), name); s != nil || !errors.Is(err, kv.ErrBadKey) || err.Error() != want {
			t.Errorf("tenant %q: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"t", strings.Repeat("t", kv.MaxTenant)} {
		if _, err := kv.Prefix(newRig(), name); err != nil {
			t.Errorf("tenant %q: %v", name, err)
		}
	}
}

func TestPrefix_AnEmptyKeyStaysABadOne(t *testing.T) {
	proof.Ends(t, kv.ErrBadKey)(kv.One(ctx, tenant(t, newRig(), "t"), kv.OpSet("", nil)))
}

func TestPrefix_AWalkStaysWithinATenant(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	for _, name := range []string{"a", "b", "bb"} {
		for _, key := range []string{"k:1", "k:2", "k:3", "l:1"} {
			proof.Done(t)(kv.One(t.Context(), tenant(t, mem, name), kv.OpSet(key, nil)))
		}
	}
	for after, want := range map[string][]string{"": {"k:1", "k:2", "k:3"}, "k:1": {"k:2", "k:3"}, "k:3": nil, "l:1": nil} {
		var got []string
		err := kv.PowersOf(tenant(t, mem, "b")).Walk(t.Context(), "k:", after, func(keys []string) error {
			got = append(got, keys...)
			return nil
		})
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(want, got), "after %q", after)
	}
}

func TestPrefix_LeavesTheCallersKeysAsTheyWere(t *testing.T) {
	s := tenant(t, newRig(), "t")
	ops := []kv.Op{kv.OpSet("a", nil), kv.OpGet(""), kv.OpGet("t:b")}
	for range 2 {
		_ = s.Do(ctx, ops)
	}
	if got := []string{ops[0].Key, ops[1].Key, ops[2].Key}; !slices.Equal(got, []string{"a", "", "t:b"}) {
		t.Errorf("the keys have become %q", got)
	}
}

func TestPrefix_ErrorsNameTheTenantsOwnKey(t *testing.T) {
	_, err := kv.One(ctx, tenant(t, newRig(), "t"), kv.OpGet("k"))
	if err == nil || err.Error() != `get "k": not found` {
		t.Errorf("got %v", err)
	}
}

func TestPrefix_HoldsInsideAtomic(t *testing.T) {
	r := newRig()
	err := kv.PowersOf(tenant(t, r, "t")).Atomic(ctx, func(s kv.Store) error {
		_, err := kv.One(ctx, s, kv.OpSet("k", []byte("v")))
		return err
	})
	must(t, err)
	r.holds(t, "t:k", "v")
}

func TestRetry_RepeatsWhatWasNotCarriedOut(t *testing.T) {
	for _, op := range []kv.Op{kv.OpGet("k"), kv.OpSet("k", []byte("v")), kv.OpIncrement("n", 1)} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig()
			r.put("k", "v")
			r.put("n", "0")
			r.fail = func(trip, _ int) error {
				if trip < 3 {
					return errDown
				}
				return nil
			}
			if _, err := kv.One(ctx, kv.Retry(r, 3, time.Second), op); err != nil || len(r.trips) != 3 {
				t.Errorf("%v: %v after %d trips, want success after 3", op.Kind, err, len(r.trips))
			}
		})
	}
}

func TestRetry_DoesNotRepeatAnythingElse(t *testing.T) {
	for _, failure := range []error{errMute, kv.ErrLost, kv.ErrNotFound, kv.ErrConflict, kv.ErrNotStored} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig()
			r.fail = func(int, int) error { return failure }
			_, err := kv.One(ctx, kv.Retry(r, 5, time.Second), kv.OpAppend("k", nil))
			if !errors.Is(err, failure) || len(r.trips) != 1 {
				t.Errorf("%v: got %v after %d trips, want it after 1", failure, err, len(r.trips))
			}
		})
	}
}

func TestRetry_RepeatsOnlyTheOpsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.put("n", "0")
		r.fail = func(trip, op int) error {
			switch {
			case trip == 1 && op == 1:
				return errDown
			case trip == 1 && op == 2:
				return errMute
			}
			return nil
		}
		ops := []kv.Op{kv.OpIncrement("n", 1), kv.OpIncrement("n", 10), kv.OpIncrement("n", 100), kv.OpGet("")}
		err := kv.Retry(r, 5, time.Second).Do(ctx, ops)
		if !errors.Is(err, kv.ErrUnclear) || !strings.HasPrefix(err.Error(), `incr "n": `) {
			t.Errorf("got %v, want the op that is unclear", err)
		}
		if ops[0].Result.Number != 1 || ops[1].Result.Number != 11 || !errors.Is(ops[2].Result.Err, errMute) || !errors.Is(ops[3].Result.Err, kv.ErrBadKey) {
			t.Errorf("results: %+v", ops)
		}
		if len(r.trips) != 2 || len(r.trips[1]) != 1 || r.trips[1][0].Delta != 10 {
			t.Errorf("trips: %v", r.trips)
		}
		r.holds(t, "n", "11")
	})
}

func TestRetry_GivesUpAfterItsTriesWithDoublingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		var at []time.Time
		r.fail = func(int, int) error { at = append(at, time.Now()); return errDown }
		proof.Ends(t, errDown)(kv.One(ctx, kv.Retry(r, 4, time.Second), kv.OpGet("k")))
		if len(at) != 4 {
			t.Fatalf("%d tries, want 4", len(at))
		}
		for i := 1; i < 4; i++ {
			full := time.Second << (i - 1)
			if pause := at[i].Sub(at[i-1]); pause < full/2 || pause > full {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, full/2, full)
			}
		}
	})
}

func TestRetry_DoesNotWaitPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.fail = func(int, int) error { return errDown }
		limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := kv.One(limited, kv.Retry(r, 4, time.Second), kv.OpGet("k"))
		if took := time.Since(start); !errors.Is(err, errDown) || took > 0 || len(r.trips) != 1 {
			t.Errorf("%v after %v and %d trips, want the failure at once", err, took, len(r.trips))
		}
	})
}

func TestRetry_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.fail = func(int, int) error { return errDown }
		cancelled, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := kv.One(cancelled, kv.Retry(r, 4, time.Hour), kv.OpGet("k"))
		if took := time.Since(start); !errors.Is(err, errDown) || took != time.Second {
			t.Errorf("%v after %v, want the failure after 1s", err, took)
		}
	})
}

func TestRetry_DoesNotRepeatAtomic(t *testing.T) {
	s := kv.Retry(memkv.New(memkv.Options{}), 5, time.Millisecond)
	runs := 0
	err := kv.PowersOf(s).Atomic(ctx, func(kv.Store) error { runs++; return errDown })
	if err != errDown || runs != 1 {
		t.Errorf("%v after %d runs, want the failure after 1", err, runs)
	}
}

func TestPowersOf_AStoreThatSaysNothingHasNone(t *testing.T) {
	p := kv.PowersOf(slowStore{Store: memkv.New(memkv.Options{})})
	if p.Unless || p.Ordered || p.Atomic != nil {
		t.Errorf("got %+v", p)
	}
}

func TestWrappers_PassThePowersOn(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	quiet := slowStore{Store: mem}
	for name, wrap := range map[string]func(kv.Store) kv.Store{
		"Count":  kv.Count,
		"Trace":  func(s kv.Store) kv.Store { return kv.Trace(s, func(context.Context, kv.Trip) {}) },
		"Retry":  func(s kv.Store) kv.Store { return kv.Retry(s, 2, 0) },
		"Prefix": func(s kv.Store) kv.Store { return tenant(t, s, "t") },
	} {
		if p := kv.PowersOf(wrap(mem)); !p.Unless || !p.Ordered || p.Atomic == nil || p.Walk == nil {
			t.Errorf("%s of a store with all powers has %+v", name, p)
		}
		if p := kv.PowersOf(wrap(quiet)); p.Unless || p.Ordered || p.Atomic != nil || p.Walk != nil {
			t.Errorf("%s of a store without powers has %+v", name, p)
		}
	}
}

// knowing is a store whose memory answers all gets.
type knowing struct {
	kv.Store
	local bool
}

func (k knowing) Powers() kv.Powers { return kv.Powers{Near: true, Local: k.local} }

func (k knowing) Memory(context.Context) (kv.Memory, string) { return k, "" }

func (knowing) Recall([]kv.NearGet, []kv.Result) bool { return true }

func TestWrappers_LeaveMemoryInItsPlace(t *testing.T) {
	metered, _ := kv.Metered(ctx)
	for _, local := range []bool{false, true} {
		s := kv.Count(kv.Trace(knowing{memkv.New(memkv.Options{}), local}, func(context.Context, kv.Trip) {}))
		if m, _ := kv.MemoryOf(ctx, s); m == nil {
			t.Error("a hook for trips took the memory away, whose answers are no trips")
		}
		// The meter of a local store counts what would be trips elsewhere.
		if m, _ := kv.MemoryOf(metered, s); (m == nil) != local {
			t.Errorf("under a meter there is memory %v, on a local store %v", m, local)
		}
	}
}
