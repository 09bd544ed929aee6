package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// background is what a DB does after replies; the DB's lock guards it.
type background struct {
	busy    int                           // works being done or queued, and looks of repair
	workers int                           // goroutines that do them
	queue   []func(context.Context) error // for the next worker that is free
	idle    chan struct{}                 // closed when busy has become 0; nil while nobody waits

	flushers []func(context.Context) error // see AtFlush

	again  []undone // works to be tried again
	failed int      // how often one has failed
}

// undone is work that is to be tried again, with what kept it from being done.
type undone struct {
	work func(context.Context) error
	why  error
}

// waits tells whether err says that work has to wait, which is no failure.
func waits(err error) bool { return errors.Is(err, ErrNotYet) }

const (
	maxBackground  = 64               // works done at once
	maxQueue       = 1000             // works that wait for one of these to end
	maxAgain       = 1000             // works that are tried again
	backgroundTime = 30 * time.Second // for each
)

// Later does work in the background, or at once if there is too much to do
// already. Flush and Close wait for it. An error is logged and no more.
func (db *DB) Later(work func(context.Context) error) {
	if !db.enqueue(work) {
		db.mu.Lock()
		db.busy++
		db.mu.Unlock()
		db.inBackground(work)
	}
}

// enqueue hands work to a worker, now or when one is free. It tells whether
// there was room.
func (db *DB) enqueue(work func(context.Context) error) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.workers < maxBackground:
		db.workers++
		go db.drain(work)
	case len(db.queue) < maxQueue:
		db.queue = append(db.queue, work)
	default:
		return false
	}
	db.busy++
	return true
}

// Soon does work in the background, unless there is too much to do already or
// the DB is closed: then it is left undone. It is for upkeep that others can do
// as well.
func (db *DB) Soon(work func(context.Context) error) {
	if db.isClosed() {
		return
	}
	db.enqueue(func(ctx context.Context) error {
		if err := work(ctx); err != nil {
			db.log.Debug("ringtree: upkeep failed; others will do it", "err", err)
		}
		return nil
	})
}

// drain does work, then what is queued.
func (db *DB) drain(work func(context.Context) error) {
	for work != nil {
		db.inBackground(work)
		work = db.nextWork()
	}
}

// nextWork returns what a worker is to do next; nil ends it.
func (db *DB) nextWork() func(context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.queue) == 0 {
		db.workers--
		return nil
	}
	work := db.queue[0]
	db.queue = db.queue[1:]
	return work
}

// inBackground does work, which counts as busy until then.
func (db *DB) inBackground(work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), backgroundTime)
	defer cancel()
	err := work(ctx)
	failed := err != nil && !waits(err)
	if failed {
		db.log.Warn("ringtree: work after the reply failed; it will be tried again", "err", err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if failed {
		db.failed++
	}
	if db.busy--; db.busy == 0 && db.idle != nil {
		close(db.idle)
		db.idle = nil
	}
}

// beginUnlessClosed counts one more thing in the background, which Close waits
// for, unless it has been called.
func (db *DB) beginUnlessClosed() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed {
		db.busy++
	}
	return !db.closed
}

// Surely does work in the background like Later, and where it fails, or returns
// ErrNotYet, again every 15 seconds until it succeeds or the process ends.
func (db *DB) Surely(work func(context.Context) error) {
	db.Later(func(ctx context.Context) error {
		err := work(ctx)
		if err != nil {
			db.keep(undone{work, err})
		}
		return err
	})
}

// keep remembers work to be tried again. Where there is too much of it, it is
// left to whoever repairs the journal when this process has ended.
func (db *DB) keep(u undone) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.again) < maxAgain {
		db.again = append(db.again, u)
	}
}

// tryAgain does once more what is not done, and tells how much that is.
func (db *DB) tryAgain() int {
	db.mu.Lock()
	again := db.again
	db.again = nil
	db.mu.Unlock()
	for _, u := range again {
		db.Surely(u.work)
	}
	return len(again)
}

// AtFlush makes Flush and Close call f first: for what a process gathers in its
// memory to write it together. It belongs into the program's wiring.
func (db *DB) AtFlush(f func(context.Context) error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.flushers = append(db.flushers, f)
}

// Flush writes what this process has gathered, and returns when all that was to
// be done after replies is done. What has failed is tried once more; the error
// says how much still fails, and why, or that ctx ended before.
func (db *DB) Flush(ctx context.Context) error {
	gathered := db.writeGathered(ctx)
	if err := db.untilIdle(ctx); err != nil {
		return errors.Join(gathered, err)
	}
	// What was still being done may have gathered more.
	return errors.Join(gathered, db.writeGathered(ctx), db.finishWork(ctx))
}

func (db *DB) writeGathered(ctx context.Context) error {
	db.mu.Lock()
	flushers := slices.Clone(db.flushers)
	db.mu.Unlock()
	var errs []error
	for _, f := range flushers {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

func (db *DB) finishWork(ctx context.Context) error {
	if err := db.untilIdle(ctx); err != nil || db.tryAgain() == 0 {
		return err
	}
	if err := db.untilIdle(ctx); err != nil {
		return err
	}
	if n, why := db.failures(); n > 0 {
		return fmt.Errorf("flush: %s failed and will be tried again: %w", things(n), why)
	}
	return nil
}

// failures returns how much of what is to be tried again has failed, and why
// the last of it has.
func (db *DB) failures() (n int, why error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, u := range db.again {
		if !waits(u.why) {
			n, why = n+1, u.why
		}
	}
	return n, why
}

func (db *DB) untilIdle(ctx context.Context) error {
	idle := db.whenIdle()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush: %s still to do: %w", things(db.Stats().Background), ctx.Err())
	}
}

// whenIdle returns a channel that is closed when nothing is being done in the
// background, or nil if that is so now.
func (db *DB) whenIdle() <-chan struct{} {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.busy == 0 {
		return nil
	}
	if db.idle == nil {
		db.idle = make(chan struct{})
	}
	return db.idle
}

func things(n int) string {
	if n == 1 {
		return "1 thing"
	}
	return fmt.Sprint(n, " things")
}
