package boltkv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// clock stands still unless it is advanced.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func fillExpiring(t *testing.T, s kv.Store, n int) {
	t.Helper()
	ops := make([]kv.Op, n)
	for i := range ops {
		ops[i] = kv.OpSet(fmt.Sprint("k", i), []byte("v")).For(time.Minute)
	}
	if err := s.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
}

func TestStore_Sweep_IdleStoreGetsRidOfWhatHasExpired(t *testing.T) {
	clock := newClock()
	s := open(t, boltkv.Options{Now: clock.Now})
	fillExpiring(t, s, 100)
	one(t, s, kv.OpSet("for-ever", nil))
	clock.Advance(time.Minute)
	for range 1200 {
		if s.Stats().Swept == 100 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	before := s.Stats()
	if before.Swept != 100 {
		t.Errorf("%d of 100 expired items are removed after a minute", before.Swept)
	}
	one(t, s, kv.OpGet("for-ever"))
	time.Sleep(1500 * time.Millisecond)
	if after := s.Stats(); after != before {
		t.Errorf("with nothing to do it went from %+v to %+v", before, after)
	}
}

func TestStore_Sweep_OneCommitRemovesFewItems(t *testing.T) {
	clock := newClock()
	s := open(t, boltkv.Options{Now: clock.Now})
	fillExpiring(t, s, 5000)
	clock.Advance(time.Minute)
	before := s.Stats()
	one(t, s, kv.OpSet("k", nil))
	after := s.Stats()
	// A tick may have run in between.
	if n, most := after.Swept-before.Swept, 1000*(after.Commits-before.Commits); n == 0 || n > most {
		t.Errorf("%d items went in %d commits, want some and at most %d", n, after.Commits-before.Commits, most)
	}
	wantGone(t, s, "k4999")
}

func TestStore_Sweep_SparesWhatWasWrittenAgain(t *testing.T) {
	clock := newClock()
	s := open(t, boltkv.Options{Now: clock.Now})
	fillExpiring(t, s, 6)
	one(t, s, kv.OpSet("k0", []byte("kept")))
	one(t, s, kv.OpSet("k1", []byte("kept")).For(time.Hour))
	one(t, s, kv.OpDelete("k2"))
	one(t, s, kv.OpAdd("k2", []byte("kept")))
	check(s.Powers().Atomic(t.Context(), func(s kv.Store) error {
		one(t, s, kv.OpDelete("k3"))
		one(t, s, kv.OpAdd("k3", []byte("kept")))
		return nil
	}))
	one(t, s, kv.OpAppend("k4", []byte("w")))
	clock.Advance(time.Minute)
	// Each write removes up to two expired items.
	for range 10 {
		one(t, s, kv.OpSet("other", nil))
	}
	if got := s.Stats().Swept; got != 2 {
		t.Errorf("%d items were removed, want k4 and k5", got)
	}
	for _, key := range []string{"k0", "k1", "k2", "k3"} {
		if got := string(one(t, s, kv.OpGet(key)).Value); got != "kept" {
			t.Errorf("%s holds %q", key, got)
		}
	}
	_, err := kv.One(context.Background(), s, kv.OpGet("k4"))
	wantErr(t, err, kv.ErrNotFound)
}

func TestStore_Sweep_StrayEntryOfTheIndexHarmsNoItem(t *testing.T) {
	path := storeFile(t)
	db := must(bolt.Open(path, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("expiry")).Put(append([]byte{0, 0, 0, 0, 0, 0, 0, 1}, benchKey(0)...), nil)
	}))
	check(db.Close())
	s := openAt(t, path, boltkv.Options{})
	one(t, s, kv.OpSet("other", nil))
	if got := s.Stats().Swept; got != 1 {
		t.Errorf("%d entries were removed, want 1", got)
	}
	one(t, s, kv.OpGet(benchKey(0)))
}
