package boltkv

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const enough = 10_000

// openPaused opens a store with a key of value 1 that is not moved yet. It calls pause before its
// next read of the tree.
func openPaused(t *testing.T, pause func()) *Store {
	t.Helper()
	var pauses atomic.Bool
	s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{}, func(s *Store) {
		s.limits.turn, s.limits.tick, s.limits.idle = enough, time.Hour, time.Hour
		s.limits.filter = 0
		s.beginRead = func() (*bolt.Tx, error) {
			if pauses.CompareAndSwap(true, false) {
				pause()
			}
			return s.db.Begin(false)
		}
	}))
	need(kv.One(t.Context(), s, kv.OpSet("key", []byte("1"))))
	pauses.Store(true)
	t.Cleanup(func() {
		closes(t, s)
	})
	return s
}

// A growing file does the same: it waits for the readers of the tree, and new readers wait for it.
func TestStore_Do_AReaderThatWaitsForTheTreeHoldsNobodyUp(t *testing.T) {
	waits, goOn := make(chan struct{}), make(chan struct{})
	s := openPaused(t, func() {
		waits <- struct{}{}
		<-goOn
	})
	read, ended := make(chan error), make(chan struct{})
	go func() { read <- s.Do(context.Background(), []kv.Op{kv.OpGet("absent")}) }()
	<-waits
	go func() {
		defer close(ended)
		for _, op := range []kv.Op{kv.OpIncrement("key", 1), kv.OpGet("key")} {
			proof.Ends(t, nil)(kv.One(context.Background(), s, op))
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("a commit waits for a reader")
	}
	close(goOn)
	if err := <-read; err != nil {
		t.Error(err)
	}
	<-ended
}

func TestStore_Do_AReaderThatWasOvertakenByTheTreeBeginsAgain(t *testing.T) {
	var s *Store
	s = openPaused(t, func() {
		// The reader has seen that key holds 1, and not yet the value of other.
		for _, op := range []kv.Op{kv.OpSet("key", []byte("2")), kv.OpSet("other", []byte("2")), kv.OpSet("much", make([]byte, enough))} {
			proof.Ends(t, nil)(kv.One(context.Background(), s, op))
		}
		for s.moved() != nil {
			time.Sleep(time.Millisecond)
		}
	})
	ops := []kv.Op{kv.OpGet("key"), kv.OpGet("other"), kv.OpGet("absent")}
	must(s.Do(t.Context(), ops))
	if key, other := string(ops[0].Result.Value), string(ops[1].Result.Value); key != "2" || other != "2" {
		t.Errorf("key holds %q and other %q, which was never so", key, other)
	}
}

// How often readers read meanwhile also depends on the machine, so the least of many writes counts.
func TestStore_BusyReadersDoNotHoldAWriterUp(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := need(Open(filepath.Join(t.TempDir(), "store.db"), Options{Durability: Unsynced}))
	set(t, s, "a")
	var reads atomic.Int64
	var ended atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !ended.Load() {
				proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpGet("a")))
				reads.Add(1)
			}
		})
	}
	least := int64(1 << 62)
	for range 20 {
		before := reads.Load()
		set(t, s, "b")
		least = min(least, reads.Load()-before)
	}
	ended.Store(true)
	readers.Wait()
	closes(t, s)
	if least > 500 {
		t.Errorf("4 readers read at least %d times while a write was under way, want at most 500", least)
	}
}
