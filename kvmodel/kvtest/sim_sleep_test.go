package kvtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

func TestSimulate_AFullStoreStillDeletes(t *testing.T) {
	world := kvtest.World{Powers: kvtest.AllPowers, Fault: func(kvtest.Moment) kvtest.Fault { return kvtest.Full }}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		for _, key := range []string{"a", "b", "c"} {
			preset(sim, key, "1")
		}
		sim.Do("ann", func(s kv.Store) {
			r, err := kv.One(ctx, s, kv.OpGet("a"))
			if err != nil {
				t.Error(err)
			}
			for _, op := range []kv.Op{kv.OpDrop("a", r.Version), kv.OpDelete("b")} {
				if _, err := kv.One(ctx, s, op); err != nil {
					t.Errorf("%v: %v", op.Kind, err)
				}
			}
			for _, op := range []kv.Op{kv.OpAdd("d", nil), kv.OpAppend("c", []byte("2")), kv.OpIncrement("c", 1), kv.OpSwap("c", r.Version, nil)} {
				if _, err := kv.One(ctx, s, op); !errors.Is(err, kv.ErrUnavailable) {
					t.Errorf("%v: %v, want ErrUnavailable", op.Kind, err)
				}
			}
			err = kv.PowersOf(s).Atomic(ctx, func(s kv.Store) error {
				_, err := kv.One(ctx, s, kv.OpGet("c"))
				return err
			})
			if err != nil {
				t.Error("Atomic that stores nothing:", err)
			}
		})
		if diff := cmp.Diff([]string{"c"}, sim.Store().Keys()); diff != "" {
			t.Errorf("keys mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestSim_Sleep_AProcessGoesOnWhereItWas(t *testing.T) {
	var sim *kvtest.Sim
	world := kvtest.World{Fault: func(m kvtest.Moment) kvtest.Fault {
		if m.Client == "ann" && m.Nth == 1 {
			sim.Sleep("ann", 3*time.Minute)
		}
		return kvtest.None
	}}
	for seed := range uint64(50) {
		kvtest.Simulate(t, seed, world, func(s *kvtest.Sim) {
			sim = s
			began := time.Now()
			var first, second, other time.Duration
			sim.Go("ann", func(s kv.Store) {
				_ = s.Do(ctx, []kv.Op{kv.OpSet("a", []byte("1"))})
				first = time.Since(began)
				_ = s.Do(ctx, []kv.Op{kv.OpSet("a", []byte("2"))})
				second = time.Since(began)
			})
			sim.Go("bob", func(s kv.Store) {
				time.Sleep(time.Second)
				_ = s.Do(ctx, []kv.Op{kv.OpSet("b", nil)})
				other = time.Since(began)
			})
			sim.Run(time.Minute)
			if got := stored(sim, "a"); got != "1" {
				t.Errorf("seed %d: while ann sleeps, a is %q, want 1", seed, got)
			}
			sim.Wait()
			if got := stored(sim, "a"); got != "2" || first < 3*time.Minute || second < first || other > time.Minute {
				t.Errorf("seed %d: a is %q; ann had answers after %v and %v, bob after %v", seed, got, first, second, other)
			}
		})
	}
}

func TestSim_Sleep_WhatIsUnderWayIsCarriedOutBeforeOrAfter(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		kvtest.Simulate(t, seed, kvtest.World{}, func(sim *kvtest.Sim) {
			preset(sim, "k", "old")
			sim.Go("ann", func(s kv.Store) { _ = s.Do(ctx, []kv.Op{kv.OpSet("k", []byte("new"))}) })
			sim.Steps(0)
			sim.Sleep("ann", time.Hour)
			sim.Run(time.Minute)
			seen[stored(sim, "k")] = true
			sim.Wait()
			if got := stored(sim, "k"); got != "new" {
				t.Errorf("seed %d: awake, k is %q", seed, got)
			}
		})
	}
	if diff := cmp.Diff(map[string]bool{"old": true, "new": true}, seen); diff != "" {
		t.Errorf("values during the sleep mismatch (-want +got):\n%s", diff)
	}
}

func TestSim_Sleep_DeadlinesPass(t *testing.T) {
	var sim *kvtest.Sim
	world := kvtest.World{Fault: func(m kvtest.Moment) kvtest.Fault {
		if m.Nth == 1 {
			sim.Sleep("ann", time.Minute)
		}
		return kvtest.None
	}}
	kvtest.Simulate(t, 1, world, func(s *kvtest.Sim) {
		sim = s
		sim.Do("ann", func(s kv.Store) {
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, first := kv.One(limited, s, kv.OpSet("a", nil))
			_, second := kv.One(limited, s, kv.OpSet("b", nil))
			if first != nil || !errors.Is(second, kv.ErrUnavailable) || !errors.Is(second, context.DeadlineExceeded) {
				t.Errorf("the first call ended in %v, the second in %v", first, second)
			}
		})
	})
}

func TestClock_IsRightUntilItIsSet(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{}, func(*kvtest.Sim) {
		var c kvtest.Clock
		now := time.Now()
		for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 0} {
			c.Set(ahead)
			if got := c.Now(); !got.Equal(now.Add(ahead)) {
				t.Errorf("ahead by %v, the clock shows %v at %v", ahead, got, now)
			}
		}
	})
}
