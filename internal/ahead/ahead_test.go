package ahead_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// look reads first in one trip and each of then in another, and returns the cost and the values of
// then.
func look(t *testing.T, m *ahead.Memory, s kv.Store, l ahead.Look, first string, then ...[]string) (kv.Cost, []string) {
	t.Helper()
	ctx, meter := kv.Metered(context.Background())
	one := m.Store(ctx, kv.Count(s), func() ahead.Look { return l })
	if _, err := kv.GetAll(ctx, one, first); err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, keys := range then {
		results, err := kv.GetAll(ctx, ahead.Then(one), keys...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil && !errors.Is(r.Err, kv.ErrNotFound) {
				t.Errorf("%s: %v", keys[i], r.Err)
			}
			values = append(values, string(r.Value))
		}
	}
	one.Remember()
	return meter.Cost(), values
}

func filled(t *testing.T, keys ...string) *memkv.Store {
	t.Helper()
	s := memkv.New(memkv.Options{})
	for _, key := range keys {
		set(t, s, key, key)
	}
	return s
}

func set(t *testing.T, s kv.Store, key, value string) {
	t.Helper()
	if _, err := kv.One(context.Background(), s, kv.OpSet(key, []byte(value))); err != nil {
		t.Fatal(err)
	}
}

func wantLook(t *testing.T, what string, trips, ops int, values string) func(kv.Cost, []string) {
	return func(c kv.Cost, got []string) {
		t.Helper()
		if c.Trips != trips || c.Ops != ops || fmt.Sprint(got) != values {
			t.Errorf("%s: %v and %v, want %d trips with %d ops and %s", what, c, got, trips, ops, values)
		}
	}
}

func TestStore_ALookThatIsAsTheLastOneTakesOneTrip(t *testing.T) {
	var m ahead.Memory
	s, l := filled(t, "a", "b", "c", "d", "e"), ahead.Look{Listing: "Page.Newest", N: 2}
	wantLook(t, "the first", 3, 4, "[b c d]")(look(t, &m, s, l, "a", []string{"b", "c"}, []string{"d"}))
	wantLook(t, "the same", 1, 4, "[b c d]")(look(t, &m, s, l, "a", []string{"b", "c"}, []string{"d"}))
	set(t, s, "c", "new")
	wantLook(t, "the same after a change", 1, 4, "[b new d]")(look(t, &m, s, l, "a", []string{"b", "c"}, []string{"d"}))
	wantLook(t, "one with something new", 2, 5, "[e b c]")(look(t, &m, filled(t, "a", "b", "c", "d", "e"), l, "a", []string{"e", "b", "c"}))
	wantLook(t, "and again", 1, 4, "[e b c]")(look(t, &m, filled(t, "a", "b", "c", "d", "e"), l, "a", []string{"e", "b", "c"}))
	wantLook(t, "one of another number", 2, 2, "[b]")(look(t, &m, s, ahead.Look{Listing: "Page.Newest", N: 1}, "a", []string{"b"}))
}

func TestStore_WhatLeadsToAPageIsNeverAnsweredByWhatWasReadAhead(t *testing.T) {
	var m ahead.Memory
	s, l := filled(t, "a", "b"), ahead.Look{Listing: "Page.Newest", N: 2}
	look(t, &m, s, l, "a", []string{"b"})
	one := m.Store(t.Context(), s, func() ahead.Look { return l })
	for _, key := range []string{"a", "b"} {
		set(t, s, key, "at "+key)
		if r, err := kv.One(context.Background(), one, kv.OpGet(key)); err != nil || string(r.Value) != "at "+key {
			t.Errorf("%s is %q, %v", key, r.Value, err)
		}
	}
}

func TestStore_AnAnswerIsGivenOnce(t *testing.T) {
	var m ahead.Memory
	s, l := filled(t, "a", "b"), ahead.Look{Listing: "Page.Newest", N: 2}
	look(t, &m, s, l, "a", []string{"b"})
	wantLook(t, "a key that is read twice", 2, 3, "[b b]")(look(t, &m, s, l, "a", []string{"b"}, []string{"b"}))
}

func TestStore_WritesAreNotAnsweredByWhatWasRead(t *testing.T) {
	var m ahead.Memory
	s, l := filled(t, "a", "b"), ahead.Look{Listing: "Page.Newest", N: 2}
	look(t, &m, s, l, "a", []string{"b"})
	one := m.Store(t.Context(), s, func() ahead.Look { return l })
	ctx := context.Background()
	if _, err := kv.One(ctx, one, kv.OpGet("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.One(ctx, ahead.Then(one), kv.OpAdd("b", nil)); !errors.Is(err, kv.ErrExists) {
		t.Errorf("an add of what is there: %v", err)
	}
}

func TestStore_WhatCouldNotBeReadAheadIsAskedForAgain(t *testing.T) {
	var m ahead.Memory
	s, l := filled(t, "a", "b"), ahead.Look{Listing: "Page.Newest", N: 2}
	look(t, &m, s, l, "a", []string{"b"})
	wantLook(t, "where the second op fails", 2, 3, "[b]")(look(t, &m, kvtest.Faulty(s, 2, kvtest.Unsent), l, "a", []string{"b"}))
}

func TestMemory_ForgetsWhatWasLookedAtLongAgo(t *testing.T) {
	var m ahead.Memory
	s := filled(t)
	of := func(i int) ahead.Look { return ahead.Look{Listing: fmt.Sprint("Page.ByOwner ", i), N: 1} }
	isHot := func(i int) bool {
		ctx, meter := kv.Metered(context.Background())
		one := m.Store(ctx, kv.Count(s), func() ahead.Look { return of(i) })
		_, _ = kv.One(ctx, one, kv.OpGet("a"))
		_, _ = kv.GetAll(ctx, ahead.Then(one), "b")
		return meter.Cost().Trips == 1
	}
	const hot, n = -1, 40_000
	look(t, &m, s, of(hot), "a", []string{"b"})
	for i := range n {
		look(t, &m, s, of(i), "a", []string{"b", "c", "d"})
		if !isHot(hot) {
			t.Fatalf("what is looked at all the time is forgotten after %d others", i)
		}
	}
	known := 0
	for i := range n {
		if isHot(i) {
			known++
		}
	}
	if !isHot(n-1) || known > n/2 {
		t.Errorf("%d of %d looks are remembered", known, n)
	}
}
