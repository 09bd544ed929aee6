package proof

import (
	"crypto/sha256"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Prove is the environment variable for the extent of the tests:
//
//   - unset: as much as go test does in a few minutes;
//   - all: everything, as make prove does;
//   - a duration such as 20s: a random part of everything, which takes each test about that long.
const Prove = "RINGTREE_PROVE"

// ProveBy is the environment variable that seeds random choices, such as a commit. Unset, each run
// makes different ones.
const ProveBy = "RINGTREE_PROVE_BY"

func Long() bool { return os.Getenv(Prove) != "" }

func All() bool { return os.Getenv(Prove) == "all" }

// Size returns many if there is time for more than a plain go test.
func Size[N int | int64 | uint64](few, many N) N {
	if Long() {
		return many
	}
	return few
}

func budget(t testing.TB) (time.Duration, bool) {
	t.Helper()
	if !Long() || All() {
		return 0, false
	}
	text := os.Getenv(Prove)
	limit, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s=%s: want all or a duration such as 20s", Prove, text)
	}
	return limit, true
}

func chance(t testing.TB) *rand.Rand {
	text, fixed := os.LookupEnv(ProveBy)
	if !fixed {
		return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(text + " " + t.Name()))))
}

// Part yields the cases of a test: few, or all when everything is tested. To test a part, it yields
// those of all in random order until the time is up, and at least one.
func Part[T any](t testing.TB, few, all []T) iter.Seq[T] {
	t.Helper()
	limit, part := budget(t)
	switch {
	case !Long():
		return slices.Values(few)
	case !part:
		return slices.Values(all)
	}
	return func(yield func(T) bool) {
		end := time.Now().Add(limit)
		for n, i := range chance(t).Perm(len(all)) {
			if n > 0 && time.Now().After(end) || !yield(all[i]) {
				return
			}
		}
	}
}

// Rounds yields the numbers of rounds, from 1: few, or all when everything is tested. To test a
// part, it starts at a random one and ends when the time is up.
func Rounds(t testing.TB, few, all uint64) iter.Seq[uint64] {
	t.Helper()
	limit, part := budget(t)
	if All() {
		few = all
	}
	return func(yield func(uint64) bool) {
		if !part {
			for n := uint64(1); n <= few && yield(n); n++ {
			}
			return
		}
		end := time.Now().Add(limit)
		first := uint64(chance(t).Uint32())
		for n := first; (n == first || time.Now().Before(end)) && yield(n); n++ {
		}
	}
}

const longer = 20

const share = 20

// Sweep is [kvtest.SimulateMany] with n seeds, which should take a few seconds. The short version
// takes the first twentieth of them; all n should notice faults of the store, see [Notices]. When
// everything is tested, there are 20 times as many. To test a part, Sweep begins at a random seed
// and ends when the time is up.
func Sweep(t *testing.T, n int, world kvtest.World, test func(*kvtest.Sim)) {
	t.Helper()
	limit, part := budget(t)
	world.Broken = broken()
	switch {
	case !Long():
		kvtest.SimulateMany(t, (n+share-1)/share, world, test)
	case !part:
		kvtest.SimulateMany(t, longer*n, world, test)
	default:
		end := time.Now().Add(limit)
		first := uint64(chance(t).Uint32())
		for seed := first; seed == first || time.Now().Before(end); seed++ {
			kvtest.Simulate(t, seed, world, test)
		}
	}
}

// Fixer is the process in a sweep that starts when all others have ended, and repairs.
const Fixer = "fixer"

// Spared reports whether a fault at m would show nothing in a sweep of changes: it would prevent a
// whole pass of the Fixer, or opening the model, which has its own sweeps.
func Spared(m kvtest.Moment) bool {
	switch kind, _, _ := strings.Cut(m.Op.Key, ":"); kind {
	case "built", "procs":
		return true
	case "ids":
		return m.Client == Fixer || m.Op.Kind == kv.Get || !strings.Contains(m.Op.Key, "#")
	}
	return m.Client == Fixer
}
