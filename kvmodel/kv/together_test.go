package kv_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var gets = proof.Gets

func TestTogether_CostsTheTripsOfTheLongestWork(t *testing.T) {
	ctx := context.Background()
	s := &proof.KeyLog{Store: memkv.New(memkv.Options{})}
	nested := func(s kv.Store) error {
		return errors.Join(kv.Together(ctx, s, gets(ctx, "c1"), gets(ctx, "d1", "d2", "d3"))...)
	}
	errs := kv.Together(ctx, s, gets(ctx, "a1", "a2"), gets(ctx, "b1"), nested)
	must(t, errors.Join(errs...))
	want := [][]string{{"a1", "b1", "c1", "d1"}, {"a2", "d2"}, {"d3"}}
	proof.NoDiff(t, cmp.Diff(want, s.Trips), "trips")
}

func TestTogether_WorksUpToTheFirstThatAsksRunInTheGoroutineOfTheCaller(t *testing.T) {
	ctx := context.Background()
	s := memkv.New(memkv.Options{})
	var order []int
	for asks := range 4 {
		order = nil
		before := runtime.NumGoroutine()
		errs := kv.Each(ctx, s, make([]int, 4), func(s kv.Store, i, _ int) error {
			order = append(order, i)
			if made := runtime.NumGoroutine() - before; i <= asks && made > 0 {
				t.Errorf("%d goroutines were made before work %d of those up to %d", made, i, asks)
			}
			if i == asks {
				return gets(ctx, "a")(s)
			}
			return nil
		})
		must(t, errors.Join(errs...))
		proof.NoDiff(t, cmp.Diff([]int{0, 1, 2, 3}, order), "the order of the works")
	}
}

func TestTogether_GivesEachWorkItsOwnResultsAndErrors(t *testing.T) {
	ctx := context.Background()
	s := memkv.New(memkv.Options{})
	proof.Done(t)(kv.One(ctx, s, kv.OpSet("there", []byte("v"))))
	var value string
	errs := kv.Together(ctx, s,
		func(s kv.Store) error {
			_, err := kv.One(ctx, s, kv.OpAdd("there", nil))
			return err
		},
		func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("there"))
			value = string(r.Value)
			return err
		},
		func(kv.Store) error { return errOwn },
	)
	if !errors.Is(errs[0], kv.ErrExists) || errs[1] != nil || errs[2] != errOwn {
		t.Errorf("errors %v, want exists, none and its own", errs)
	}
	proof.Equal(t, value, "v", "the second work read")
}

var errOwn = errors.New("own")

func TestTogether_AWorkThatPanicsDoesNotLeaveTheOthersRunning(t *testing.T) {
	ctx := context.Background()
	ended := false
	defer func() {
		if recover() == nil || !ended {
			t.Error("want the panic, and the other work ended")
		}
	}()
	kv.Together(ctx, memkv.New(memkv.Options{}),
		func(s kv.Store) error {
			_, _ = kv.One(ctx, s, kv.OpGet("a"))
			panic("own")
		},
		func(s kv.Store) error {
			defer func() { ended = true }()
			return gets(ctx, "a", "b", "c")(s)
		},
	)
}

func TestTogether_AKeyThatSeveralReadIsReadOnce(t *testing.T) {
	ctx, meter := kv.Metered(context.Background())
	s := kv.Count(memkv.New(memkv.Options{}))
	proof.Done(t)(kv.One(ctx, s, kv.OpSet("a", []byte("v"))))
	before := meter.Cost().Ops
	values := make([][]byte, 5)
	works := make([]func(kv.Store) error, len(values))
	for i := range values {
		works[i] = func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("a"))
			values[i] = r.Value
			return err
		}
	}
	must(t, errors.Join(kv.Together(ctx, s, works...)...))
	proof.Equal(t, meter.Cost().Ops-before, 1, "ops")
	for i, v := range values {
		if string(v) != "v" {
			t.Errorf("value %d is %q", i, v)
		}
	}
}

func TestTogether_WhatSeveralAddToAKeyIsAddedAsOne(t *testing.T) {
	ctx, meter := kv.Metered(context.Background())
	s := kv.Count(memkv.New(memkv.Options{}))
	must(t, s.Do(ctx, []kv.Op{kv.OpSet("n", []byte("10")), kv.OpSet("log", []byte("0"))}))
	before := meter.Cost()
	numbers := make([]int64, 40)
	errs := kv.Each(ctx, s, numbers, func(s kv.Store, i int, _ int64) error {
		// Works have nested works.
		return errors.Join(kv.Together(ctx, s,
			func(s kv.Store) error {
				r, err := kv.One(ctx, s, kv.OpIncrement("n", int64(1+i%2)))
				numbers[i] = r.Number
				return err
			},
			func(s kv.Store) error {
				_, err := kv.One(ctx, s, kv.OpAppend("log", []byte{'a' + byte(i%26)}))
				return err
			},
			func(s kv.Store) error {
				_, err := kv.One(ctx, s, kv.OpAppend("none", []byte("x")))
				if !errors.Is(err, kv.ErrNotStored) {
					return fmt.Errorf("an append to nothing ended in %w", err)
				}
				return nil
			},
		)...)
	})
	must(t, errors.Join(errs...))
	if cost := meter.Cost(); cost.Trips-before.Trips != 1 || cost.Ops-before.Ops != 3 {
		t.Errorf("it cost %v after %v, want 1 trip of 3 ops", cost, before)
	}
	want, log := int64(10), "0"
	for i, n := range numbers {
		if want += int64(1 + i%2); n != want {
			t.Errorf("increment %d is answered %d, want %d", i, n, want)
		}
		log += string(rune('a' + i%26))
	}
	results, err := kv.GetAll(ctx, s, "n", "log")
	if err != nil || string(results[0].Value) != fmt.Sprint(want) || string(results[1].Value) != log {
		t.Errorf("the store has %s and %q, %v; want %d and %q", results[0].Value, results[1].Value, err, want, log)
	}
}

func TestTogether_NothingIsAddedBehindASeal(t *testing.T) {
	ctx, meter := kv.Metered(context.Background())
	s := kv.Count(memkv.New(memkv.Options{}))
	proof.Done(t)(kv.One(ctx, s, kv.OpSet("log", []byte("0"))))
	before := meter.Cost().Ops
	errs := kv.Each(ctx, s, []string{"a", "b", "|", "c", "d"}, func(s kv.Store, _ int, text string) error {
		op := kv.OpAppend("log", []byte(text))
		op.Unless = []byte("|")
		_, err := kv.One(ctx, s, op)
		return err
	})
	for i, err := range errs {
		if refused := errors.Is(err, kv.ErrSealed); refused != (i > 2) {
			t.Errorf("append %d ended in %v", i, err)
		}
	}
	proof.Equal(t, meter.Cost().Ops-before, 2, "it")
	if r, err := kv.One(ctx, s, kv.OpGet("log")); string(r.Value) != "0ab|" {
		t.Errorf("the log is %q, %v", r.Value, err)
	}
}

func TestTogether_WhatOneWorkAsksForAtOnceStaysInOrder(t *testing.T) {
	ctx := context.Background()
	s := memkv.New(memkv.Options{})
	add := func(s kv.Store) error { _, err := kv.One(ctx, s, kv.OpAppend("log", []byte("a"))); return err }
	errs := kv.Together(ctx, s,
		func(s kv.Store) error {
			return s.Do(ctx, []kv.Op{kv.OpSet("log", []byte("0")), kv.OpAppend("log", []byte("b"))})
		},
		add,
		func(s kv.Store) error {
			return s.Do(ctx, []kv.Op{kv.OpDelete("log"), kv.OpAdd("log", []byte("1")), kv.OpAppend("log", []byte("c"))})
		},
		add, add,
	)
	must(t, errors.Join(errs...))
	if r, err := kv.One(ctx, s, kv.OpGet("log")); string(r.Value) != "1caa" {
		t.Errorf("the log is %q, %v", r.Value, err)
	}
}

func TestTogether_AnAppendOfTheCallerIsNotWrittenInto(t *testing.T) {
	ctx := context.Background()
	s := memkv.New(memkv.Options{})
	own := []byte("abcd")
	add := func(value []byte) func(kv.Store) error {
		return func(s kv.Store) error { _, _ = kv.One(ctx, s, kv.OpAppend("log", value)); return nil }
	}
	kv.Together(ctx, s, add(own[:2]), add([]byte("xy")))
	if string(own) != "abcd" {
		t.Errorf("the caller's bytes have become %q", own)
	}
}

func TestTogether_WorksThatPauseDoSoAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := &proof.KeyLog{Store: memkv.New(memkv.Options{})}
		paused := func(d time.Duration) func(kv.Store) error {
			return func(s kv.Store) error {
				for _, key := range []string{"a", "b"} {
					if !kv.Pause(ctx, s, d) {
						t.Errorf("the pause of %v was cut short", d)
					}
					if err := gets(ctx, key)(s); err != nil {
						return err
					}
				}
				return nil
			}
		}
		nested := func(s kv.Store) error {
			return errors.Join(kv.Together(ctx, s, paused(20*time.Millisecond), paused(40*time.Millisecond))...)
		}
		began := time.Now()
		must(t, errors.Join(kv.Together(ctx, s, paused(20*time.Millisecond), nested, gets(ctx, "c"))...))
		proof.Equal(t, time.Since(began), 80*time.Millisecond, "two rounds of pauses of up to 40ms")
		want := [][]string{{"c"}, {"a"}, {"b"}}
		proof.NoDiff(t, cmp.Diff(want, s.Trips), "trips")
	})
}

func TestTogether_AWorkThatPausesForLongHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := &proof.KeyLog{Store: memkv.New(memkv.Options{})}
		began := time.Now()
		ended := make(map[string]time.Duration)
		pauses := func(name string, d time.Duration) func(kv.Store) error {
			return func(s kv.Store) error {
				for range 2 {
					if !kv.Pause(ctx, s, d) {
						t.Errorf("the pause of %v was cut short", d)
					}
				}
				err := gets(ctx, name)(s)
				ended[name] = time.Since(began)
				return err
			}
		}
		steps := func(s kv.Store) error {
			err := errors.Join(gets(ctx, "a")(s), gets(ctx, "b")(s), gets(ctx, "c")(s))
			ended["steps"] = time.Since(began)
			return err
		}
		nested := func(s kv.Store) error {
			return errors.Join(kv.Together(ctx, s, pauses("nested", 4*time.Second), steps)...)
		}
		must(t, errors.Join(kv.Together(ctx, s, pauses("first", 10*time.Second), pauses("second", 15*time.Second), nested, pauses("last", 10*time.Second))...))
		want := map[string]time.Duration{"steps": 0, "nested": 8 * time.Second, "first": 20 * time.Second, "last": 20 * time.Second, "second": 30 * time.Second}
		proof.NoDiff(t, cmp.Diff(want, ended), "when the works ended")
		trips := [][]string{{"a"}, {"b"}, {"c"}, {"nested"}, {"first", "last"}, {"second"}}
		proof.NoDiff(t, cmp.Diff(trips, s.Trips), "trips")
	})
}

func TestTogether_APauseThatPassesTheDeadlineIsCutShort(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	rests := func(s kv.Store) error {
		if kv.Pause(ctx, s, time.Minute) {
			t.Error("a pause of a minute ended within a second")
		}
		return nil
	}
	kv.Together(ctx, memkv.New(memkv.Options{}), rests, rests)
}

var must = proof.Must
