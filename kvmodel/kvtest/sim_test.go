package kvtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

// busy does a bit of everything: many ops in a trip, several goroutines, a ticker, a deadline,
// retries with jitter, random names.
func busy(s kv.Store) {
	s = kv.Retry(s, 3, time.Second)
	name := rand.Text()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for range 3 {
			<-tick.C
			_, _ = kv.One(ctx, s, kv.OpSet("tick:"+name, []byte(time.Now().String())))
		}
	})
	wg.Go(func() {
		for range 5 {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			_, _ = kv.Next(limited, s, "n", 1, 1)
			cancel()
		}
	})
	for i := range 5 {
		_ = s.Do(ctx, []kv.Op{
			kv.OpAdd("a:"+name, []byte("v")), kv.OpAppend("log", fmt.Append(nil, i)), kv.OpGet("n"), kv.OpAdd("log", nil),
		})
	}
}

func traceOf(t *testing.T, seed uint64, p kvtest.Powers) []string {
	world := kvtest.Hostile(p)
	world.Evict, world.SetBack = 0.01, 0.01
	world.Counters = func(key string) bool { return key == "n" }
	var trace []string
	var sim *kvtest.Sim
	world.Fault = func(m kvtest.Moment) kvtest.Fault {
		if m.Nth == 7 {
			sim.Sleep(m.Client, time.Minute)
		}
		return kvtest.ByRate
	}
	kvtest.Simulate(t, seed, world, func(s *kvtest.Sim) {
		sim = s
		for _, name := range []string{"ann", "bob", "cat"} {
			sim.Go(name, busy)
		}
		sim.Wait()
		trace = sim.Trace()
	})
	return trace
}

func TestSimulate_SameSeedIsTheSameRun(t *testing.T) {
	for seed := range uint64(200) {
		p := []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers}[seed%2]
		first, again := traceOf(t, seed, p), traceOf(t, seed, p)
		proof.NoDiff(t, cmp.Diff(first, again), "two runs of seed %d differ", seed)
		if len(first) < 20 {
			t.Fatalf("seed %d: only %d events", seed, len(first))
		}
	}
}

func TestSimulate_OtherSeedsAreOtherRuns(t *testing.T) {
	seen := make(map[string]bool)
	for seed := range uint64(50) {
		seen[strings.Join(traceOf(t, seed, kvtest.NoPowers), "\n")] = true
	}
	proof.Equal(t, len(seen), 50, "50 seeds")
}

// addOne loses updates of others if write does not compare.
func addOne(s kv.Store, write func(r kv.Result, value []byte) kv.Op) {
	for {
		r, _ := kv.One(ctx, s, kv.OpGet("n"))
		n, _ := kv.ParseNumber(r.Value)
		if _, err := kv.One(ctx, s, write(r, fmt.Append(nil, n+1))); err == nil {
			return
		}
	}
}

func bySet(_ kv.Result, value []byte) kv.Op { return kv.OpSet("n", value) }

func bySwap(r kv.Result, value []byte) kv.Op { return kv.OpSwap("n", r.Version, value) }

// sums returns how many of the seeds ended with each sum of three clients that add one each.
func sums(t *testing.T, seeds int, write func(kv.Result, []byte) kv.Op) map[string]int {
	found := make(map[string]int)
	for seed := range uint64(seeds) {
		kvtest.Simulate(t, seed, kvtest.World{}, func(sim *kvtest.Sim) {
			preset(sim, "n", "0")
			for _, name := range []string{"ann", "bob", "cat"} {
				sim.Go(name, func(s kv.Store) { addOne(s, write) })
			}
			sim.Wait()
			found[stored(sim, "n")]++
		})
	}
	return found
}

func preset(sim *kvtest.Sim, key, value string) {
	_, _ = kv.One(ctx, sim.Store(), kv.OpSet(key, []byte(value)))
}

func stored(sim *kvtest.Sim, key string) string {
	r, err := kv.One(ctx, sim.Store(), kv.OpGet(key))
	if err != nil {
		return r.Err.Error()
	}
	return string(r.Value)
}

func TestSimulate_FindsALostUpdate(t *testing.T) {
	found := sums(t, 100, bySet)
	for _, sum := range []string{"1", "2", "3"} {
		if found[sum] == 0 {
			t.Errorf("no seed led to the sum %s: %v", sum, found)
		}
	}
}

func TestSimulate_FindsNoFaultInASwapLoop(t *testing.T) {
	proof.NoDiff(t, cmp.Diff(map[string]int{"3": 100}, sums(t, 100, bySwap)), "sums")
}

func orders(t *testing.T, world kvtest.World) []string {
	seen := make(map[string]bool)
	for seed := range uint64(100) {
		kvtest.Simulate(t, seed, world, func(sim *kvtest.Sim) {
			preset(sim, "k", "")
			sim.Do("ann", func(s kv.Store) {
				_ = s.Do(ctx, []kv.Op{
					kv.OpAppend("k", []byte("1")), kv.OpAppend("k", []byte("2")), kv.OpAppend("k", []byte("3")),
				})
			})
			seen[stored(sim, "k")] = true
		})
	}
	var list []string
	for order := range seen {
		list = append(list, order)
	}
	slices.Sort(list)
	return list
}

var anyOrder = []string{"123", "132", "213", "231", "312", "321"}

func TestSimulate_OnlyAnOrderedTripKeepsItsOrder(t *testing.T) {
	// A broken store need not keep the order that is promised.
	broken := kvtest.World{Powers: kvtest.ServerPowers, Broken: func(s kv.Store) kv.Store { return struct{ kv.Store }{s} }}
	for name, test := range map[string]struct {
		world kvtest.World
		want  []string
	}{
		"no powers": {kvtest.World{}, anyOrder},
		"ordered":   {kvtest.World{Powers: kvtest.ServerPowers}, []string{"123"}},
		"broken":    {broken, anyOrder},
	} {
		proof.NoDiff(t, cmp.Diff(test.want, orders(t, test.world)), "%s: orders", name)
	}
}

func TestSimulate_ClientsShareABrokenStore(t *testing.T) {
	world := kvtest.World{Broken: func(s kv.Store) kv.Store { return overwriting{s.(*memkv.Store)} }}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		preset(sim, "k", "old")
		proof.Ends(t, kv.ErrExists)(kv.One(ctx, sim.Store(), kv.OpAdd("k", nil)))
		sim.Do("ann", func(s kv.Store) { _, _ = kv.One(ctx, s, kv.OpAdd("k", []byte("new"))) })
		proof.Equal(t, stored(sim, "k"), "new", "after an add that overwrites, k")
	})
}

func TestSimulate_AFailedOrderedTripTookEffectUpToSomewhere(t *testing.T) {
	seen := make(map[string]bool)
	for seed := range uint64(500) {
		kvtest.Simulate(t, seed, kvtest.World{Powers: kvtest.ServerPowers, Late: 0.2, Lost: 0.2, Mute: 0.2, Unsent: 0.2}, func(sim *kvtest.Sim) {
			preset(sim, "k", "")
			sim.Do("ann", func(s kv.Store) {
				_ = s.Do(ctx, []kv.Op{
					kv.OpAppend("k", []byte("1")), kv.OpAppend("k", []byte("2")), kv.OpAppend("k", []byte("3")),
				})
			})
			sim.Quiet()
			seen[stored(sim, "k")] = true
		})
	}
	want := map[string]bool{"": true, "1": true, "12": true, "123": true}
	proof.NoDiff(t, cmp.Diff(want, seen), "values")
}

// scripted runs one Get and one Set of a client with the given fault on both, and returns what is
// stored at once and in the end, and their errors.
func scripted(t *testing.T, fault kvtest.Fault) (now, later string, set, get error) {
	world := kvtest.World{Fault: func(kvtest.Moment) kvtest.Fault { return fault }}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		preset(sim, "k", "old")
		sim.Do("ann", func(s kv.Store) { _, get = kv.One(ctx, s, kv.OpGet("k")) })
		sim.Do("ann", func(s kv.Store) { _, set = kv.One(ctx, s, kv.OpSet("k", []byte("new"))) })
		now = stored(sim, "k")
		sim.Quiet()
		later = stored(sim, "k")
	})
	return now, later, set, get
}

func TestSimulate_FaultsAreWhatTheyAreCalled(t *testing.T) {
	for _, c := range []struct {
		name       string
		fault      kvtest.Fault
		set, get   error
		now, later string
	}{
		{"none", kvtest.None, nil, nil, "new", "new"},
		{"unsent", kvtest.Unsent, kv.ErrUnavailable, kv.ErrUnavailable, "old", "old"},
		{"lost", kvtest.Lost, kv.ErrUnclear, kv.ErrUnavailable, "old", "old"},
		{"mute", kvtest.Mute, kv.ErrUnclear, kv.ErrUnavailable, "new", "new"},
		{"late", kvtest.Late, kv.ErrUnclear, kv.ErrUnavailable, "old", "new"},
		{"full", kvtest.Full, kv.ErrUnavailable, nil, "old", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, later, set, get := scripted(t, c.fault)
			if !errors.Is(set, c.set) || !errors.Is(get, c.get) {
				t.Errorf("set ended in %v and get in %v, want %v and %v", set, get, c.set, c.get)
			}
			if now != c.now || later != c.later {
				t.Errorf("the key held %q and then %q, want %q and then %q", now, later, c.now, c.later)
			}
		})
	}
}

func TestSimulate_FaultSeesEachOp(t *testing.T) {
	var seen []string
	world := kvtest.World{Fault: func(m kvtest.Moment) kvtest.Fault {
		seen = append(seen, fmt.Sprintf("%s %d %v %s", m.Client, m.Nth, m.Op.Kind, m.Op.Key))
		return kvtest.ByRate
	}}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		sim.Do("ann", func(s kv.Store) { _, _ = kv.GetAll(ctx, s, "k") })
		sim.Do("bob", func(s kv.Store) { _ = s.Do(ctx, []kv.Op{kv.OpSet("k", nil)}) })
		sim.Do("ann", func(s kv.Store) { _, _ = kv.GetAll(ctx, s, "k") })
	})
	proof.NoDiff(t, cmp.Diff([]string{"ann 1 get k", "bob 1 set k", "ann 2 get k"}, seen), "ops")
}

func TestSimulate_ALateWriteLandsAmongLaterOnes(t *testing.T) {
	lates := 0
	for seed := range uint64(50) {
		world := kvtest.World{Fault: func(m kvtest.Moment) kvtest.Fault {
			if m.Nth == 1 {
				return kvtest.Late
			}
			return kvtest.None
		}}
		kvtest.Simulate(t, seed, world, func(sim *kvtest.Sim) {
			sim.Do("ann", func(s kv.Store) {
				_, _ = kv.One(ctx, s, kv.OpSet("k", []byte("late")))
				for range 5 {
					_, _ = kv.One(ctx, s, kv.OpSet("k", []byte("later")))
				}
			})
			sim.Quiet()
			if stored(sim, "k") == "late" {
				lates++
			}
		})
	}
	if lates == 0 || lates == 50 {
		t.Errorf("in %d of 50 runs the late write was the last, want some but not all", lates)
	}
}

func TestSimulate_ALateWriteKeepsNoMemoryOfItsCaller(t *testing.T) {
	world := kvtest.World{Fault: func(kvtest.Moment) kvtest.Fault { return kvtest.Late }}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		sim.Do("ann", func(s kv.Store) {
			value := []byte("value")
			_, _ = kv.One(ctx, s, kv.OpSet("k", value))
			clear(value)
		})
		sim.Quiet()
		proof.Equal(t, stored(sim, "k"), "value", "the key")
	})
}

func wantCrashed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, kvtest.ErrCrashed) {
		t.Errorf("the call of a crashed process returned %v, want ErrUnavailable and ErrCrashed", err)
	}
}

func TestSim_CrashAt_NothingIsSentAfterIt(t *testing.T) {
	for step := 1; step <= 10; step++ {
		kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
			preset(sim, "n", "0")
			sim.CrashAt("ann", step)
			sim.Do("ann", func(s kv.Store) {
				for range 10 {
					if _, err := kv.One(ctx, s, kv.OpIncrement("n", 1)); err != nil {
						wantCrashed(t, err)
					}
				}
			})
			sim.Quiet()
			// The op that was pending landed or did not.
			if got := stored(sim, "n"); got != fmt.Sprint(step-1) && got != fmt.Sprint(step) {
				t.Errorf("crashed at step %d, but %s increments were done", step, got)
			}
		})
	}
}

func TestSim_Crash_WhatWasPendingLandsOrNot(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(100) {
		kvtest.Simulate(t, seed, kvtest.World{}, func(sim *kvtest.Sim) {
			sim.Go("ann", func(s kv.Store) {
				ops := []kv.Op{kv.OpSet("a", nil), kv.OpSet("b", nil)}
				wantCrashed(t, s.Do(ctx, ops))
				wantCrashed(t, ops[0].Err())
				wantCrashed(t, ops[1].Err())
			})
			sim.Crash("ann")
			if !sim.Crashed("ann") {
				t.Errorf("Crashed says that ann lives")
			}
			sim.Wait()
			keys := sim.Store().Keys()
			slices.Sort(keys)
			seen[strings.Join(keys, "+")]++
		})
	}
	for _, keys := range []string{"", "a", "b", "a+b"} {
		if seen[keys] == 0 {
			t.Errorf("in no run %q landed: %v", keys, seen)
		}
	}
}

func TestSimulate_CrashesByChanceSpareWhoIsSpared(t *testing.T) {
	crashes := 0
	for seed := range uint64(50) {
		kvtest.Simulate(t, seed, kvtest.World{Crash: 0.2}, func(sim *kvtest.Sim) {
			sim.Spare("bob")
			for _, name := range []string{"ann", "bob"} {
				sim.Go(name, func(s kv.Store) {
					for range 10 {
						_, _ = kv.One(ctx, s, kv.OpSet(name, nil))
					}
				})
			}
			sim.Wait()
			if sim.Crashed("bob") {
				t.Errorf("bob crashed")
			}
			if sim.Crashed("ann") {
				crashes++
			}
		})
	}
	if crashes < 10 {
		t.Errorf("ann crashed in %d of 50 runs, want most", crashes)
	}
}

func TestSimulate_APassedDeadlineLeavesUnsentOrUnclear(t *testing.T) {
	ends := make(map[string]int)
	for seed := range uint64(300) {
		kvtest.Simulate(t, seed, kvtest.World{Pause: 0.9}, func(sim *kvtest.Sim) {
			var err error
			sim.Do("ann", func(s kv.Store) {
				limited, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				_, err = kv.One(limited, s, kv.OpSet("k", nil))
			})
			sim.Quiet()
			switch {
			case err == nil:
				ends["done"]++
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatalf("%v does not wrap context.DeadlineExceeded", err)
			case errors.Is(err, kv.ErrUnavailable):
				ends["unsent:"+stored(sim, "k")]++
			case errors.Is(err, kv.ErrUnclear):
				ends["unclear:"+stored(sim, "k")]++
			}
		})
	}
	for _, end := range []string{"done", "unsent:not found", "unclear:not found", "unclear:"} {
		if ends[end] == 0 {
			t.Errorf("no run ended as %q: %v", end, ends)
		}
		delete(ends, end)
	}
	if len(ends) > 0 {
		t.Errorf("runs ended otherwise: %v", ends)
	}
}

func TestSimulate_EvictsAndSetsBackWhatMayBe(t *testing.T) {
	world := kvtest.World{
		Evict: 0.3, Evictable: func(key string) bool { return key == "cache" },
		SetBack: 0.3, Counters: func(key string) bool { return key == "n" },
	}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		for _, key := range []string{"cache", "m", "n"} {
			preset(sim, key, "1000")
		}
		sim.Do("ann", func(s kv.Store) {
			for range 20 {
				_, _ = kv.GetAll(ctx, s, "x")
			}
		})
		proof.NoDiff(t, cmp.Diff([]string{"m", "n"}, sim.Store().Keys()), "keys")
		n, err := kv.ParseNumber([]byte(stored(sim, "n")))
		if err != nil || n >= 1000 || stored(sim, "m") != "1000" {
			t.Errorf("n is %q and m %q, want n lower than 1000 and m as it was", stored(sim, "n"), stored(sim, "m"))
		}
	})
}

func TestSim_SetBack_OnlyLowersNumbers(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		preset(sim, "n", "10")
		preset(sim, "text", "abc")
		for _, key := range []string{"n", "text", "absent"} {
			sim.SetBack(key, 20)
		}
		sim.SetBack("n", 5)
		sim.SetBack("text", 5)
		if stored(sim, "n") != "5" || stored(sim, "text") != "abc" || stored(sim, "absent") != "not found" {
			t.Errorf("n, text, absent: %q, %q, %q", stored(sim, "n"), stored(sim, "text"), stored(sim, "absent"))
		}
	})
}

func TestSimulate_TimePassesAndClientsAreSlow(t *testing.T) {
	for name, world := range map[string]kvtest.World{"pause": {Pause: 0.3}, "slow": {Slow: 0.3}} {
		t.Run(name, func(t *testing.T) {
			var took time.Duration
			kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
				start := time.Now()
				sim.Do("ann", func(s kv.Store) {
					for range 20 {
						_, _ = kv.GetAll(ctx, s, "x")
					}
				})
				took = time.Since(start)
			})
			if took < time.Millisecond {
				t.Errorf("twenty trips took %v of simulated time", took)
			}
		})
	}
}

func TestSim_Run_LetsThatMuchTimePass(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		preset(sim, "n", "0")
		start := time.Now()
		sim.Go("ann", func(s kv.Store) {
			for {
				time.Sleep(time.Second)
				if _, err := kv.One(ctx, s, kv.OpIncrement("n", 1)); err != nil {
					return
				}
			}
		})
		sim.Run(10*time.Second + time.Millisecond)
		if got, took := stored(sim, "n"), time.Since(start); got != "10" || took > 11*time.Second {
			t.Errorf("after %v the ticker has counted %s, want 10", took, got)
		}
	})
}

func TestSim_Steps_StopsThere(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		preset(sim, "n", "0")
		sim.Go("ann", func(s kv.Store) {
			for range 100 {
				_, _ = kv.One(ctx, s, kv.OpIncrement("n", 1))
			}
		})
		sim.Steps(7)
		if got := stored(sim, "n"); got != "7" || sim.Step() != 7 {
			t.Errorf("after %d steps n is %s, want 7", sim.Step(), got)
		}
	})
}

func transfer(s kv.Store) error {
	return kv.PowersOf(s).Atomic(ctx, func(s kv.Store) error {
		_, err1 := kv.One(ctx, s, kv.OpIncrement("a", -1))
		time.Sleep(time.Second)
		_, err2 := kv.One(ctx, s, kv.OpIncrement("b", 1))
		return errors.Join(err1, err2)
	})
}

func TestSimulate_AtomicIsOneStep(t *testing.T) {
	for seed := range uint64(50) {
		kvtest.Simulate(t, seed, kvtest.World{Powers: kvtest.AllPowers}, func(sim *kvtest.Sim) {
			preset(sim, "a", "10")
			preset(sim, "b", "0")
			for _, name := range []string{"ann", "bob"} {
				sim.Go(name, func(s kv.Store) {
					for range 3 {
						proof.Is(t, transfer(s), nil)
					}
				})
			}
			sim.Go("cat", func(s kv.Store) {
				for range 5 {
					_ = kv.PowersOf(s).Atomic(ctx, func(s kv.Store) error {
						r, err := kv.GetAll(ctx, s, "a", "b")
						a, _ := kv.ParseNumber(r[0].Value)
						if b, _ := kv.ParseNumber(r[1].Value); a+b != 10 {
							t.Errorf("a is %d and b %d", a, b)
						}
						return err
					})
				}
			})
			sim.Wait()
			if stored(sim, "a") != "4" || stored(sim, "b") != "6" {
				t.Errorf("a is %s and b %s, want 4 and 6", stored(sim, "a"), stored(sim, "b"))
			}
		})
	}
}

func TestSimulate_ACrashInsideAtomicLeavesNothing(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{Powers: kvtest.AllPowers}, func(sim *kvtest.Sim) {
		preset(sim, "a", "10")
		preset(sim, "b", "0")
		sim.Go("ann", func(s kv.Store) { wantCrashed(t, transfer(s)) })
		sim.Run(time.Second / 2)
		sim.Crash("ann")
		sim.Wait()
		if stored(sim, "a") != "10" || stored(sim, "b") != "0" {
			t.Errorf("a is %s and b %s, want 10 and 0", stored(sim, "a"), stored(sim, "b"))
		}
	})
}

func TestSimulate_AnAtomicThatFailsIsDoneWholeOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault kvtest.Fault
		err   error
		a, b  string
	}{
		{"unsent", kvtest.Unsent, kv.ErrUnavailable, "10", "0"},
		{"lost", kvtest.Lost, kv.ErrUnclear, "10", "0"},
		{"mute", kvtest.Mute, kv.ErrUnclear, "9", "1"},
		{"full", kvtest.Full, kv.ErrUnavailable, "10", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			world := kvtest.World{Powers: kvtest.AllPowers, Fault: func(kvtest.Moment) kvtest.Fault { return c.fault }}
			for seed := range uint64(10) {
				kvtest.Simulate(t, seed, world, func(sim *kvtest.Sim) {
					preset(sim, "a", "10")
					preset(sim, "b", "0")
					sim.Do("ann", func(s kv.Store) {
						proof.Is(t, transfer(s), c.err)
					})
					if a, b := stored(sim, "a"), stored(sim, "b"); a != c.a || b != c.b {
						t.Errorf("a is %s and b %s, want %s and %s", a, b, c.a, c.b)
					}
				})
			}
		})
	}
}

func TestSim_Client_HasThePowersOfItsWorld(t *testing.T) {
	for _, p := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers} {
		kvtest.Simulate(t, 1, kvtest.World{Powers: p}, func(sim *kvtest.Sim) {
			got := kv.PowersOf(sim.Client("ann"))
			if got.Unless != p.Unless || got.Ordered != p.Ordered || (got.Atomic != nil) != p.Atomic {
				t.Errorf("powers %+v, want %+v", got, p)
			}
			sim.Do("ann", func(s kv.Store) {
				op := kv.OpAppend("k", nil)
				op.Unless = []byte("SEAL")
				want := kv.ErrNotStored
				if !p.Unless {
					want = kv.ErrBadOp
				}
				proof.Ends(t, want)(kv.One(ctx, s, op))
			})
		})
	}
}

func TestSimulate_AClosedClientIsUnavailable(t *testing.T) {
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		sim.Do("ann", func(s kv.Store) {
			_ = s.Close()
			proof.Ends(t, kv.ErrUnavailable)(kv.One(ctx, s, kv.OpGet("k")))
		})
	})
}

func TestSimulate_EndsWhatStillRuns(t *testing.T) {
	var err error
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		sim.Go("ann", func(s kv.Store) { _, err = kv.One(ctx, s, kv.OpGet("k")) })
	})
	wantCrashed(t, err)
}

func TestSimulate_AFullStoreStillDeletes(t *testing.T) {
	world := kvtest.World{Powers: kvtest.AllPowers, Fault: func(kvtest.Moment) kvtest.Fault { return kvtest.Full }}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		for _, key := range []string{"a", "b", "c"} {
			preset(sim, key, "1")
		}
		sim.Do("ann", func(s kv.Store) {
			r, err := kv.One(ctx, s, kv.OpGet("a"))
			proof.Is(t, err, nil)
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
		proof.NoDiff(t, cmp.Diff([]string{"c"}, sim.Store().Keys()), "keys")
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
			proof.Equal(t, stored(sim, "a"), "1", "seed %d: while ann sleeps, a", seed)
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
			proof.Equal(t, stored(sim, "k"), "new", "seed %d: awake, k", seed)
		})
	}
	proof.NoDiff(t, cmp.Diff(map[string]bool{"old": true, "new": true}, seen), "values during the sleep")
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
