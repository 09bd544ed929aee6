package boltkv_test

import (
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

func TestStore_KeepsTheContract(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	kvtest.Run(t, kvtest.Maker{
		Kept:    true,
		Advance: clock.Advance,
		Open: func(t testing.TB, name string) kv.Store {
			s, err := boltkv.Open(filepath.Join(dir, name), boltkv.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}
