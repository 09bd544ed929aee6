package kvtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Slow is a store with latency. Concurrent trips overlap, so the elapsed time of a caller shows how
// many trips it made in sequence.
type Slow struct {
	kv.Store
	wait atomic.Int64
}

// Wait delays every later trip by d.
func (s *Slow) Wait(d time.Duration) { s.wait.Store(int64(d)) }

func (s *Slow) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Local = false
	return p
}

func (s *Slow) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(time.Duration(s.wait.Load()))
	return s.Store.Do(ctx, ops)
}
