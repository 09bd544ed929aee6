package kvtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// t is the test in which an example stands.
var t *testing.T

// The examples that need a test are run in one.
func TestExamples_Pass(test *testing.T) {
	for name, example := range map[string]func(){
		"Run": ExampleRun, "Maker": ExampleMaker, "Case": ExampleCase, "Simulate": ExampleSimulate,
		"Sim": ExampleSim, "World": ExampleWorld, "Hostile": ExampleHostile,
		"Moment": ExampleMoment, "Powers": ExamplePowers,
	} {
		test.Run(name, func(sub *testing.T) {
			t = sub
			example()
		})
	}
}

// The test of a store, in TestStore_KeepsTheContract(t *testing.T). Without Advance it would wait
// until a TTL has passed.
func ExampleRun() {
	now := time.Now()
	clock := func() time.Time { return now }
	kvtest.Run(t, kvtest.Maker{
		Open:    func(testing.TB, string) kv.Store { return memkv.New(memkv.Options{Now: clock}) },
		Advance: func(d time.Duration) { now = now.Add(d) },
	})
}

// A store whose keys begin with the name of a tenant.
func ExampleMaker() {
	maker := kvtest.Maker{
		Open: func(t testing.TB, name string) kv.Store {
			s, err := kv.Prefix(memkv.New(memkv.Options{}), "acme")
			proof.Must(t, err)
			return s
		},
		Prefix: len("acme:"),
	}
	for _, c := range kvtest.Cases()[:10] { // Run checks all of them.
		c.Check(t, maker)
	}
}

// One rule, while a store is written.
func ExampleCase() {
	m := kvtest.Maker{Open: func(testing.TB, string) kv.Store { return memkv.New(memkv.Options{}) }}
	for _, c := range kvtest.Cases() {
		if c.Name == "add/present" {
			c.Check(t, m)
		}
	}
}

// Two processes count at once, in every order that a seed can choose.
func ExampleSimulate() {
	kvtest.Simulate(t, 42, kvtest.World{}, func(sim *kvtest.Sim) {
		for _, name := range []string{"ann", "bob"} {
			sim.Go(name, func(s kv.Store) { _, _ = kv.Next(context.Background(), s, "n", 0, 1) })
		}
		sim.Wait()
		n, err := kv.Next(context.Background(), sim.Store(), "n", 0, 1)
		if err != nil || n != 3 {
			sim.T().Errorf("want 3, got %d, %v", n, err)
		}
	})
}

// A process crashes in the middle of its work, and another one takes over.
func ExampleSim() {
	kvtest.Simulate(t, 1, kvtest.World{}, func(sim *kvtest.Sim) {
		ctx := context.Background()
		sim.CrashAt("ann", 3)
		sim.Go("ann", func(s kv.Store) {
			for i := range 10 {
				_, _ = kv.One(ctx, s, kv.OpSet(fmt.Sprint("k", i), nil))
			}
		})
		sim.Wait()
		if !sim.Crashed("ann") {
			sim.T().Error("ann is still there")
		}
		sim.Do("bob", func(s kv.Store) { _, _ = kv.One(ctx, s, kv.OpSet("k9", nil)) })
	})
}

// A world in which one op in ten gets no answer.
func ExampleWorld() {
	kvtest.Simulate(t, 1, kvtest.World{Powers: kvtest.ServerPowers, Lost: 0.05, Mute: 0.05}, func(sim *kvtest.Sim) {
		sim.Do("ann", func(s kv.Store) {
			_, err := kv.One(context.Background(), s, kv.OpSet("k", []byte("v")))
			if err != nil && !errors.Is(err, kv.ErrUnclear) {
				sim.T().Error(err)
			}
		})
	})
}

// Everything goes wrong that may.
func ExampleHostile() {
	kvtest.SimulateMany(t, 20, kvtest.Hostile(kvtest.NoPowers), func(sim *kvtest.Sim) {
		sim.Go("ann", func(s kv.Store) { _, _ = kv.One(context.Background(), s, kv.OpAdd("k", nil)) })
		sim.Go("bob", func(s kv.Store) { _, _ = kv.One(context.Background(), s, kv.OpAdd("k", nil)) })
		sim.Wait()
	})
}

// The second op of a client gets no answer.
func ExampleMoment() {
	world := kvtest.World{Fault: func(m kvtest.Moment) kvtest.Fault {
		if m.Client == "ann" && m.Nth == 2 {
			return kvtest.Mute
		}
		return kvtest.None
	}}
	kvtest.Simulate(t, 1, world, func(sim *kvtest.Sim) {
		sim.Do("ann", func(s kv.Store) {
			for range 2 {
				_, err := kv.One(context.Background(), s, kv.OpAppend("log", []byte("x")))
				sim.T().Log(err)
			}
		})
	})
}

// What runs on memcached is tested without powers.
func ExamplePowers() {
	for _, p := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers} {
		kvtest.Simulate(t, 1, kvtest.World{Powers: p}, func(sim *kvtest.Sim) {
			sim.Do("ann", func(s kv.Store) {
				if got := kv.PowersOf(s).Unless; got != p.Unless {
					sim.T().Errorf("want %v, got %v", p.Unless, got)
				}
			})
		})
	}
}

// What a function given to Atomic remembers outside of it must be right when it runs again.
func ExampleTwice() {
	ctx, runs := context.Background(), 0
	err := kv.PowersOf(kvtest.Twice(memkv.New(memkv.Options{}))).Atomic(ctx, func(s kv.Store) error {
		runs++
		_, err := kv.One(ctx, s, kv.OpAdd("k", nil))
		return err
	})
	fmt.Println(runs, err)
	// Output:
	// 2 <nil>
}

// What does an app do when its second op is not answered?
func ExampleFaulty() {
	ctx := context.Background()
	store := kvtest.Faulty(memkv.New(memkv.Options{}), 2, kvtest.Unsent)
	for range 3 {
		_, err := kv.One(ctx, store, kv.OpSet("k", nil))
		fmt.Println(errors.Is(err, kv.ErrUnavailable))
	}
	// Output:
	// false
	// true
	// false
}

// An op that was carried out without an answer is not one that was not.
func ExampleFault() {
	ctx := context.Background()
	for _, fault := range []kvtest.Fault{kvtest.Lost, kvtest.Mute} {
		store := memkv.New(memkv.Options{})
		_, err := kv.One(ctx, kvtest.Faulty(store, 1, fault), kv.OpSet("k", nil))
		fmt.Println(errors.Is(err, kv.ErrUnclear), len(store.Keys()))
	}
	// Output:
	// true 0
	// true 1
}

// A process whose clock is an hour ahead.
func ExampleClock() {
	var clock kvtest.Clock
	clock.Set(time.Hour)
	fmt.Println(time.Until(clock.Now()).Round(time.Minute))
	// Output: 1h0m0s
}

// How many trips does a page make one after another?
func ExampleSlow() {
	ctx := context.Background()
	store := &kvtest.Slow{Store: memkv.New(memkv.Options{})}
	store.Wait(10 * time.Millisecond)
	began := time.Now()
	for range 3 {
		_, _ = kv.One(ctx, store, kv.OpGet("k"))
	}
	fmt.Println(time.Since(began) >= 30*time.Millisecond)
	// Output: true
}
