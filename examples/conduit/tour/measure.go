package tour

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Clock is for kvmodel.Clock. It advances by a millisecond each time it is read, so that no two
// things have the same time.
type Clock struct{ ms atomic.Int64 }

func (c *Clock) Now() time.Time { return time.UnixMilli(1_800_000_000_000 + c.ms.Add(1)) }

func (c *Clock) Pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// Cost is the cost of a call before its reply, in a process that has made it seconds ago, with
// something new since, or a minute ago.
type Cost struct {
	Again, New, Later kv.Cost
	Commits           int // for Again, on a store with transactions
}

func Measure(ctx context.Context, call Call, db *kvmodel.DB, clock *Clock) (c Cost, err error) {
	ctx, commits := context.WithValue(ctx, commitsKey{}, new(atomic.Int64)), 0
	once := func(news bool, wait time.Duration) (cost kv.Cost) {
		if err == nil && news && call.Before != nil {
			err = call.Before(ctx)
		}
		if err == nil {
			err = db.Flush(ctx)
		}
		if err == nil {
			err = Wait(ctx, db, clock.Pass, wait)
		}
		if err != nil {
			return cost
		}
		before := commitsOf(ctx)
		metered, meter := kvmodel.Metered(ctx)
		err = call.Do(metered)
		commits = commitsOf(ctx) - before
		return meter.Cost()
	}
	c.Later = once(true, time.Minute)
	c.Again = once(!call.Reads, Pause)
	c.Commits = commits
	c.New = once(true, Pause)
	return c, err
}

// Pause is longer than a process keeps a record for a subsequent update, and shorter than it caches
// the state of a board.
const Pause = 2 * time.Second

// Wait lets time pass. db meanwhile checks other processes, as it does by itself every 15 seconds.
func Wait(ctx context.Context, db *kvmodel.DB, pass func(time.Duration), wait time.Duration) error {
	pass(wait)
	if wait < 15*time.Second {
		return nil
	}
	return db.Repair(ctx)
}

type commitsKey struct{}

func commitsOf(ctx context.Context) int {
	if n, ok := ctx.Value(commitsKey{}).(*atomic.Int64); ok {
		return int(n.Load())
	}
	return 0
}

// Committing is a store whose transactions Measure counts.
type Committing struct{ kv.Store }

func (c Committing) Powers() kv.Powers {
	powers := kv.PowersOf(c.Store)
	if begin := powers.Atomic; begin != nil {
		powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			if n, ok := ctx.Value(commitsKey{}).(*atomic.Int64); ok {
				n.Add(1)
			}
			return begin(ctx, f)
		}
	}
	return powers
}
