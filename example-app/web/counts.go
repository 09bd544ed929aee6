package web

import (
	"sync/atomic"
	"time"
)

// totals counts what the site has done since it started.
type totals struct {
	requests [6]atomic.Int64 // by the first digit of their status
	bytes    atomic.Int64
	micros   atomic.Int64
	open     atomic.Int64
}

func (t *totals) add(status int, bytes int64, took time.Duration) {
	t.requests[min(max(status/100, 1), 5)].Add(1)
	t.bytes.Add(bytes)
	t.micros.Add(took.Microseconds())
}
