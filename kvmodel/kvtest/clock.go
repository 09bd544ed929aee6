package kvtest

import (
	"sync/atomic"
	"time"
)

// Clock is the clock of a process, which may be wrong; see kvmodel.Clock. The zero Clock is right.
type Clock struct{ ahead atomic.Int64 }

// Now returns the time shown by the clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Set sets the clock ahead by d, or back if d is negative.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(int64(d)) }
