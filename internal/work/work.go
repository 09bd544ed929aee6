// Package work does in the background everything that need not be done before a reply.
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

// ErrNotYet means that the work must wait. It has not failed.
var ErrNotYet = errors.New("not yet")

func Waits(err error) bool { return errors.Is(err, ErrNotYet) }

// FirstError returns the first failure among errs, or otherwise the first error that means waiting.
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

type Work = func(context.Context) error

const (
	AtOnce = 64

	maxQueue = 1000             // waiting for a worker
	maxLarge = 2                // running or queued
	maxSure  = 2000             // unfinished, of Surely
	workTime = 30 * time.Second // for each
)

// Queue never drops a work it has accepted. Its workers end when nothing is left to do.
type Queue struct {
	failures *Failures
	closed   chan struct{}

	mu       sync.Mutex
	busy     int // running or queued
	workers  int
	queue    []Work
	large    int           // running or queued
	sure     int           // unfinished, of Surely
	waiting  []*Latch      // to be retried
	idle     chan struct{} // closed when busy becomes 0; nil while nobody waits
	flushes  []Work        // see AtFlush
	flushing int           // calls of Flush in progress
	failed   int
	givenUp  int   // since the last Flush, not to be retried
	why      error // of the last of these
}

func NewQueue(failures *Failures) *Queue {
	return &Queue{failures: failures, closed: make(chan struct{})}
}

type Stats struct {
	Busy    int // running or queued
	Queued  int // waiting for a worker
	Room    int // limit of Queued
	Waiting int // to be retried
	Failed  int
}

func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{q.busy, len(q.queue), maxQueue, len(q.waiting), q.failed}
}

// Close ends Every and Soon, and reports whether the queue was open. Flush runs the remaining
// works.
func (q *Queue) Close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.IsClosed() {
		return false
	}
	close(q.closed)
	return true
}

func (q *Queue) Closed() <-chan struct{} { return q.closed }

func (q *Queue) IsClosed() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// Later runs work in the background or, if too many works are queued, immediately until ctx ends.
func (q *Queue) Later(ctx context.Context, work Work) {
	if !q.enqueue(work) {
		_ = q.doNow(ctx, work)
	}
}

// Large is Later for a work that keeps much in memory: only a few of these run in the background.
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

// Soon returns false if too many works are queued or the queue is closed.
func (q *Queue) Soon(work Work) bool {
	return !q.IsClosed() && q.enqueue(func(ctx context.Context) error {
		if err := work(ctx); err != nil {
			q.failures.Log(slog.LevelDebug, "upkeep failed; other processes will do it", err)
		}
		return nil
	})
}

func (q *Queue) AtFlush(f Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushes = append(q.flushes, f)
}

// Every runs work and retries waiting works at every interval, until the queue is closed.
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

func (q *Queue) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.IsClosed() {
		return false
	}
	q.busy++
	return true
}

func (q *Queue) enqueue(work Work) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) >= maxQueue {
		return false
	}
	q.push(work)
	return true
}

// push is enqueue for work that has its room. The caller holds mu.
func (q *Queue) push(work Work) {
	q.busy++
	if q.workers == AtOnce {
		q.queue = append(q.queue, work)
		return
	}
	q.workers++
	go q.drain(work)
}

func (q *Queue) drain(work Work) {
	for work != nil {
		_ = q.do(context.Background(), work)
		work = q.next()
	}
}

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

func (q *Queue) doNow(ctx context.Context, work Work) error {
	q.mu.Lock()
	q.busy++
	q.mu.Unlock()
	return q.do(bare{ctx}, work)
}

// bare is a context without values: work after a reply is not part of the request.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

func (q *Queue) do(ctx context.Context, work Work) error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	err := work(ctx)
	failed := err != nil && !Waits(err)
	if failed {
		q.failures.Log(slog.LevelWarn, "work after a reply failed", err)
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

// Flush calls the functions of AtFlush and returns when all works are done.
func (q *Queue) Flush(ctx context.Context) error {
	q.flush(1)
	defer q.flush(-1)
	flushed := q.callFlushes(ctx)
	if err := q.awaitIdle(ctx); err != nil {
		return kv.Join(flushed, err)
	}
	// Works still running may have left more to flush.
	last := q.callFlushes(ctx)
	return kv.Join(q.finish(ctx), flushed, last)
}

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

// whenIdle returns nil if nothing runs.
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

// Recover returns a panic of f as an error that begins with name.
func Recover(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", name, p)
		}
	}()
	return f()
}
