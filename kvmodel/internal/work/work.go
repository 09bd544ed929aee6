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
	maxSure  = 2000             // works of Surely that were taken and have not succeeded yet
	workTime = 30 * time.Second // for each
)

// Queue does works after replies, in workers that end when there is nothing
// left to do. A work that it has taken is done: none is dropped.
type Queue struct {
	failures *Failures
	closed   chan struct{}

	mu       sync.Mutex    // never held during a trip
	busy     int           // works being done or queued
	workers  int           // goroutines that do them
	queue    []Work        // for the next worker that is free
	large    int           // works that stand for many, being done or queued
	sure     int           // works of Surely that have not succeeded yet
	waiting  []*Latch      // to be tried again
	idle     chan struct{} // closed when busy has become 0; nil while no one waits
	flushes  []Work        // see AtFlush
	flushing int           // calls of Flush under way
	failed   int           // how often a work has failed
	givenUp  int           // works that have failed since the last Flush and are not tried again
	why      error         // of the last of these
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
	return Stats{q.busy, len(q.queue), maxQueue, len(q.waiting), q.failed}
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

// Later does work in the background. If there is too much to do already it does it at
// once, until ctx ends. Flush waits for it. An error is logged and no more.
func (q *Queue) Later(ctx context.Context, work Work) {
	if !q.enqueue(work) {
		_ = q.doNow(ctx, work)
	}
}

// Large is Later for work that stands for many and keeps them in memory: only a few such
// works are done in the background, and any other at once.
func (q *Queue) Large(ctx context.Context, work Work) {
	if !q.takeLarge() {
		_ = q.doNow(ctx, work)
		return
	}
	q.Later(ctx, func(ctx context.Context) error {
		defer q.endLarge()
		return work(ctx)
	})
}

func (q *Queue) takeLarge() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.large == maxLarge {
		return false
	}
	q.large++
	return true
}

func (q *Queue) endLarge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.large--
}

// Soon does work in the background and returns true, unless there is too much to do
// already or the queue is closed. It is for upkeep that others can do as well.
func (q *Queue) Soon(work Work) bool {
	return !q.IsClosed() && q.enqueue(func(ctx context.Context) error {
		if err := work(ctx); err != nil {
			q.failures.Note(slog.LevelDebug, "upkeep has failed; others will do it", err)
		}
		return nil
	})
}

// AtFlush makes Flush call f first.
func (q *Queue) AtFlush(f Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushes = append(q.flushes, f)
}

// Every does work, and tries again the works that wait for it, when timer fires, and every
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
		_ = q.do(context.Background(), work)
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
	if len(q.queue) >= maxQueue {
		return false
	}
	q.push(work)
	return true
}

// push is enqueue for work that has its room. The caller holds the lock.
func (q *Queue) push(work Work) {
	q.busy++
	if q.workers == AtOnce {
		q.queue = append(q.queue, work)
		return
	}
	q.workers++
	go q.drain(work)
}

// drain does work, then what is queued.
func (q *Queue) drain(work Work) {
	for work != nil {
		_ = q.do(context.Background(), work)
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

// doNow does work in the goroutine of the caller, until ctx ends.
func (q *Queue) doNow(ctx context.Context, work Work) error {
	q.mu.Lock()
	q.busy++
	q.mu.Unlock()
	return q.do(bare{ctx}, work)
}

// bare is a context without values: what is done after a reply is not part of the request.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// do does work, which counts as busy until then, and returns its error.
func (q *Queue) do(ctx context.Context, work Work) error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
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
	return err
}

// Flush calls the functions of AtFlush and returns when all works are done. What
// has failed is tried once more. The error says how much still fails and why, or
// that ctx ended first.
func (q *Queue) Flush(ctx context.Context) error {
	q.flush(1)
	defer q.flush(-1)
	flushed := q.callFlushes(ctx)
	if err := q.awaitIdle(ctx); err != nil {
		return kv.Join(flushed, err)
	}
	// What was still being done may have left more to flush.
	last := q.callFlushes(ctx)
	return kv.Join(q.finish(ctx), flushed, last)
}

// flush counts calls of Flush.
func (q *Queue) flush(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushing += n
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
	if err := q.awaitIdle(ctx); err != nil {
		return err
	}
	if q.tryAgain() > 0 {
		if err := q.awaitIdle(ctx); err != nil {
			return err
		}
	}
	return q.failing()
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
