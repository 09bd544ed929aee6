package boltkv

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
				if _, err := kv.One(t.Context(), s, kv.OpGet("a")); err != nil {
					t.Error(err)
				}
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
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if least > 500 {
		t.Errorf("4 readers read at least %d times while a write was under way, want at most 500", least)
	}
}
