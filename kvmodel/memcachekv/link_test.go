package memcachekv

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestLane_Failure_IsUnclearOnlyOnceTheRequestWasWrittenInFull(t *testing.T) {
	const timeout = 200 * time.Millisecond
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	l := &link{server: newServer("a:1", Options{Timeout: timeout, Conns: 1}), ctx: t.Context()}
	l.asked = true // as the previous request left it
	w := &wire{Conn: near, link: l}

	w.SetDeadline(time.Now().Add(timeout))
	_, err := w.Write([]byte("delete k\r\n"))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnavailable) {
		t.Errorf("a write that no one received is %v, want ErrUnavailable", got)
	}

	go io.Copy(io.Discard, far)
	w.SetDeadline(time.Now().Add(timeout))
	if _, err := w.Write([]byte("delete k\r\n")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Read(make([]byte, 10))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnclear) {
		t.Errorf("a write that no one answered is %v, want ErrUnclear", got)
	}
}

func TestLink_Batch_WhatWasNotWrittenInFullIsUnavailable(t *testing.T) {
	const timeout = 200 * time.Millisecond
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	l := newLink(newServer("a:1", Options{Timeout: timeout, Conns: 1}))
	l.ctx = t.Context()
	l.conn = &wire{Conn: near, link: l}
	// Two of three commands arrive, and one byte.
	const command = "add k0 0 0 1\r\nv\r\n"
	go io.ReadFull(far, make([]byte, 2*len(command)+1))
	var ops []*kv.Op
	for _, key := range []string{"k0", "k1", "k2"} {
		op := kv.OpAdd(key, []byte("v"))
		ops = append(ops, &op)
	}
	get := kv.OpGet("k")
	l.batch(slices.Clone(ops), []*kv.Op{&get})
	for i, want := range []error{kv.ErrUnclear, kv.ErrUnclear, kv.ErrUnavailable} {
		if err := ops[i].Result.Err; !errors.Is(err, want) {
			t.Errorf("add %d ended in %v, want %v", i, err, want)
		}
	}
	if err := get.Result.Err; !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("the get ended in %v, want ErrUnavailable", err)
	}
}

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
		must(t, err)
		t.Cleanup(p.Kill)
		return open(t, patient, p.Addr).findings(t.Context())
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
	s := open(t, Options{Timeout: time.Second}, "127.0.0.1:1")
	wantTold(t, s.findings(t.Context()), "unknown a server could not be checked: 127.0.0.1:1: ")
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
