package boltkv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
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
			s, err := boltkv.Open(filepath.Join(dir, name), boltkv.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}

// copyStore copies the files of a store that is open, and at rest, to another path.
func copyStore(t testing.TB, from, to string) {
	t.Helper()
	for _, end := range []string{"", ".log0", ".log1"} {
		data, err := os.ReadFile(from + end)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		check(os.WriteFile(to+end, data, 0o600))
	}
}
