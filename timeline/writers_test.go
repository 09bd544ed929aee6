package timeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// BenchmarkWriters compares 64 writers of a timeline with 64 that only increment and
// append, by turns. Trims are included. x-bare is how many times as fast the timeline
// is, the median of all turns.
func BenchmarkWriters(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) kv.Store
	}{
		{"memkv", func(*testing.B) kv.Store { return memkv.New(memkv.Options{}) }},
		{"boltkv", openBolt},
		{"memcachekv", openMemcached},
		{"rediskv", openRedis},
		{"cluster", openCluster},
	} {
		b.Run(store.name, func(b *testing.B) { compareWriters(b, store.open(b)) })
	}
}

// writersTurn is how many entries are written in one turn.
const writersTurn = 4000

func compareWriters(b *testing.B, s kv.Store) {
	ring, bare := newRingWriters(b, s), newBareWriters(b, s)
	took(b, ring)
	took(b, bare)
	b.ResetTimer()
	var ratios []float64
	for range max(1, b.N/writersTurn) {
		ratios = append(ratios, float64(took(b, bare))/float64(took(b, ring)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-bare")
}

// writing is one way to write: write stores an entry, and end finishes a turn.
type writing struct {
	write func(i int) error
	end   func() error
}

// took returns how long 64 writers take for a turn.
func took(b *testing.B, w writing) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for first := range writers {
		wg.Go(func() {
			for i := first; i < writersTurn; i += writers {
				if err := w.write(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := w.end(); err != nil {
		b.Error(err)
	}
	return time.Since(start)
}

func openBolt(b *testing.B) kv.Store {
	s, err := boltkv.Open(filepath.Join(b.TempDir(), "store.db"), boltkv.Options{})
	must(b, err)
	return s
}

func openMemcached(b *testing.B) kv.Store {
	servers.Need(b, "memcached")
	p, err := servers.Memcached()
	must(b, err)
	b.Cleanup(p.Stop)
	s, err := memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{})
	must(b, err)
	return s
}

func openRedis(b *testing.B) kv.Store {
	servers.Need(b, "redis-server")
	p, err := servers.Redis()
	must(b, err)
	b.Cleanup(p.Stop)
	s, err := rediskv.Open(context.Background(), rediskv.Options{Addrs: []string{p.Addr}})
	must(b, err)
	return s
}

func openCluster(b *testing.B) kv.Store {
	servers.Need(b, "redis-server")
	cluster, err := servers.RedisCluster()
	must(b, err)
	b.Cleanup(cluster.Stop)
	s, err := rediskv.Open(context.Background(), rediskv.Options{Addrs: cluster.Addrs()})
	must(b, err)
	return s
}

const writers = 64

func newRingWriters(b *testing.B, s kv.Store) writing {
	db, err := kvmodel.Open(still{s})
	must(b, err)
	b.Cleanup(func() { _ = db.Close(context.Background()) })
	l := newLane(newProcess(db), "t:T:N:", ownShapes(Shape{}.shape()))
	write := func(i int) error {
		_, err := l.push(context.Background(), fmt.Sprintf("%026d", i))
		return err
	}
	return writing{write, func() error { return db.Flush(context.Background()) }}
}

// newBareWriters keeps its keys from growing, too, by emptying each before it is used
// again.
func newBareWriters(b *testing.B, s kv.Store) writing {
	ctx := context.Background()
	set := func(key string, value string) error {
		_, err := kv.One(ctx, s, kv.OpSet(key, []byte(value)))
		return err
	}
	g := Shape{}.shape()
	segment := func(n int64) string { return fmt.Sprint("bare:", g.segment(g.block(n))) }
	must(b, set("bare", "0"))
	for n := int64(0); n < g.width*g.blocks; n += g.width {
		must(b, set(segment(n), ""))
	}
	write := func(i int) error {
		r, err := kv.One(ctx, s, kv.OpIncrement("bare", 1))
		if err != nil {
			return err
		}
		if r.Number%g.width == 0 {
			if err := set(segment(r.Number+g.width), ""); err != nil {
				return err
			}
		}
		e := entry{r.Number, int64(i), fmt.Appendf(nil, "%026d", i)}
		_, err = kv.One(ctx, s, kv.OpAppend(segment(r.Number), seal(e.encode(nil))))
		return err
	}
	return writing{write, func() error { return nil }}
}
