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
	maxBytes  = 16 << 20 // of values in a commit; beyond it no one gets a turn
	tickEvery = time.Second
	sweepTick = 1000 // expired items that a tick removes at most
	sweepTurn = 2    // and by a commit per turn: more than a turn of one op adds
)

// batch is a transaction on its way to its commit. Each writer gets it for a
// turn, on the writer's own goroutine, so no goroutine ever touches another
// caller's data. Writers answer their callers when done is closed.
type batch struct {
	turns int
	in    *live // nil before the first turn
	tx    *bolt.Tx

	committing bool

	done chan struct{}
	fail *failure // valid once done is closed
}

// write waits for a turn, runs change in it, and returns when the changes are
// committed. If change fails, write returns the failure at once: either change
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
		// The turn ends even if change panics.
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

// begin gives b a transaction if it has none yet.
func (s *Store) begin(b *batch) *failure {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	if b.tx != nil {
		return nil
	}
	return s.try(func() (err error) {
		if b.tx, err = s.db.Begin(true); err == nil {
			b.in = s.live(b.tx)
		}
		return err
	})
}

// commitBatches is the committer: it offers a batch to the writers, commits it,
// and offers the next.
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

// gather gives a turn to every writer who is waiting for one.
func (s *Store) gather(b *batch) {
	for b.turns < maxTurns && (b.in == nil || b.in.bytes < maxBytes) {
		// Let the writers that the last commit woke come back now; otherwise
		// they would need a commit of their own. If no one is there, go on.
		runtime.Gosched()
		select {
		case s.turn <- b:
			<-s.back
		default:
			return
		}
	}
}

// finish commits what b holds, together with the removal of some expired items.
func (s *Store) finish(b *batch) *failure {
	if b.tx == nil {
		return s.failed.Load()
	}
	var fail *failure
	broken := s.guard(func() { fail = s.settle(b) })
	if broken == nil {
		return fail
	}
	// A rollback releases bbolt's lock, if it still can.
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

// afterFailed returns what became of a transaction whose commit failed. bbolt
// writes the data, syncs it, writes the header that makes the data valid, and
// syncs that. If the header does not show the transaction, it was not carried
// out. If it does, only the last sync failed, and no one knows what is on disk.
// Another commit could then overwrite data that the header on disk still refers
// to, so the store stops.
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

// tick does what is due every second.
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
