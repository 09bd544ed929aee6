package boltkv_test

import (
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

// must returns v, or panics: what a test or benchmark needs to go on.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func openAt(t testing.TB, path string, opts boltkv.Options) *boltkv.Store {
	t.Helper()
	s, err := boltkv.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
