package demo_test

import (
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var cheap = guard.HashCost{Passes: 1, Memory: 8, Threads: 1}

func newStore(t *testing.T) kv.Store {
	t.Helper()
	store := memkv.New(memkv.Options{})
	t.Cleanup(func() { store.Close() })
	return store
}

func wantFilled(t *testing.T, store kv.Store, pages, want int) {
	t.Helper()
	made, err := demo.Fill(t.Context(), store, demo.Plan{Pages: pages, Password: "snow on the line", Hash: cheap})
	if made != want || err != nil {
		t.Fatalf("Fill of %d pages: want %d made, got %d, %v", pages, want, made, err)
	}
}

// Every text keeps the rules of the site, which refuses any other.
func TestFill_MakesOnlyWhatIsMissing(t *testing.T) {
	store := newStore(t)
	wantFilled(t, store, 0, 0)
	wantFilled(t, store, 12, 12)
	wantFilled(t, store, 12, 0)
	wantFilled(t, store, 3, 0)
	wantFilled(t, store, 300, 288)
	wantFilled(t, store, 300, 0)
}
