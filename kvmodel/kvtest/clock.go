package kvtest

import (
	"sync/atomic"
	"time"
)

// Clock is the clock of a process, which may be wrong. The zero Clock is right. A
// database reads it if it is opened with kvmodel.Clock(c.Now).
type Clock struct{ ahead atomic.Int64 }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Set makes the clock show the time d ahead, or behind if d is negative.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(int64(d)) }
