package timeline

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kvtest/servers"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// BenchmarkWriters compares 64 writers of one timeline with 64 that increment
// and append and do nothing else. The trims count.
func BenchmarkWriters(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) kvmodel.Store
	}{
		{"memkv", func(*testing.B) kvmodel.Store { return memkv.New(memkv.Options{}) }},
		{"boltkv", openBolt},
		{"memcachekv", openMemcached},
		{"rediskv", openRedis},
	} {
		b.Run(store.name, func(b *testing.B) {
			s := store.open(b)
			b.Run("ring", func(b *testing.B) { ringWriters(b, s) })
			b.Run("bare", func(b *testing.B) { bareWriters(b, s) })
		})
	}
}

func openBolt(b *testing.B) kvmodel.Store {
	s, err := boltkv.Open(filepath.Join(b.TempDir(), "store.db"), boltkv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func openMemcached(b *testing.B) kvmodel.Store {
	servers.Need(b, "memcached")
	p, err := servers.Memcached()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Stop)
	s, err := memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func openRedis(b *testing.B) kvmodel.Store {
	servers.Need(b, "redis-server")
	p, err := servers.Redis()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Stop)
	s, err := rediskv.Open(context.Background(), rediskv.Options{Addrs: []string{p.Addr}})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

const writers = 64

// writersDo calls f b.N times in all, from 64 writers.
func writersDo(b *testing.B, f func(i int) error) {
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			for i := w; i < b.N; i += writers {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func ringWriters(b *testing.B, s kvmodel.Store) {
	db, err := kvmodel.Open(still{s})
	if err != nil {
		b.Fatal(err)
	}
	l := newLane(newProcess(db), "t:T:N:", []shape{Shape{}.shape()})
	writersDo(b, func(i int) error {
		_, err := l.push(context.Background(), fmt.Sprintf("%026d", i))
		return err
	})
	if err := db.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

// bareWriters keeps its keys from growing too, by deleting one before it is
// used again.
func bareWriters(b *testing.B, s kvmodel.Store) {
	ctx := context.Background()
	if _, err := kvmodel.One(ctx, s, kvmodel.OpSet("bare", []byte("0"))); err != nil {
		b.Fatal(err)
	}
	const segments = 17
	key := func(n int64) string { return fmt.Sprint("bare:", n%segments) }
	clear := func(n int64) error {
		_, err := kvmodel.One(ctx, s, kvmodel.OpSet(key(n), nil))
		return err
	}
	for n := range int64(segments) {
		if err := clear(n); err != nil {
			b.Fatal(err)
		}
	}
	g := Shape{}.shape()
	writersDo(b, func(i int) error {
		r, err := kvmodel.One(ctx, s, kvmodel.OpIncrement("bare", 1))
		if err != nil {
			return err
		}
		e := entry{r.Number, int64(i), fmt.Appendf(nil, "%026d", i)}
		if r.Number%g.width == 0 {
			if err := clear(g.block(r.Number) + 1); err != nil {
				return err
			}
		}
		_, err = kvmodel.One(ctx, s, kvmodel.OpAppend(key(g.block(r.Number)), e.encode(nil)))
		return err
	})
}
