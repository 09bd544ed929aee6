package main

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// sample is what one measurement of a workload on a peer has found.
type sample struct {
	P50, P99      float64 // microseconds
	Ops           float64 // a second
	Allocs, Bytes float64 // for each op, in the process of the peer
	Trips         float64 // for each op, of a peers.Layer
	Failed        int     // ops
	Error         string  // of the first of them, or why nothing was measured
}

// measure has clients call work for a while.
func measure(ctx context.Context, p peers.Peer, work op, clients int, lasts time.Duration) sample {
	layer, _ := p.(peers.Layer)
	trips := func() int64 {
		if layer == nil {
			return 0
		}
		return layer.Trips()
	}
	histograms := make([]histogram, clients)
	var failed atomic.Int64
	var failure atomic.Pointer[string]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tripsBefore := trips()
	start := time.Now()
	end := start.Add(lasts)
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			// A client that starts late calls work once all the same.
			for now, again := time.Now(), true; again; again = now.Before(end) {
				err := work(ctx, r)
				then := time.Now()
				if err != nil {
					text := err.Error()
					failure.CompareAndSwap(nil, &text)
					failed.Add(1)
				} else {
					histograms[client].add(then.Sub(now))
				}
				now = then
			}
		})
	}
	running.Wait()
	// What a peer does after its replies belongs to the work.
	if err := p.Flush(ctx); err != nil {
		text := err.Error()
		failure.CompareAndSwap(nil, &text)
		failed.Add(1)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)

	all := &histograms[0]
	for i := range histograms[1:] {
		all.merge(&histograms[i+1])
	}
	done := float64(max(all.count, 1))
	s := sample{
		P50: all.quantile(0.5), P99: all.quantile(0.99), Ops: float64(all.count) / took.Seconds(),
		Allocs: float64(after.Mallocs-before.Mallocs) / done, Bytes: float64(after.TotalAlloc-before.TotalAlloc) / done,
		Trips: float64(trips()-tripsBefore) / done, Failed: int(failed.Load()),
	}
	if text := failure.Load(); text != nil {
		s.Error = *text
	}
	return s
}

// histogram counts durations in buckets that are less than 2 % wide.
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

// floorOf returns the least duration in a bucket, in nanoseconds.
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

// quantile returns the duration that the part q of all stay below, in microseconds.
func (h *histogram) quantile(q float64) float64 {
	want := int(q*float64(h.count)) + 1
	for i, n := range h.buckets {
		if want -= int(n); want <= 0 {
			return float64(floorOf(i)) / 1000
		}
	}
	return 0
}
