package web

import (
	"sync/atomic"
	"time"
)

// counts is what the site has done since it was started.
type counts struct {
	requests [6]atomic.Int64 // by the hundreds of their status
	bytes    atomic.Int64
	micros   atomic.Int64
	open     atomic.Int64
}

func newCounts() *counts { return new(counts) }

func (c *counts) add(status int, bytes int64, took time.Duration) {
	c.requests[min(max(status/100, 1), 5)].Add(1)
	c.bytes.Add(bytes)
	c.micros.Add(took.Microseconds())
}
