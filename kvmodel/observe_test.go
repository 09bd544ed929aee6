package kvmodel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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
	if err := get(t.Context(), db); !errors.Is(err, kvmodel.ErrUnavailable) {
		t.Errorf("without Retries: want an ErrUnavailable, got %v", err)
	}
}
