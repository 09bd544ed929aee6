package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Latch has one work done in the background, and again until it succeeds. Whoever wants
// something repeated sets one: it is scheduled once however often it is set, there is always
// room for it, and it is never forgotten.
type Latch struct {
	queue *Queue
	work  Work
	once  bool // for a work of Surely

	// What follows is guarded by the lock of the queue.
	state state
	why   error // of the last failure, where the latch is waiting
}

// state is what becomes of a latch next.
type state int

const (
	unset     state = iota // nothing
	scheduled              // the work is done
	running                // the work ends
	again                  // the work ends, and is done again: the latch was set since it began
	waiting                // the work has failed, and is done again when Every or Flush tries
)

// Latch returns a latch for work.
func (q *Queue) Latch(work Work) *Latch { return &Latch{queue: q, work: work} }

// Set has the work done; if it is being done already, once more after that. Where it has failed
// before, it is done when Every or Flush tries again.
func (l *Latch) Set() { l.set(false) }

// Hurry is Set, but does not wait for the next try where the work has failed before.
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

// schedule has the work done by a worker or, if the queue is closed, by Flush. The caller
// holds the lock.
func (l *Latch) schedule() {
	if q := l.queue; q.IsClosed() && q.flushing == 0 {
		l.wait(ErrNotYet)
		return
	}
	l.state = scheduled
	l.queue.push(l.run)
}

// wait leaves the work to the next try, for the reason why. The caller holds the lock.
func (l *Latch) wait(why error) {
	l.state, l.why = waiting, why
	l.queue.waiting = append(l.queue.waiting, l)
}

// run does the work.
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

// end notes how the work has ended.
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

// Surely does work like Later. If the work fails or returns ErrNotYet, it is done again
// whenever Every or Flush tries, until it succeeds. If there are so many such works that it is
// done at once and not again, Surely returns its error.
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

// giveUp returns err, which the next Flush reports as well.
func (q *Queue) giveUp(err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.givenUp, q.why = q.givenUp+1, err
	}
	return err
}

// tryAgain has the works done that wait for it, and returns how many these are.
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

// failing returns an error if works that wait have failed, or if works were given up.
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
