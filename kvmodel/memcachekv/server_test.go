package memcachekv_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func TestMemcached_RestartedUnderLoad_NeverLooksEmpty(t *testing.T) {
	bothWays(t, func(t *testing.T, opts memcachekv.Options) {
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
		if err := server.Start(); err != nil {
			t.Error(err)
		}
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

// full starts a server of 2 MB that refuses writes rather than evict, and adds
// items of the given size until it does.
func full(t *testing.T, s kv.Store, size int) {
	t.Helper()
	for i := 0; ; i++ {
		_, err := kv.One(t.Context(), s, kv.OpAdd(fmt.Sprintf("fill%d.%d", size, i), make([]byte, size)))
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
	bothWays(t, func(t *testing.T, opts memcachekv.Options) {
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
		if got := string(one(t, ctx, s, kv.OpGet("n")).Value); got != "9" {
			t.Errorf("the number is %q, want 9", got)
		}
		one(t, ctx, s, kv.OpDelete("k"))
	})
}

func TestMemcached_WithoutCas_IsRefused(t *testing.T) {
	s := open(t, memcachekv.Options{}, memcached(t, "-C").Addr)
	_, err := kv.One(t.Context(), s, kv.OpAdd("k", nil))
	if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "-C") {
		t.Errorf("ended in %v, want an ErrUnavailable that names the option", err)
	}
}

func TestMemcached_FiveThousandLongKeys_AreOneTrip(t *testing.T) {
	bothWays(t, func(t *testing.T, opts memcachekv.Options) {
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
