package boltkv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// twoStores carries out the same random operations on a store and on the
// specification. Versions differ between the two, so each keeps its own: the
// i-th of one is the i-th of the other.
type twoStores struct {
	random   *rand.Rand
	clock    *clock
	stores   [2]kvmodel.Store
	versions [2][]kvmodel.Version
}

func TestStore_RandomOpsAnswerAsMemkvDoes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	path, clock := filepath.Join(t.TempDir(), "store.db"), newClock()
	opts := boltkv.Options{Now: clock.Now, Durability: boltkv.Unsynced}
	two := &twoStores{random: rand.New(rand.NewPCG(seed, 0)), clock: clock}
	two.stores = [2]kvmodel.Store{memkv.New(memkv.Options{Now: clock.Now}), openAt(t, path, opts)}
	for step := range 5000 {
		if diff := two.step(); diff != "" {
			t.Fatalf("seed %d: step %d: mismatch (-memkv +boltkv):\n%s", seed, step, diff)
		}
		if two.random.IntN(500) == 0 {
			check(two.stores[1].Close())
			two.stores[1] = openAt(t, path, opts)
		}
	}
}

// step does one trip or atomic change on both stores and returns how their
// answers differ.
func (two *twoStores) step() string {
	two.clock.Advance(time.Duration(two.random.IntN(10)) * time.Second)
	trip := two.trip()
	atomically, fails := two.random.IntN(3) == 0, two.random.IntN(2) == 0
	var answers [2][]kvmodel.Op
	for i, s := range two.stores {
		answers[i] = two.versioned(i, trip)
		if atomically {
			doAtomically(s, answers[i], fails)
		} else {
			check(s.Do(context.Background(), answers[i]))
		}
	}
	two.learn(answers)
	return cmp.Diff(answers[0], answers[1], cmp.Comparer(sameSentinel),
		cmpopts.IgnoreFields(kvmodel.Op{}, "Version"), cmpopts.IgnoreFields(kvmodel.Result{}, "Version"))
}

// sameSentinel tells whether two errors are the same but for their words.
func sameSentinel(a, b error) bool {
	for a != nil && errors.Unwrap(a) != nil {
		a = errors.Unwrap(a)
	}
	return (a == nil) == (b == nil) && errors.Is(b, a)
}

var errChangedMind = errors.New("the change is not wanted")

func doAtomically(s kvmodel.Store, ops []kvmodel.Op, fails bool) {
	err := kvmodel.PowersOf(s).Atomic(context.Background(), func(s kvmodel.Store) error {
		for i := range ops {
			check(s.Do(context.Background(), ops[i:i+1]))
		}
		if fails {
			return errChangedMind
		}
		return nil
	})
	if fails != errors.Is(err, errChangedMind) {
		panic(err)
	}
}

// trip returns random ops. Their versions are places in versions.
func (two *twoStores) trip() []kvmodel.Op {
	ops := make([]kvmodel.Op, 1+two.random.IntN(4))
	for i := range ops {
		ops[i] = two.op()
	}
	return ops
}

func (two *twoStores) op() kvmodel.Op {
	key, value := fmt.Sprint("key", two.random.IntN(6)), fmt.Append(nil, two.random.IntN(200))
	var ttl time.Duration
	if two.random.IntN(2) == 0 {
		ttl = time.Duration(1+two.random.IntN(60)) * time.Second
	}
	place := kvmodel.Version(two.random.IntN(len(two.versions[0]) + 1))
	switch kind := kvmodel.Get + kvmodel.Kind(two.random.IntN(int(kvmodel.Increment))); kind {
	case kvmodel.Set, kvmodel.Add:
		return kvmodel.Op{Kind: kind, Key: key, Value: value, TTL: ttl}
	case kvmodel.CompareAndSwap:
		return kvmodel.Op{Kind: kind, Key: key, Value: value, TTL: ttl, Version: place}
	case kvmodel.CompareAndDelete:
		return kvmodel.Op{Kind: kind, Key: key, Version: place}
	case kvmodel.Append:
		return kvmodel.Op{Kind: kind, Key: key, Value: value, Unless: value[:1]}
	case kvmodel.Increment:
		return kvmodel.Op{Kind: kind, Key: key, Delta: two.random.Int64N(100) - 50}
	default:
		return kvmodel.Op{Kind: kind, Key: key}
	}
}

// versioned returns trip with the versions of the i-th store.
func (two *twoStores) versioned(i int, trip []kvmodel.Op) []kvmodel.Op {
	ops := make([]kvmodel.Op, len(trip))
	for j, op := range trip {
		if op.Version != 0 {
			op.Version = two.versions[i][op.Version-1]
		}
		ops[j] = op
	}
	return ops
}

// learn notes the versions both stores gave, and forgets the oldest.
func (two *twoStores) learn(answers [2][]kvmodel.Op) {
	for j := range answers[0] {
		if answers[0][j].Result.Version == 0 {
			continue
		}
		for i := range two.versions {
			known := append(two.versions[i], answers[i][j].Result.Version)
			two.versions[i] = known[max(len(known)-6, 0):]
		}
	}
}
