package boltkv

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func newClock() *proof.Clock { return proof.NewClock(time.Unix(1_800_000_000, 0)) }

func fillExpiring(t *testing.T, s kv.Store, n int) {
	t.Helper()
	ops := make([]kv.Op, n)
	for i := range ops {
		ops[i] = kv.OpSet(fmt.Sprint("k", i), []byte("v")).For(time.Minute)
	}
	must(s.Do(t.Context(), ops))
}

// openQuick opens a store that moves its table as soon as it rests.
func openQuick(path string, opts Options, change ...func(*Store)) (*Store, error) {
	return openWith(path, opts, func(s *Store) {
		s.limits.idle, s.limits.tick, s.limits.ship = 0, 5*time.Millisecond, 5*time.Millisecond
		for _, f := range change {
			f(s)
		}
	})
}

// quick also counts the transactions of the tree.
func quick(t testing.TB, path string, clock *proof.Clock) (*Store, *atomic.Int64) {
	t.Helper()
	transactions := new(atomic.Int64)
	s := need(openQuick(path, Options{Now: clock.Now}, func(s *Store) {
		s.commitTree = func(tx *bolt.Tx) error {
			transactions.Add(1)
			return tx.Commit()
		}
	}))
	t.Cleanup(func() { must(s.Close()) })
	return s, transactions
}

// rests waits until the tree has all items that can be moved.
func rests(t testing.TB, s *Store) {
	t.Helper()
	until(t, func() bool {
		carried := s.Stats().Carried
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.moving == nil && len(s.filling.items) <= int(carried)
	})
}

func until(t testing.TB, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it takes more than a minute")
		}
	}
}

func TestStore_Sweep_IdleStoreGetsRidOfWhatHasExpired(t *testing.T) {
	clock := newClock()
	s, transactions := quick(t, filepath.Join(t.TempDir(), "store.db"), clock)
	fillExpiring(t, s, 5000)
	one(t, s, kv.OpSet("for-ever", nil))
	rests(t, s)
	before := transactions.Load()
	clock.Advance(time.Minute)
	until(t, func() bool { return s.Stats().Swept == 5000 })
	if n := transactions.Load() - before; n < 5 {
		t.Errorf("5000 items went in %d transactions, want 1000 in each at most", n)
	}
	one(t, s, kv.OpGet("for-ever"))
	wantGone(t, s, "k4999")
	rested := transactions.Load()
	time.Sleep(100 * time.Millisecond)
	if n := transactions.Load() - rested; n > 0 {
		t.Errorf("with nothing to do it made %d transactions", n)
	}
}

func TestStore_Sweep_SparesWhatWasWrittenAgain(t *testing.T) {
	clock := newClock()
	s, _ := quick(t, filepath.Join(t.TempDir(), "store.db"), clock)
	fillExpiring(t, s, 6)
	rests(t, s)
	one(t, s, kv.OpSet("k0", []byte("kept")))
	one(t, s, kv.OpSet("k1", []byte("kept")).For(time.Hour))
	one(t, s, kv.OpDelete("k2"))
	one(t, s, kv.OpAdd("k2", []byte("kept")))
	must(s.Powers().Atomic(t.Context(), func(s kv.Store) error {
		one(t, s, kv.OpDelete("k3"))
		one(t, s, kv.OpAdd("k3", []byte("kept")))
		return nil
	}))
	one(t, s, kv.OpAppend("k4", []byte("w")))
	rests(t, s)
	clock.Advance(time.Minute)
	until(t, func() bool { return s.Stats().Swept == 2 })
	for _, key := range []string{"k0", "k1", "k2", "k3"} {
		proof.Equal(t, string(one(t, s, kv.OpGet(key)).Value), "kept", "%s", key)
	}
	wantGone(t, s, "k4")
	wantGone(t, s, "k5")
}

func TestStore_Sweep_StrayEntryOfTheIndexHarmsNoItem(t *testing.T) {
	path := storeFile(t)
	changeTree(path, func(tx *bolt.Tx) error { return tx.Bucket(expiryBucket).Put(expiryKey(1, []byte(keyAt(0))), nil) })
	s, _ := quick(t, path, newClock())
	until(t, func() bool { return s.Stats().Swept == 1 })
	one(t, s, kv.OpGet(keyAt(0)))
}
