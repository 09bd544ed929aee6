package boltkv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// twoStores carries out the same random operations on a store and on the
// specification. The two give different versions, so each has a list of its
// own, and the i-th of one matches the i-th of the other.
type twoStores struct {
	random   *rand.Rand
	clock    *proof.Clock
	stores   [2]kv.Store
	versions [2][]kv.Version
}

func TestStore_RandomOpsAnswerAsMemkvDoes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	path, clock := filepath.Join(t.TempDir(), "store.db"), newClock()
	opts := boltkv.Options{Now: clock.Now, Durability: boltkv.Unsynced}
	two := &twoStores{random: rand.New(rand.NewPCG(seed, 0)), clock: clock}
	two.stores = [2]kv.Store{memkv.New(memkv.Options{Now: clock.Now}), openAt(t, path, opts)}
	quickly := false
	for step := range 5000 {
		if diff := two.step(); diff != "" {
			t.Fatalf("seed %d: step %d: mismatch (-memkv +boltkv):\n%s", seed, step, diff)
		}
		if two.random.IntN(500) == 0 {
			check(two.stores[1].Close())
			// Every other store moves to the tree what it is given.
			if quickly = !quickly; quickly {
				two.stores[1] = must(boltkv.OpenQuick(path, opts, new(atomic.Int64)))
			} else {
				two.stores[1] = openAt(t, path, opts)
			}
		}
	}
}

// step makes one trip or atomic change on both stores and returns how their
// answers differ.
func (two *twoStores) step() string {
	two.clock.Advance(time.Duration(two.random.IntN(10)) * time.Second)
	trip := two.trip()
	atomically, fails := two.random.IntN(3) == 0, two.random.IntN(2) == 0
	var answers [2][]kv.Op
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
		cmpopts.IgnoreFields(kv.Op{}, "Version"), cmpopts.IgnoreFields(kv.Result{}, "Version"))
}

// sameSentinel reports whether two errors wrap the same sentinel.
func sameSentinel(a, b error) bool {
	for a != nil && errors.Unwrap(a) != nil {
		a = errors.Unwrap(a)
	}
	return (a == nil) == (b == nil) && errors.Is(b, a)
}

var errChangedMind = errors.New("the change is not wanted")

func doAtomically(s kv.Store, ops []kv.Op, fails bool) {
	err := kv.PowersOf(s).Atomic(context.Background(), func(s kv.Store) error {
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

// trip returns random ops. Their versions are positions in versions, from 1.
func (two *twoStores) trip() []kv.Op {
	ops := make([]kv.Op, 1+two.random.IntN(4))
	for i := range ops {
		ops[i] = two.op()
	}
	return ops
}

func (two *twoStores) op() kv.Op {
	key, value := fmt.Sprint("key", two.random.IntN(6)), fmt.Append(nil, two.random.IntN(200))
	var ttl time.Duration
	if two.random.IntN(2) == 0 {
		ttl = time.Duration(1+two.random.IntN(60)) * time.Second
	}
	place := kv.Version(two.random.IntN(len(two.versions[0]) + 1))
	switch kind := kv.Get + kv.Kind(two.random.IntN(int(kv.Increment))); kind {
	case kv.Set, kv.Add:
		return kv.Op{Kind: kind, Key: key, Value: value, TTL: ttl}
	case kv.CompareAndSwap:
		return kv.Op{Kind: kind, Key: key, Value: value, TTL: ttl, Version: place}
	case kv.CompareAndDelete:
		return kv.Op{Kind: kind, Key: key, Version: place}
	case kv.Append:
		return kv.Op{Kind: kind, Key: key, Value: value, Unless: value[:1]}
	case kv.Increment:
		return kv.Op{Kind: kind, Key: key, Delta: two.random.Int64N(100) - 50}
	default:
		return kv.Op{Kind: kind, Key: key}
	}
}

// versioned returns trip with the versions of the i-th store.
func (two *twoStores) versioned(i int, trip []kv.Op) []kv.Op {
	ops := make([]kv.Op, len(trip))
	for j, op := range trip {
		if op.Version != 0 {
			op.Version = two.versions[i][op.Version-1]
		}
		ops[j] = op
	}
	return ops
}

// learn records the versions both stores gave, and forgets the oldest.
func (two *twoStores) learn(answers [2][]kv.Op) {
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
