package kvtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Twice returns s with an Atomic that runs each function twice, as optimistic transactions may:
// others may write in between, and the first run leaves no trace.
func Twice(s kv.Store) kv.Store {
	powers := kv.PowersOf(s)
	powers.Atomic = twice(powers.Atomic)
	return &runsTwice{s, powers}
}

type runsTwice struct {
	kv.Store
	powers kv.Powers
}

func (t *runsTwice) Powers() kv.Powers { return t.powers }

var errAgain = errors.New("kvtest: the transaction runs again")

type transact = func(context.Context, func(kv.Store) error) error

func twice(atomic transact) transact {
	return func(ctx context.Context, f func(kv.Store) error) error {
		err := atomic(ctx, func(s kv.Store) error {
			_ = f(s)
			return errAgain
		})
		if err != errAgain {
			return err
		}
		return atomic(ctx, f)
	}
}

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

// Clock is the clock of a process, which may be wrong; see kvmodel.Clock. The zero Clock is right.
type Clock struct{ ahead atomic.Int64 }

// Now returns the time shown by the clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Set sets the clock ahead by d, or back if d is negative.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(int64(d)) }
