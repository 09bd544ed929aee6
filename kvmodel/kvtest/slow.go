package kvtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Slow is a store as far away as one in the next rack, once it was told to Wait:
// only then do trips that are sent side by side overlap, so that those in sequence
// can be counted.
type Slow struct {
	kv.Store
	wait atomic.Int64
}

// Wait has every trip from now on wait for d before it is made.
func (s *Slow) Wait(d time.Duration) { s.wait.Store(int64(d)) }

// Powers returns those of the store that is slow.
func (s *Slow) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Do waits, and then makes the trip.
func (s *Slow) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(time.Duration(s.wait.Load()))
	return s.Store.Do(ctx, ops)
}
