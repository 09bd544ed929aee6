package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Latch runs one work in the background until it succeeds, once however often it is set. There is
// always room for it, and it is never forgotten.
type Latch struct {
	queue *Queue
	work  Work
	once  bool // for a work of Surely

	// The following fields are guarded by the queue's mu.
	state state
	why   error // while waiting
}

type state int

const (
	unset state = iota
	scheduled
	running
	again   // running, and runs again: the latch was set since it began
	waiting // the work failed, and runs when Every or Flush retries
)

func (q *Queue) Latch(work Work) *Latch { return &Latch{queue: q, work: work} }

func (l *Latch) Set() { l.set(false) }

// Hurry is Set, but does not wait for the next retry of a failed work.
func (l *Latch) Hurry() { l.set(true) }

func (l *Latch) set(hurry bool) {
	q := l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case l.state == running:
		l.state = again
	case l.state == waiting && hurry:
		q.waiting = slices.DeleteFunc(q.waiting, func(other *Latch) bool { return other == l })
		l.schedule()
	case l.state == unset:
		l.schedule()
	}
}

// schedule lets a worker run the work or, if the queue is closed, Flush. The caller holds mu.
func (l *Latch) schedule() {
	if q := l.queue; q.IsClosed() && q.flushing == 0 {
		l.wait(ErrNotYet)
		return
	}
	l.state = scheduled
	l.queue.push(l.run)
}

// wait leaves the work to the next retry. The caller holds mu.
func (l *Latch) wait(why error) {
	l.state, l.why = waiting, why
	l.queue.waiting = append(l.queue.waiting, l)
}

func (l *Latch) run(ctx context.Context) error {
	l.begin()
	err := l.work(ctx)
	l.end(err)
	return err
}

func (l *Latch) begin() {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	l.state = running
}

func (l *Latch) end(err error) {
	q := l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err != nil:
		l.wait(err)
	case l.state == again:
		l.schedule()
	default:
		l.state = unset
		if l.once {
			q.sure--
		}
	}
}

// Surely runs work like Later, and again until it succeeds. It gives up if too many works are
// unfinished.
func (q *Queue) Surely(ctx context.Context, work Work) error {
	if !q.takeSure() {
		return q.giveUp(q.doNow(ctx, work))
	}
	l := q.Latch(work)
	l.state, l.once = scheduled, true
	q.Later(ctx, l.run)
	return nil
}

func (q *Queue) takeSure() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sure == maxSure {
		return false
	}
	q.sure++
	return true
}

func (q *Queue) giveUp(err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.givenUp, q.why = q.givenUp+1, err
	}
	return err
}

func (q *Queue) tryAgain() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	for _, l := range all {
		l.state = scheduled
		q.push(l.run)
	}
	return len(all)
}

func (q *Queue) failing() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var given, failed error
	if q.givenUp > 0 {
		given = fmt.Errorf("flush: %s failed and will not be tried again by this process: %w", things(q.givenUp), q.why)
		q.givenUp = 0
	}
	n, why := 0, error(nil)
	for _, l := range q.waiting {
		if !Waits(l.why) {
			n, why = n+1, l.why
		}
	}
	if n > 0 {
		failed = fmt.Errorf("flush: %s failed and will be tried again: %w", things(n), why)
	}
	return kv.Join(given, failed)
}
