package memcachekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestMemcached_RestartedUnderLoad_NeverLooksEmpty(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		server := memcached(t)
		s := open(t, opts, server.Addr)
		ctx := t.Context()
		one(t, ctx, s, kv.OpSet("k", []byte("v")))
		one(t, ctx, s, kv.OpSet("l", []byte("v")))
		var stop atomic.Bool
		var lost atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for !stop.Load() {
					ops := []kv.Op{kv.OpGet("k"), kv.OpGet("l"), kv.OpAppend("k", nil)}[:1+i%3]
					s.Do(ctx, ops)
					for _, op := range ops {
						switch err := op.Result.Err; {
						case errors.Is(err, kv.ErrLost):
							lost.Add(1)
						case err != nil && !kv.Failed(err):
							t.Errorf("%v %q was answered: %v", op.Kind, op.Key, err)
							return
						}
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		server.Kill()
		proof.Is(t, server.Start(), nil)
		for end := time.Now().Add(time.Minute); lost.Load() < 1000 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		stop.Store(true)
		wg.Wait()
		if lost.Load() == 0 {
			t.Error("no operation reported the loss")
		}
	})
}

// full adds items of the given size until the server of s, which evicts nothing, refuses some.
func full(t *testing.T, s kv.Store, size int) {
	t.Helper()
	for i := 0; ; i++ {
		err := s.Do(t.Context(), adds(fmt.Sprintf("fill%d.%d.", size, i), 50, size))
		if err == nil {
			continue
		}
		if !errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrUnclear) {
			t.Fatalf("an add to a full server ended in %v, want ErrUnavailable", err)
		}
		return
	}
}

func TestMemcached_Full_RefusesAndKeepsWhatIsThere(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		opts.Timeout = time.Minute // Nothing is silent here.
		s := open(t, opts, memcached(t, "-m", "2").Addr)
		ctx := t.Context()
		value := bytes.Repeat([]byte("x"), 900)
		one(t, ctx, s, kv.OpSet("k", value))
		one(t, ctx, s, kv.OpSet("n", []byte("9")))
		for _, size := range []int{10_000, 900, 400, 100, 1} {
			full(t, s, size)
		}
		version := one(t, ctx, s, kv.OpGet("k")).Version
		one(t, ctx, s, kv.OpSet("k", value[:899]), kv.ErrUnavailable)
		one(t, ctx, s, kv.OpSwap("k", version, value[:899]), kv.ErrUnavailable)
		one(t, ctx, s, kv.OpDrop("k", version), kv.ErrUnavailable)
		one(t, ctx, s, kv.OpIncrement("n", 1), kv.ErrUnavailable)
		if _, err := kv.One(ctx, s, kv.OpAppend("k", value)); !errors.Is(err, kv.ErrNotStored) && !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("an append ended in %v", err)
		}
		got := one(t, ctx, s, kv.OpGet("k"))
		if !bytes.Equal(got.Value, value) || got.Version != version {
			t.Errorf("the item has changed: %.20q..., version %d, was %d", got.Value, got.Version, version)
		}
		proof.Equal(t, string(one(t, ctx, s, kv.OpGet("n")).Value), "9", "the number")
		one(t, ctx, s, kv.OpDelete("k"))
	})
}

func TestMemcached_WithoutCas_IsRefused(t *testing.T) {
	s := open(t, Options{}, memcached(t, "-C").Addr)
	_, err := kv.One(t.Context(), s, kv.OpAdd("k", nil))
	if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "-C") {
		t.Errorf("ended in %v, want an ErrUnavailable that names the option", err)
	}
}

func TestMemcached_FiveThousandLongKeys_AreOneTrip(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		s := open(t, opts, memcached(t).Addr)
		ops := make([]kv.Op, 5000)
		for i := range ops {
			ops[i] = kv.OpGet(fmt.Sprintf("%0250d", i))
		}
		one(t, t.Context(), s, kv.OpSet(ops[4999].Key, []byte("v")))
		must(t, s.Do(t.Context(), ops))
		if got := string(ops[4999].Result.Value); got != "v" {
			t.Errorf("the last key is %q, %v", got, ops[4999].Result.Err)
		}
	})
}

func TestStore_Get_AllocatesAtMostFourTimesMoreThanTheRawClient(t *testing.T) {
	addr := memcached(t).Addr
	client, s := memcache.New(addr), open(t, Options{}, addr)
	t.Cleanup(func() { client.Close() })
	proof.Done(t)(kv.One(context.Background(), s, kv.OpSet("page", bytes.Repeat([]byte("x"), 1024))))
	allocs := func(get func() error) float64 {
		return proof.Allocs(500, func() {
			proof.Is(t, get(), nil)
		})
	}
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	raw := allocs(func() error { _, err := client.Get("page"); return err })
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancellable": cancellable} {
		store := allocs(func() error {
			ops := [1]kv.Op{kv.OpGet("page")}
			return s.Do(ctx, ops[:])
		})
		if store > raw+4 {
			t.Errorf("%s context: %v allocations per get, the raw client has %v", name, store, raw)
		}
	}
}

func TestStore_Keys_MissesNoneThatIsReadMeanwhile(t *testing.T) {
	// On a busy machine a server, its crawler and its readers may all wait for longer than a
	// second.
	s := open(t, patient, memcached(t).Addr)
	const n = 2000
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("key-", i))
		one(t, t.Context(), s, kv.OpSet(keys[i], make([]byte, 10*(i%100))))
	}
	ctx, stop := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	for range 2 {
		ends.Go(func() {
			for ctx.Err() == nil {
				_, _ = kv.GetAll(ctx, s, keys...)
			}
		})
	}
	for range 20 {
		missing := make(map[string]bool)
		for _, key := range keys {
			missing[key] = true
		}
		err := kv.PowersOf(s).Keys(t.Context(), "key-", func(some []string) error {
			for _, key := range some {
				delete(missing, key)
			}
			return nil
		})
		if err != nil || len(missing) > 0 {
			t.Errorf("%d of %d keys were not listed, %v", len(missing), n, err)
		}
	}
	stop()
	ends.Wait()
}

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
	proof.Done(t)(w.Write([]byte("delete k\r\n")))
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
		proof.Is(t, ops[i].Result.Err, want)
	}
	proof.Is(t, get.Result.Err, kv.ErrUnavailable)
}

func wantTold(t *testing.T, found []kv.Finding, texts ...string) {
	t.Helper()
	var all strings.Builder
	for _, f := range found {
		all.WriteString(string(f.Is) + " " + f.Text + "\n")
	}
	for _, text := range texts {
		proof.Contains(t, all.String(), text)
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
	proof.Len(t, found, 1, "one finding")
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
