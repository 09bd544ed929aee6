package main

import (
	"cmp"
	"context"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

type sample struct {
	P50, P99  float64 // microseconds
	Ops       float64 // per second
	Slow      float64 // percent of the clients' time in ops of more than 5 ms
	CPU       float64
	ServerCPU float64
	Allocs    float64
	Bytes     float64
	Written   float64 // per op, of a peer without a server

	Kinds map[string]latency // if there are several

	Failed int
	Error  string
}

type latency struct{ P50, P99 float64 }

const slowly = 5 * time.Millisecond

type client struct {
	all    histogram
	kinds  map[string]*histogram
	slow   time.Duration
	failed int
	first  error
}

// work makes c do operations until end, at least once.
func (c *client) work(ctx context.Context, do op, end time.Time) {
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for now, again := time.Now(), true; again; again = now.Before(end) {
		kind, err := do(ctx, r)
		then := time.Now()
		runtime.Gosched() // as a server's goroutine waits for its next request
		took := then.Sub(now)
		now = time.Now()
		if err != nil {
			c.failed, c.first = c.failed+1, cmp.Or(c.first, err)
			continue
		}
		c.all.add(took)
		if took > slowly {
			c.slow += took
		}
		if kind != "" {
			if c.kinds[kind] == nil {
				c.kinds[kind] = new(histogram)
			}
			c.kinds[kind].add(took)
		}
	}
}

type spent struct {
	at          time.Time
	memory      runtime.MemStats
	cpu, server time.Duration
	written     int64
}

func (s *subject) spent() (now spent) {
	now.server, now.written, now.cpu = place.CPU(s.server), place.Written(), place.OwnCPU()
	runtime.ReadMemStats(&now.memory)
	now.at = time.Now()
	return now
}

func (s *subject) measure(ctx context.Context, do op, clients int, lasts time.Duration) sample {
	found := make([]client, clients)
	runtime.GC()
	before := s.spent()
	end := before.at.Add(lasts)
	var running sync.WaitGroup
	for i := range found {
		found[i].kinds = map[string]*histogram{}
		running.Go(func() { found[i].work(ctx, do, end) })
	}
	running.Wait()
	// Work after replies counts.
	flushed := s.flush(ctx)
	after := s.spent()

	all := &found[0]
	for i := range found[1:] {
		all.merge(&found[i+1])
	}
	n, took := float64(max(all.all.count, 1)), after.at.Sub(before.at)
	us := func(d time.Duration) float64 { return float64(d) / 1e3 / n }
	result := sample{
		P50: all.all.quantile(0.5), P99: all.all.quantile(0.99), Ops: float64(all.all.count) / took.Seconds(),
		Slow: 100 * float64(all.slow) / float64(took) / float64(clients),
		CPU:  us(after.cpu - before.cpu), ServerCPU: us(after.server - before.server),
		Allocs: float64(after.memory.Mallocs-before.memory.Mallocs) / n,
		Bytes:  float64(after.memory.TotalAlloc-before.memory.TotalAlloc) / n,
		Kinds:  map[string]latency{}, Failed: all.failed,
	}
	if s.server == 0 {
		result.Written = float64(after.written-before.written) / n
	}
	for kind, h := range all.kinds {
		result.Kinds[kind] = latency{h.quantile(0.5), h.quantile(0.99)}
	}
	if flushed != nil {
		result.Failed, all.first = result.Failed+1, cmp.Or(all.first, flushed)
	}
	if all.first != nil {
		result.Error = all.first.Error()
	}
	return result
}

func (c *client) merge(other *client) {
	c.all.merge(&other.all)
	for kind, h := range other.kinds {
		if c.kinds[kind] == nil {
			c.kinds[kind] = new(histogram)
		}
		c.kinds[kind].merge(h)
	}
	c.slow, c.failed, c.first = c.slow+other.slow, c.failed+other.failed, cmp.Or(c.first, other.first)
}

// histogram counts durations in buckets less than 2 % wide.
type histogram struct {
	buckets [64 * steps]uint32
	count   int
}

const steps = 64 // buckets for each power of two

func (h *histogram) add(d time.Duration) {
	h.count++
	h.buckets[bucketOf(uint64(max(d, 0)))]++
}

func bucketOf(ns uint64) int {
	if ns < steps {
		return int(ns)
	}
	shift := bits.Len64(ns) - 7 // leaves a number from 64 to 127
	return shift*steps + int(ns>>shift)
}

func floorOf(bucket int) uint64 {
	if bucket < steps {
		return uint64(bucket)
	}
	shift := bucket/steps - 1
	return uint64(bucket-shift*steps) << shift
}

func (h *histogram) merge(other *histogram) {
	h.count += other.count
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
}

// quantile returns microseconds.
func (h *histogram) quantile(q float64) float64 {
	want := int(q*float64(h.count)) + 1
	for i, n := range h.buckets {
		if want -= int(n); want <= 0 {
			return float64(floorOf(i)) / 1000
		}
	}
	return 0
}
