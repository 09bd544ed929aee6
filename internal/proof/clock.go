package proof

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that moves only when a test advances it.
type Clock struct{ now atomic.Pointer[time.Time] }

// NewClock returns a clock that shows the time at.
func NewClock(at time.Time) *Clock {
	c := new(Clock)
	c.now.Store(&at)
	return c
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return *c.now.Load() }

// Advance advances the clock by d.
func (c *Clock) Advance(d time.Duration) {
	for was := c.now.Load(); ; was = c.now.Load() {
		if next := was.Add(d); c.now.CompareAndSwap(was, &next) {
			return
		}
	}
}
