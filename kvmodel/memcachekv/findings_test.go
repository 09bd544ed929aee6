package memcachekv

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func wantTold(t *testing.T, found []kv.Finding, texts ...string) {
	t.Helper()
	var all strings.Builder
	for _, f := range found {
		all.WriteString(string(f.Is) + " " + f.Text + "\n")
	}
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			t.Errorf("want %q in\n%s", text, &all)
		}
	}
}

func TestFindings_OfAServerThatRuns(t *testing.T) {
	servers.Need(t, "memcached")
	found := func(start func(...string) (*servers.Process, error), args ...string) []kv.Finding {
		p, err := start(args...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		s, err := OpenVolatile([]string{p.Addr}, Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return kv.PowersOf(s).Findings(t.Context())
	}
	wantTold(t, found(servers.MemcachedThatEvicts, "-I", "512k"), "drops items when its memory is full, 0 so far: start it with -M",
		"it accepts items of up to 524288 bytes", ": 0 % of its memory is used", ": its clock is that of this machine")
	all := found(servers.Memcached)
	wantTold(t, all, "drops nothing (-M)")
	for _, f := range all {
		if f.Is != kv.Fine {
			t.Errorf("with -M: %s %s", f.Is, f.Text)
		}
	}
}

func TestFindings_WhatAServerDoesNotSayIsNotFine(t *testing.T) {
	var silent told
	found := silent.judge("127.0.0.1:11211")
	if len(found) != 1 {
		t.Errorf("want one finding, got %v", found)
	}
	wantTold(t, found, "unknown 127.0.0.1:11211: it does not report evictions, whether it evicts, item_size_max, bytes, maxbytes, time, so that could not be checked")
	s, err := OpenVolatile([]string{"127.0.0.1:1"}, Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantTold(t, kv.PowersOf(s).Findings(t.Context()), "unknown a server could not be checked: 127.0.0.1:1: ")
}

func TestFindings_AServerThatIsFullOrFarAwayOrLateHurts(t *testing.T) {
	at := time.Unix(1000, 0)
	busy := told{
		settings: map[string]string{"evictions": "on", "item_size_max": "1048576", "maxbytes": "100"},
		stats:    map[string]string{"evictions": "7", "bytes": "90", "time": "940"},
		asked:    at,
	}
	wantTold(t, busy.judge("cache-1:11211"), "memory is full, 7 so far", "90 % of its memory is used: raise -m", "its clock is 1m0s behind", "without TLS and password")
}
