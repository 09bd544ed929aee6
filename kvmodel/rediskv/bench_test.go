package rediskv

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// call is one of the calls that are compared.
type call func(context.Context) error

// BenchmarkRatio reports the store's throughput as a share of the raw client's: the
// median of many short rounds, each of which measures one right after the other.
func BenchmarkRatio(b *testing.B) {
	s, keys := openAt(b, serverAddr(b)), make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprint("page:", i)
		if _, err := kv.One(context.Background(), s, kv.OpSet(keys[i], make([]byte, 1024))); err != nil {
			b.Fatal(err)
		}
	}
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: s.opts.Addrs, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(raw.Close)
	text := newText(make([]byte, 1024))
	for _, c := range []struct {
		name  string
		raw   call
		store call
	}{
		{
			"get",
			func(ctx context.Context) error {
				_, err := raw.Do(ctx, raw.B().Get().Key(keys[0]).Build()).AsBytes()
				return err
			},
			func(ctx context.Context) error { _, err := kv.One(ctx, s, kv.OpGet(keys[0])); return err },
		},
		{
			"get20",
			func(ctx context.Context) error {
				texts, err := raw.Do(ctx, raw.B().Mget().Key(keys...).Build()).ToArray()
				for i := range texts {
					if _, err := texts[i].AsBytes(); err != nil {
						return err
					}
				}
				return err
			},
			func(ctx context.Context) error { _, err := kv.GetAll(ctx, s, keys...); return err },
		},
		{
			"set",
			func(ctx context.Context) error {
				return raw.Do(ctx, raw.B().Set().Key(keys[0]).Value(text).Build()).Error()
			},
			func(ctx context.Context) error {
				_, err := kv.One(ctx, s, kv.OpSet(keys[0], []byte(text[headLen:])))
				return err
			},
		},
		{
			"add5",
			func(ctx context.Context) error {
				cmds := make([]rueidis.Completed, 5)
				for i := range cmds {
					cmds[i] = raw.B().Set().Key(keys[i]).Value(text).Nx().Build()
				}
				for _, r := range raw.DoMulti(ctx, cmds...) {
					if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
						return err
					}
				}
				return nil
			},
			func(ctx context.Context) error {
				ops := make([]kv.Op, 5)
				for i := range ops {
					ops[i] = kv.OpAdd(keys[i], []byte(text[headLen:]))
				}
				return s.Do(ctx, ops)
			},
		},
	} {
		for _, clients := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/clients=%d", c.name, clients), func(b *testing.B) { takeTurns(b, clients, c.raw, c.store) })
		}
	}
}

// BenchmarkGetAll20 is the store's part of get20 alone.
func BenchmarkGetAll20(b *testing.B) {
	s, keys := openAt(b, serverAddr(b)), make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprint("page:", i)
		if _, err := kv.One(context.Background(), s, kv.OpSet(keys[i], make([]byte, 1024))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	timed(b, 32, b.N, func(ctx context.Context) error { _, err := kv.GetAll(ctx, s, keys...); return err })
}

func takeTurns(b *testing.B, clients int, raw, store call) {
	const calls = 500
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, float64(timed(b, clients, calls, raw))/float64(timed(b, clients, calls, store)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "store/raw")
}

// timed has that many clients, each under a context of its own, make calls calls in
// all, and returns how long it took.
func timed(b *testing.B, clients, calls int, do call) time.Duration {
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for done.Add(1) <= int64(calls) {
				if err := do(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
