package kvtest_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// failing are tests that fail, for a look at what they print. They run in a
// process of their own.
var failing = map[string]func(*testing.T){
	"bad-invariant": func(t *testing.T) {
		kvtest.SimulateMany(t, 100, kvtest.World{}, func(sim *kvtest.Sim) {
			preset(sim, "n", "0")
			for _, name := range []string{"ann", "bob"} {
				sim.Go(name, func(s kv.Store) { addOne(s, bySet) })
			}
			sim.Wait()
			if got := stored(sim, "n"); got != "2" {
				sim.T().Errorf("n is %s", got)
			}
		})
	},
	"fatal": func(t *testing.T) {
		kvtest.Simulate(t, 42, kvtest.World{}, func(sim *kvtest.Sim) {
			sim.Go("ann", busy)
			sim.Steps(3)
			sim.T().Fatal("no further")
		})
	},
	"no-end": func(t *testing.T) {
		kvtest.Simulate(t, 42, kvtest.World{MaxSteps: 500}, func(sim *kvtest.Sim) {
			sim.Go("ann", func(s kv.Store) {
				for {
					if _, err := kv.One(ctx, s, kv.OpSet("k", nil)); err != nil {
						return
					}
				}
			})
			sim.Wait()
		})
	},
	"stuck": func(t *testing.T) {
		kvtest.Simulate(t, 42, kvtest.World{}, func(sim *kvtest.Sim) {
			sim.Go("ann", func(kv.Store) { time.Sleep(100 * 24 * time.Hour) })
			sim.Wait()
		})
	},
	"asks-after-its-crash": func(t *testing.T) {
		kvtest.Simulate(t, 42, kvtest.World{}, func(sim *kvtest.Sim) {
			sim.Go("ann", func(s kv.Store) {
				for {
					_, _ = kv.One(ctx, s, kv.OpSet("k", nil))
				}
			})
			sim.Steps(5)
			sim.Crash("ann")
			sim.Wait()
		})
	},
	"suite": func(t *testing.T) {
		now := time.Unix(1_800_000_000, 0)
		kvtest.Run(t, kvtest.Maker{
			Advance: func(d time.Duration) { now = now.Add(d) },
			Open: func(testing.TB, string) kv.Store {
				return overwriting{memkv.New(memkv.Options{Now: func() time.Time { return now }})}
			},
		})
	},
}

// overwriting is a store whose Add is a Set.
type overwriting struct{ *memkv.Store }

func (s overwriting) Do(ctx context.Context, ops []kv.Op) error {
	sent := slices.Clone(ops)
	for i := range sent {
		if sent[i].Kind == kv.Add {
			sent[i].Kind = kv.Set
		}
	}
	err := s.Store.Do(ctx, sent)
	for i := range ops {
		ops[i].Result = sent[i].Result
	}
	return err
}

// TestMain keeps the failing tests out of all runs but those of outputOf.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("KVTEST_FAILING") == "" {
		skip := flag.Lookup("test.skip").Value
		patterns := append(strings.FieldsFunc(skip.String(), func(r rune) bool { return r == '|' }), "^TestInAProcessOfItsOwn$")
		if err := skip.Set(strings.Join(patterns, "|")); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestInAProcessOfItsOwn(t *testing.T) { failing[os.Getenv("KVTEST_FAILING")](t) }

// outputOf runs one of the failing tests and returns what it prints.
func outputOf(t *testing.T, name string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestInAProcessOfItsOwn$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), append(env, "KVTEST_FAILING="+name)...)
	// How it ends is in what it prints.
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func TestFailures_SayWhatAHelpingHandNeeds(t *testing.T) {
	for name, wants := range map[string][]string{
		"bad-invariant":        {"--- FAIL", "n is 1", "seed ", "(RINGTREE_SEED=", "the end of the trace:\n", `ann      set "n" "1" -> ok`, `bob      get "n" -> "0"`},
		"fatal":                {"--- FAIL", "no further", "seed 42, after 3 steps", `ann      add "log" -> ok`},
		"no-end":               {"--- FAIL", "no end after 500 steps", "1 functions of ann", "seed 42"},
		"stuck":                {"--- FAIL", "no request in 48h0m0s", "1 functions of ann", "still run 48h0m0s after the crash"},
		"asks-after-its-crash": {"process ann goes on calling the store after its crash"},
		"suite":                {"--- FAIL: TestInAProcessOfItsOwn/add/present", "the rule: an Add of a key that is present", " cases; "},
	} {
		t.Run(name, func(t *testing.T) {
			out := outputOf(t, name)
			for _, want := range wants {
				proof.Contains(t, out, want)
			}
		})
	}
}

func TestSimulateMany_StopsAtTheFirstSeedThatFails(t *testing.T) {
	proof.Equal(t, strings.Count(outputOf(t, "bad-invariant"), "the end of the trace"), 1, "traces were printed")
}

func TestSimulateMany_EnvironmentChoosesTheSeeds(t *testing.T) {
	for _, c := range []struct {
		seed, seeds string
		first       uint64
		n           int
	}{{"", "", 1, 7}, {"", "20", 1, 20}, {"3", "", 3, 1}, {"3", "20", 3, 1}} {
		setOrUnset(t, "RINGTREE_SEED", c.seed)
		setOrUnset(t, "RINGTREE_SEEDS", c.seeds)
		if first, n := kvtest.Seeds(t, 7); first != c.first || n != c.n {
			t.Errorf("RINGTREE_SEED=%q RINGTREE_SEEDS=%q: %d seeds from %d, want %d from %d", c.seed, c.seeds, n, first, c.n, c.first)
		}
	}
}

// setOrUnset sets a variable of the environment for the test, or takes it away.
func setOrUnset(t *testing.T, name, value string) {
	t.Helper()
	t.Setenv(name, value)
	if value == "" {
		os.Unsetenv(name)
	}
}
