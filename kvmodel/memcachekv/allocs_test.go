package memcachekv_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func TestStore_Get_AllocatesAtMostFourTimesMoreThanTheRawClient(t *testing.T) {
	addr := memcached(t).Addr
	client, s := memcache.New(addr), open(t, memcachekv.Options{}, addr)
	t.Cleanup(func() { client.Close() })
	if _, err := kv.One(context.Background(), s, kv.OpSet("page", bytes.Repeat([]byte("x"), 1024))); err != nil {
		t.Fatal(err)
	}
	allocs := func(get func() error) float64 {
		return proof.Allocs(500, func() {
			if err := get(); err != nil {
				t.Error(err)
			}
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
