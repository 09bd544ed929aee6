package boltkv

import (
	"context"
	"fmt"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	maxTurns  = 1000     // that share a commit
	maxBytes  = 16 << 20 // of values in a commit, beyond which there is no further turn
	tickEvery = time.Second
	sweepTick = 1000 // expired items removed by one tick
	sweepTurn = 2    // and by each turn: more than it can have made
)

// batch is a transaction on its way to its commit. Whoever wants to write gets
// it for a turn, on the writer's own goroutine, so that nothing of a caller's
// is ever touched by another one. What was done in the turns is answered when
// done is closed.
type batch struct {
	turns int
	in    *live // nil before the first turn
	tx    *bolt.Tx

	committing bool

	done chan struct{}
	fail *failure // valid once done is closed
}

// write waits for a turn, has change make its changes in it, and returns when
// they are committed. A failure that change returns is write's at once: it has
// changed nothing, or the batch will not be committed. If ctx ends before the
// turn, change does not run; if it ends between the turn and the commit, the
// commit goes on without the caller.
func (s *Store) write(ctx context.Context, change func(*live) *failure) *failure {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	b, fail := s.takeTurn(ctx, change)
	if fail != nil {
		return fail
	}
	select {
	case <-b.done:
		return b.fail
	default:
	}
	select {
	case <-b.done:
		return b.fail
	case <-ctx.Done():
		return unclear(ctx.Err())
	}
}

func (s *Store) takeTurn(ctx context.Context, change func(*live) *failure) (*batch, *failure) {
	select {
	case b := <-s.turn:
		// The turn ends even where change panics.
		defer func() { s.back <- struct{}{} }()
		if err := ctx.Err(); err != nil {
			return nil, unavailable(err)
		}
		if fail := s.begin(b); fail != nil {
			return nil, fail
		}
		b.turns++
		s.trips.Add(1)
		return b, change(b.in)
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	case <-s.closing:
		return nil, errClosed
	}
}

// begin makes sure that b has a transaction.
func (s *Store) begin(b *batch) (fail *failure) {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	if b.tx != nil {
		return nil
	}
	var err error
	fail = s.guard(func() {
		if b.tx, err = s.db.Begin(true); err == nil {
			b.in = s.live(b.tx)
		}
	})
	if fail == nil && err != nil {
		fail = unavailable(err)
	}
	return fail
}

// commitBatches is the committer: it offers a batch to all who want to write,
// commits it, and offers the next.
func (s *Store) commitBatches() {
	defer close(s.stopped)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		b := &batch{done: make(chan struct{})}
		select {
		case s.turn <- b:
			<-s.back
			s.gather(b)
		case <-tick.C:
			s.tick(b)
		case <-s.closing:
			return
		}
		b.fail = s.finish(b)
		close(b.done)
	}
}

// gather gives a turn to everybody who is waiting for one.
func (s *Store) gather(b *batch) {
	for b.turns < maxTurns && (b.in == nil || b.in.bytes < maxBytes) {
		// Those whom the last commit has just woken come back now, or else
		// would need a commit of their own. Nobody there, nobody is waited for.
		runtime.Gosched()
		select {
		case s.turn <- b:
			<-s.back
		default:
			return
		}
	}
}

// finish commits what b holds, and with it the removal of some expired items.
func (s *Store) finish(b *batch) *failure {
	if b.tx == nil {
		return s.failed.Load()
	}
	var fail *failure
	broken := s.guard(func() { fail = s.settle(b) })
	if broken == nil {
		return fail
	}
	// Rolling back frees bbolt's lock, if it still can.
	_ = s.guard(func() { _ = b.tx.Rollback() })
	if b.committing {
		return unclear(broken.cause)
	}
	return broken
}

func (s *Store) settle(b *batch) *failure {
	if fail := s.failed.Load(); fail != nil {
		_ = b.tx.Rollback()
		return fail
	}
	b.in.sweep(sweepTurn * b.turns)
	if !b.in.changed {
		_ = b.tx.Rollback()
		return nil
	}
	if err := b.in.items.SetSequence(s.version); err != nil {
		_ = b.tx.Rollback()
		return unavailable(err)
	}
	b.committing = true
	id := b.tx.ID()
	if err := s.commit(b.tx); err != nil {
		return s.afterFailed(id, err)
	}
	s.commits.Add(1)
	s.swept.Add(uint64(b.in.swept))
	return nil
}

// afterFailed tells what has become of a transaction whose commit failed.
// bbolt writes its pages, syncs them, writes the page that makes them count,
// and syncs that. If that page does not show the transaction, it was not
// carried out. If it does, only its last sync failed, and nobody knows what is
// on the disk; another commit could then overwrite pages that the disk still
// counts on, so there is none.
func (s *Store) afterFailed(id int, cause error) *failure {
	cause = fmt.Errorf("commit %s: %w", s.path, cause)
	shows := true
	err := s.db.View(func(tx *bolt.Tx) error {
		shows = tx.ID() >= id
		return nil
	})
	if err == nil && !shows {
		return unavailable(cause)
	}
	s.stop(cause)
	return unclear(cause)
}

// tick does what falls due each second.
func (s *Store) tick(b *batch) {
	if s.opts.Durability == Periodic {
		s.syncPeriodically()
	}
	if s.failed.Load() == nil && s.expiryIsDue() && s.begin(b) == nil {
		_ = s.guard(func() { b.in.sweep(sweepTick) })
	}
}

func (s *Store) syncPeriodically() {
	if err := s.db.Sync(); err != nil {
		s.stop(fmt.Errorf("sync %s: %w", s.path, err))
	}
}

func (s *Store) expiryIsDue() (due bool) {
	_ = s.guard(func() {
		_ = s.db.View(func(tx *bolt.Tx) error {
			due = s.live(tx).due() != nil
			return nil
		})
	})
	return due
}
