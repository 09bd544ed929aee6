package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

func TestCompactAll_SaysWhatItDidAndStopsAtAFailure(t *testing.T) {
	good, missing := filepath.Join(t.TempDir(), "store.db"), filepath.Join(t.TempDir(), "none.db")
	s, err := boltkv.Open(good, boltkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = compactAll(&out, []string{good, missing, good})
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("error is %v, want one about %s", err, missing)
	}
	if got := strings.Count(out.String(), good+": "); got != 1 {
		t.Errorf("it says %q, want one line about %s", out.String(), good)
	}
}
