package kv

import (
	"cmp"
	"context"
	"time"
)

// Sleep waits for d and returns true. It returns false if ctx ends first, and at once if d would
// pass the deadline.
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

// TooLate returns an ErrUnavailable that wraps the reason why [Sleep] or [Pause] returned false.
func TooLate(ctx context.Context) error {
	// ctx may not have ended yet.
	return Unavailable(cmp.Or(Ended(ctx), context.DeadlineExceeded))
}

// Jitter returns a random duration from 0 to limit.
func Jitter(limit time.Duration) time.Duration {
	return time.Duration(Random() % uint64(limit+1))
}
