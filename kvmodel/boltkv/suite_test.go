package boltkv

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

func TestStore_KeepsTheContract(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	copies := 0
	kvtest.Run(t, kvtest.Maker{
		Kept:    true,
		Advance: clock.Advance,
		Abandon: func(t testing.TB, name string) string {
			copies++
			copied := fmt.Sprint("copy", copies)
			copyStore(t, filepath.Join(dir, name), filepath.Join(dir, copied))
			return copied
		},
		Open: func(t testing.TB, name string) kv.Store {
			s, err := Open(filepath.Join(dir, name), Options{Now: clock.Now})
			must(err)
			return s
		},
	})
}

func TestStore_KeepsTheContractFromItsCache(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	kvtest.Run(t, kvtest.Maker{
		Kept:    true,
		Shown:   true,
		Advance: clock.Advance,
		Open: func(t testing.TB, name string) kv.Store {
			s, err := Open(filepath.Join(dir, name), Options{Now: clock.Now, Durability: Unsynced})
			must(err)
			return s
		},
	})
}

// copyStore copies the files of an open store until they stay the same, since the store may be
// moving its table.
func copyStore(t testing.TB, from, to string) {
	t.Helper()
	last := files(from)
	for {
		now := files(from)
		if maps.Equal(now, last) {
			break
		}
		last = now
	}
	for end, data := range last {
		must(os.WriteFile(to+end, []byte(data), 0o600))
	}
}
