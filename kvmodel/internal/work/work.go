// Package work does in the background what does not have to be done before a
// reply.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ErrNotYet says that something has to wait for its time. It has not failed.
var ErrNotYet = errors.New("not yet")

// Waits reports whether err says that something has to wait, which is no
// failure.
func Waits(err error) bool { return errors.Is(err, ErrNotYet) }

// FirstError returns the first of errs that is a failure, or else the first that
// says that something has to wait.
func FirstError(errs ...error) error {
	var wait error
	for _, err := range errs {
		switch {
		case err == nil:
		case !Waits(err):
			return err
		case wait == nil:
			wait = err
		}
	}
	return wait
}

// Work is something to be done.
type Work = func(context.Context) error

const (
	// AtOnce is how many works are done at the same time.
	AtOnce = 64

	maxQueue = 1000             // works that wait for one of these to end
	maxLarge = 2                // works that stand for many, of all these
	maxAgain = 1000             // works that are tried again
	workTime = 30 * time.Second // for each
)

// Queue does works after replies, in workers that end when there is nothing
// left to do.
type Queue struct {
	failures *Failures
	closed   chan struct{}

	mu      sync.Mutex    // never held during a trip
	busy    int           // works being done or queued
	workers int           // goroutines that do them
	queue   []Work        // for the next worker that is free
	large   int           // works that stand for many, being done or queued
	idle    chan struct{} // closed when busy has become 0; nil while no one waits
	flushes []Work        // see AtFlush
	again   []undone      // works to be tried again
	failed  int           // how often one has failed
}

// undone is work that is to be tried again, and why it is not done.
type undone struct {
	work Work
	why  error
}

// NewQueue returns a queue with nothing to do, which notes in failures what fails.
func NewQueue(failures *Failures) *Queue {
	return &Queue{failures: failures, closed: make(chan struct{})}
}

// Stats is what a queue is doing.
type Stats struct {
	Busy    int // works being done or queued
	Queued  int // of these, works that wait for another one to end
	Room    int // how many may be queued
	Waiting int // works that will be tried again
	Failed  int // how often one has failed
}

// Stats returns what the queue is doing now.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{q.busy, len(q.queue), maxQueue, len(q.again), q.failed}
}

// Close ends Every and Soon. It reports whether the queue was open until now.
// Flush does what is left.
func (q *Queue) Close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.IsClosed() {
		return false
	}
	close(q.closed)
	return true
}

// Closed returns a channel that is closed by Close.
func (q *Queue) Closed() <-chan struct{} { return q.closed }

// IsClosed reports whether Close was called.
func (q *Queue) IsClosed() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// Later does work in the background, or at once if there is too much to do
// already. Flush waits for it. An error is logged and no more.
func (q *Queue) Later(work Work) {
	if !q.enqueue(work) {
		q.mu.Lock()
		q.busy++
		q.mu.Unlock()
		q.do(work)
	}
}

// Large is Later for work that stands for many and keeps them in memory: only a few such
// works are done in the background, and any other at once.
func (q *Queue) Large(work Work) {
	q.mu.Lock()
	room := q.large < maxLarge
	if room {
		q.large++
	} else {
		q.busy++
	}
	q.mu.Unlock()
	if !room {
		q.do(work)
		return
	}
	q.Later(func(ctx context.Context) error {
		defer q.endLarge()
		return work(ctx)
	})
}

func (q *Queue) endLarge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.large--
}

// Soon does work in the background, unless there is too much to do already or
// the queue is closed. It is for upkeep that others can do as well.
func (q *Queue) Soon(work Work) {
	if q.IsClosed() {
		return
	}
	q.enqueue(func(ctx context.Context) error {
		if err := work(ctx); err != nil {
			q.failures.Note(slog.LevelDebug, "upkeep has failed; others will do it", err)
		}
		return nil
	})
}

// Surely does work in the background like Later. If it fails or returns
// ErrNotYet, it is done again whenever Every or Flush tries.
func (q *Queue) Surely(work Work) {
	q.Later(func(ctx context.Context) error {
		err := work(ctx)
		if err != nil {
			q.keep(undone{work, err})
		}
		return err
	})
}

// AtFlush makes Flush call f first.
func (q *Queue) AtFlush(f Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushes = append(q.flushes, f)
}

// Every does work, and what is to be tried again, when timer fires, and every
// interval from then on, until the queue is closed.
func (q *Queue) Every(timer *time.Timer, interval time.Duration, work Work) {
	defer timer.Stop()
	for {
		select {
		case <-q.closed:
			return
		case <-timer.C:
		}
		timer.Reset(interval)
		if !q.begin() {
			return
		}
		q.tryAgain()
		q.do(work)
	}
}

// begin counts one more work as busy, unless the queue is closed.
func (q *Queue) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.IsClosed() {
		return false
	}
	q.busy++
	return true
}

// enqueue hands work to a worker, now or when one is free. It reports whether
// there was room.
func (q *Queue) enqueue(work Work) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.workers < AtOnce:
		q.workers++
		go q.drain(work)
	case len(q.queue) < maxQueue:
		q.queue = append(q.queue, work)
	default:
		return false
	}
	q.busy++
	return true
}

// drain does work, then what is queued.
func (q *Queue) drain(work Work) {
	for work != nil {
		q.do(work)
		work = q.next()
	}
}

// next returns what a worker is to do next; nil ends it.
func (q *Queue) next() Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.workers--
		return nil
	}
	work := q.queue[0]
	q.queue = q.queue[1:]
	return work
}

// do does work, which counts as busy until then.
func (q *Queue) do(work Work) {
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	err := work(ctx)
	failed := err != nil && !Waits(err)
	if failed {
		q.failures.Note(slog.LevelWarn, "work after replies has failed", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if failed {
		q.failed++
	}
	if q.busy--; q.busy == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
}

// keep remembers work to be tried again. If there is too much of it, the work is
// left to the process that repairs the journal when this one has ended.
func (q *Queue) keep(u undone) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.again) < maxAgain {
		q.again = append(q.again, u)
	}
}

// tryAgain does once more what is not done, and returns how much that is.
func (q *Queue) tryAgain() int {
	q.mu.Lock()
	again := q.again
	q.again = nil
	q.mu.Unlock()
	for _, u := range again {
		q.Surely(u.work)
	}
	return len(again)
}

// Flush calls the functions of AtFlush and returns when all works are done. What
// has failed is tried once more. The error says how much still fails and why, or
// that ctx ended first.
func (q *Queue) Flush(ctx context.Context) error {
	flushed := q.callFlushes(ctx)
	if err := q.awaitIdle(ctx); err != nil {
		return kv.Join(flushed, err)
	}
	// What was still being done may have left more to flush.
	last := q.callFlushes(ctx)
	return kv.Join(q.finish(ctx), flushed, last)
}

func (q *Queue) callFlushes(ctx context.Context) error {
	q.mu.Lock()
	flushes := slices.Clone(q.flushes)
	q.mu.Unlock()
	var errs []error
	for _, f := range flushes {
		errs = append(errs, f(ctx))
	}
	return kv.Join(errs...)
}

func (q *Queue) finish(ctx context.Context) error {
	if err := q.awaitIdle(ctx); err != nil || q.tryAgain() == 0 {
		return err
	}
	if err := q.awaitIdle(ctx); err != nil {
		return err
	}
	if n, why := q.failing(); n > 0 {
		return fmt.Errorf("flush: %s failed and will be tried again: %w", things(n), why)
	}
	return nil
}

// failing returns how many of the works to be tried again have failed, and why
// the last of them has.
func (q *Queue) failing() (n int, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, u := range q.again {
		if !Waits(u.why) {
			n, why = n+1, u.why
		}
	}
	return n, why
}

func (q *Queue) awaitIdle(ctx context.Context) error {
	idle := q.whenIdle()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush: %s still to do: %w", things(q.Stats().Busy), ctx.Err())
	}
}

// whenIdle returns a channel that is closed when nothing is being done, or nil
// if that is so now.
func (q *Queue) whenIdle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy == 0 {
		return nil
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	return q.idle
}

func things(n int) string {
	if n == 1 {
		return "1 thing"
	}
	return fmt.Sprint(n, " things")
}
