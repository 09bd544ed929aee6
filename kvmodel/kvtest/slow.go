package kvtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Slow is a store with latency, as if it were in the next rack. Trips that are
// sent at the same time then overlap, so the time a caller takes tells how many
// it made in sequence. Until Wait is called there is no latency.
type Slow struct {
	kv.Store
	wait atomic.Int64
}

// Wait delays every later trip by d.
func (s *Slow) Wait(d time.Duration) { s.wait.Store(int64(d)) }

// Powers returns the powers of the slow store, whose trips cost something.
func (s *Slow) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Local = false
	return p
}

// Do waits and then makes the trip.
func (s *Slow) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(time.Duration(s.wait.Load()))
	return s.Store.Do(ctx, ops)
}
