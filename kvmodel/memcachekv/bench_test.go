package memcachekv_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

// clients holds the raw client and the store, on the same server with the same
// twenty items.
type clients struct {
	raw   *memcache.Client
	store *memcachekv.Store
	all   *memcachekv.Store // with PipelineAll
	keys  []string
}

func newClients(t testing.TB) clients {
	t.Helper()
	addr := memcached(t).Addr
	c := clients{raw: memcache.New(addr), store: open(t, memcachekv.Options{}, addr), all: open(t, memcachekv.Options{PipelineAll: true}, addr)}
	c.raw.MaxIdleConns = 64
	t.Cleanup(func() { c.raw.Close() })
	for i := range 20 {
		c.keys = append(c.keys, fmt.Sprint("page:", i))
		if _, err := kv.One(context.Background(), c.store, kv.OpSet(c.keys[i], bytes.Repeat([]byte("x"), 1024))); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c clients) rawGet() error {
	_, err := c.raw.Get(c.keys[0])
	return err
}

func (c clients) storeGet(ctx context.Context) error { return c.getOf(ctx, c.store) }
func (c clients) allGet(ctx context.Context) error   { return c.getOf(ctx, c.all) }

func (c clients) getOf(ctx context.Context, s kv.Store) error {
	ops := [1]kv.Op{kv.OpGet(c.keys[0])}
	return s.Do(ctx, ops[:])
}

// rawGetMulti returns the items in the order of the keys, as the store does.
func (c clients) rawGetMulti() error {
	found, err := c.raw.GetMulti(c.keys)
	items := make([]*memcache.Item, len(c.keys))
	for i, key := range c.keys {
		items[i] = found[key]
	}
	return err
}

func (c clients) storeGetAll(ctx context.Context) error {
	_, err := kv.GetAll(ctx, c.store, c.keys...)
	return err
}

func (c clients) allGetAll(ctx context.Context) error {
	_, err := kv.GetAll(ctx, c.all, c.keys...)
	return err
}

func TestStore_Get_AllocatesAtMostFourTimesMoreThanTheRawClient(t *testing.T) {
	c := newClients(t)
	allocs := func(get func() error) float64 {
		return proof.Allocs(500, func() {
			if err := get(); err != nil {
				t.Error(err)
			}
		})
	}
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	raw := allocs(c.rawGet)
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancellable": cancellable} {
		if store := allocs(func() error { return c.storeGet(ctx) }); store > raw+4 {
			t.Errorf("%s context: %v allocations per get, the raw client has %v", name, store, raw)
		} else {
			t.Logf("%s context: %v allocations per get, the raw client has %v", name, store, raw)
		}
	}
}

// BenchmarkGet compares a get through the raw client with one through the store,
// whose context can be canceled as a request's can.
func BenchmarkGet(b *testing.B) {
	c := newClients(b)
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("raw/clients=%d", n), func(b *testing.B) { run(b, n, func(context.Context) error { return c.rawGet() }) })
		b.Run(fmt.Sprintf("store/clients=%d", n), func(b *testing.B) { run(b, n, c.storeGet) })
	}
}

// BenchmarkGet20 compares twenty gets in one trip.
func BenchmarkGet20(b *testing.B) {
	c := newClients(b)
	b.Run("raw", func(b *testing.B) { run(b, 1, func(context.Context) error { return c.rawGetMulti() }) })
	b.Run("store", func(b *testing.B) { run(b, 1, c.storeGetAll) })
}

// BenchmarkSet5 is a trip of five writes.
func BenchmarkSet5(b *testing.B) {
	c := newClients(b)
	value := bytes.Repeat([]byte("x"), 300)
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			run(b, n, func(ctx context.Context) error {
				var ops [5]kv.Op
				for i := range ops {
					ops[i] = kv.OpSet(c.keys[i], value)
				}
				return c.store.Do(ctx, ops[:])
			})
		})
	}
}

func run(b *testing.B, clients int, get func(context.Context) error) {
	b.ReportAllocs()
	timed(b, clients, b.N, get)
}

// timed has that many clients, each under a context of its own, call get
// calls times in all, and returns how long it took.
func timed(b *testing.B, clients, calls int, get func(context.Context) error) time.Duration {
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for done.Add(1) <= int64(calls) {
				if err := get(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// BenchmarkRatio reports the store's throughput as a share of the raw client's:
// the median of many short rounds, each of which measures one right after the
// other.
func BenchmarkRatio(b *testing.B) {
	c := newClients(b)
	rawGet := func(context.Context) error { return c.rawGet() }
	rawGetMulti := func(context.Context) error { return c.rawGetMulti() }
	b.Run("get/clients=1", func(b *testing.B) { takeTurns(b, 1, rawGet, c.storeGet) })
	b.Run("get/clients=32", func(b *testing.B) { takeTurns(b, 32, rawGet, c.storeGet) })
	b.Run("get20/clients=1", func(b *testing.B) { takeTurns(b, 1, rawGetMulti, c.storeGetAll) })
	b.Run("all/get/clients=1", func(b *testing.B) { takeTurns(b, 1, rawGet, c.allGet) })
	b.Run("all/get/clients=32", func(b *testing.B) { takeTurns(b, 32, rawGet, c.allGet) })
	b.Run("all/get20/clients=1", func(b *testing.B) { takeTurns(b, 1, rawGetMulti, c.allGetAll) })
	b.Run("all/get20/clients=32", func(b *testing.B) { takeTurns(b, 32, rawGetMulti, c.allGetAll) })
}

func takeTurns(b *testing.B, clients int, raw, store func(context.Context) error) {
	const calls = 500
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, float64(timed(b, clients, calls, raw))/float64(timed(b, clients, calls, store)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "store/raw")
}
