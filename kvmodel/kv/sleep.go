package kv

import (
	"context"
	"time"
)

// Sleep waits for d and returns true. It returns false if ctx ends first, and
// at once if d would pass its deadline.
func Sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Jitter returns a random duration from 0 to limit.
func Jitter(limit time.Duration) time.Duration {
	return time.Duration(Random() % uint64(limit+1))
}
