package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// task is the steps of a work.
type task []func(r *run, s kv.Store, name string)

// run is the run of a task on a store, with its results.
type run struct {
	ctx   context.Context
	store kv.Store // underneath
	saw   map[string]string
}

// newTask returns a random task, with nested works up to depth.
func newTask(rng *rand.Rand, depth int, pauses bool) (t task) {
	for range rng.IntN(5) {
		switch n := rng.IntN(10); {
		case n < 2 && depth > 0:
			t = append(t, together(rng, depth-1, pauses))
		case n < 3 && pauses:
			t = append(t, pause(time.Duration(1+rng.IntN(40))*time.Millisecond))
		case n < 4 && pauses && rng.IntN(4) == 0:
			t = append(t, pause(time.Duration(1+rng.IntN(20))*time.Second))
		case n < 5:
			t = append(t, atOnce)
		default:
			t = append(t, trip(rng))
		}
	}
	return t
}

func together(rng *rand.Rand, depth int, pauses bool) func(*run, kv.Store, string) {
	// A wrapper hides that its store belongs to a work, so a pause there is a sleep.
	wrapped := rng.IntN(4) == 0
	tasks := make([]task, 1+rng.IntN(5))
	for i := range tasks {
		tasks[i] = newTask(rng, depth, pauses && !wrapped)
	}
	return func(r *run, s kv.Store, name string) {
		if wrapped {
			s, _ = kv.Prefix(s, "in")
		}
		errs := kv.Each(r.ctx, s, tasks, func(s kv.Store, i int, t task) error {
			r.do(s, t, fmt.Sprint(name, ".", i))
			return fmt.Errorf("%s.%d", name, i)
		})
		r.saw[name+" errors"] += fmt.Sprint(errs)
	}
}

func pause(d time.Duration) func(*run, kv.Store, string) {
	return func(r *run, s kv.Store, name string) { r.saw[name+" paused"] += fmt.Sprint(kv.Pause(r.ctx, s, d)) }
}

// atOnce is a transaction.
func atOnce(r *run, _ kv.Store, name string) {
	err := kv.PowersOf(r.store).Atomic(r.ctx, func(s kv.Store) error {
		_, err := kv.One(r.ctx, s, kv.OpSet("own."+name, []byte(name)))
		return err
	})
	r.saw[name+" at once"] += fmt.Sprint(err)
}

// trip makes several requests: it writes its own keys, reads shared ones, and changes a counter and
// a log that others change, too.
func trip(rng *rand.Rand) func(*run, kv.Store, string) {
	var ops []kv.Op
	for range 1 + rng.IntN(rng.IntN(3)+1) {
		switch rng.IntN(5) {
		case 0:
			ops = append(ops, kv.OpIncrement("counter", int64(rng.IntN(3))))
		case 1:
			ops = append(ops, kv.OpAppend("log", bytes.Repeat([]byte("x"), rng.IntN(9000))))
		case 2:
			ops = append(ops, kv.OpSet("own", []byte("value")), kv.OpGet("own"))
		default:
			ops = append(ops, kv.OpGet(fmt.Sprint("shared", rng.IntN(4))))
		}
	}
	return func(r *run, s kv.Store, name string) {
		own := make([]kv.Op, len(ops))
		for i, op := range ops {
			if op.Key == "own" {
				op.Key += "." + name
			}
			own[i] = op
		}
		err := s.Do(r.ctx, own)
		for _, op := range own {
			result := op.Result
			result.Version, result.Number = 0, 0
			r.saw[name] += fmt.Sprintf("%s: %s %v; ", op.Key, result.Value, result.Err)
		}
		r.saw[name] += fmt.Sprint(err, "\n")
		clear(own)
	}
}

func (r *run) do(s kv.Store, t task, name string) {
	for _, act := range t {
		act(r, s, name)
	}
}

// whole is the result of a task.
type whole struct {
	Saw   map[string]string
	Cost  kv.Cost
	Items map[string]string
}

// carry runs the task what on a local or remote store.
func carry(t *testing.T, what task, local bool) whole {
	mem := memkv.New(memkv.Options{Local: local})
	set := []kv.Op{kv.OpSet("counter", []byte("0")), kv.OpSet("log", nil)}
	for i := range 3 {
		set = append(set, kv.OpSet(fmt.Sprint("shared", i), []byte(fmt.Sprint("value", i))))
	}
	must(t, mem.Do(t.Context(), set))
	ctx, meter := kv.Metered(t.Context())
	s := kv.Count(mem)
	r := &run{ctx: ctx, store: s, saw: make(map[string]string)}
	r.do(s, what, "all")
	w := whole{r.saw, meter.Cost(), make(map[string]string)}
	for _, key := range mem.Keys() {
		item, err := kv.One(t.Context(), mem, kv.OpGet(key))
		must(t, err)
		w.Items[key] = string(item.Value)
	}
	return w
}

// Sequential works get the same answers as works that share trips. The Meter counts the same, if
// none pauses.
func TestSweep_TogetherOnALocalStoreCountsTheTripsThatWouldBeShared(t *testing.T) {
	for seed := range proof.Rounds(t, 300, 20000) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			pauses := seed%2 == 0
			what := newTask(rng, 3, pauses)
			want, got := carry(t, what, false), carry(t, what, true)
			if pauses {
				want.Cost = got.Cost
			}
			proof.NoDiff(t, cmp.Diff(want, got), "seed %d: shared trips and a local store differ", seed)
		})
		if t.Failed() {
			return
		}
	}
}

func TestTogether_OnALocalStoreWorksRunInOrderAndAtOnce(t *testing.T) {
	ctx := t.Context()
	s := &proof.KeyLog{Store: memkv.New(memkv.Options{})}
	var order []string
	work := func(name string) func(kv.Store) error {
		return func(s kv.Store) error {
			order = append(order, name)
			return gets(ctx, name+"1", name+"2")(s)
		}
	}
	must(t, errors.Join(kv.Together(ctx, local{s}, work("a"), work("b"), work("c"))...))
	proof.Equal(t, strings.Join(order, ""), "abc", "the works ran in the order")
	want := [][]string{{"a1"}, {"a2"}, {"b1"}, {"b2"}, {"c1"}, {"c2"}}
	proof.NoDiff(t, cmp.Diff(want, s.Trips), "trips")
}

func TestTogether_OnALocalStorePausesPassAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := memkv.New(memkv.Options{Local: true})
		began := time.Now()
		ended := make(map[string]time.Duration)
		pauses := func(name string, d time.Duration) func(kv.Store) error {
			return func(s kv.Store) error {
				for range 3 {
					if err := gets(ctx, "a")(s); err != nil {
						return err
					}
					if !kv.Pause(ctx, s, d) {
						t.Errorf("the pause of %v was cut short", d)
					}
				}
				ended[name] = time.Since(began)
				return nil
			}
		}
		nested := func(s kv.Store) error {
			return errors.Join(kv.Together(ctx, s, pauses("within", 20*time.Millisecond), pauses("within for long", 4*time.Second))...)
		}
		works := []func(kv.Store) error{
			pauses("first", 20*time.Millisecond), pauses("second", 20*time.Millisecond),
			pauses("for long", 10*time.Second), nested, pauses("last", 20*time.Millisecond),
		}
		must(t, errors.Join(kv.Together(ctx, s, works...)...))
		want := map[string]time.Duration{
			"first": 60 * time.Millisecond, "second": 60 * time.Millisecond, "last": 60 * time.Millisecond,
			"for long": 30 * time.Second, "within": 60 * time.Millisecond, "within for long": 12 * time.Second,
		}
		proof.NoDiff(t, cmp.Diff(want, ended), "when the works ended")
	})
}

type local struct{ kv.Store }

func (local) Powers() kv.Powers { return kv.Powers{Local: true} }

func TestTogether_OnALocalStoreMakesNoCoroutines(t *testing.T) {
	ctx := t.Context()
	s := memkv.New(memkv.Options{Local: true})
	works := make([]func(kv.Store) error, 20)
	for i := range works {
		works[i] = func(s kv.Store) error { return s.Do(ctx, nil) }
	}
	if n := testing.AllocsPerRun(100, func() { kv.Together(ctx, s, works...) }); n > 5 {
		t.Errorf("20 works that ask for nothing took %v allocations, want at most 5", n)
	}
}

func TestTogether_OnALocalStoreAWorkThatPanicsIsCounted(t *testing.T) {
	ctx, meter := kv.Metered(t.Context())
	s := kv.Count(memkv.New(memkv.Options{Local: true}))
	defer func() {
		proof.Equal(t, recover(), "own", "panic of the work")
		if cost := meter.Cost(); cost.Trips != 2 || cost.Ops != 3 {
			t.Errorf("counted %v, want 2 trips of 3 ops", cost)
		}
	}()
	kv.Together(ctx, s,
		gets(ctx, "a", "b"),
		func(s kv.Store) error {
			_ = gets(ctx, "c")(s)
			panic("own")
		},
		gets(ctx, "never"),
	)
}

// Each reader of a key gets its own value.
func TestTogether_OnALocalStoreNoValueIsShared(t *testing.T) {
	ctx := t.Context()
	s := memkv.New(memkv.Options{Local: true})
	proof.Done(t)(kv.One(ctx, s, kv.OpSet("a", []byte("value"))))
	var second string
	errs := kv.Together(ctx, s,
		func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("a"))
			clear(r.Value)
			return err
		},
		func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("a"))
			second = string(r.Value)
			return err
		},
	)
	if err := errors.Join(errs...); err != nil || second != "value" {
		t.Errorf("the second work has read %q, %v", second, err)
	}
}

// Requests that a work has started and not awaited are counted when they arrive.
func TestApart_WhatOutlivesItsWorkIsCounted(t *testing.T) {
	ctx, meter := kv.Metered(t.Context())
	s := kv.Count(memkv.New(memkv.Options{Local: true}))
	next, end := kv.Apart(ctx)
	first, second := next(), next()
	_ = gets(first, "a")(s)
	_ = gets(second, "b")(s)
	end()
	if cost := meter.Cost(); cost.Trips != 1 || cost.Ops != 2 {
		t.Errorf("the works cost %v, want a trip of 2 ops", cost)
	}
	_ = gets(first, "c")(s)
	_ = kv.Together(second, s, gets(second, "d"), gets(second, "e"))
	if cost := meter.Cost(); cost.Trips != 3 || cost.Depth != 3 || cost.Ops != 5 {
		t.Errorf("with what came later it is %v, want 3 trips, 3 deep, of 5 ops", cost)
	}
}
