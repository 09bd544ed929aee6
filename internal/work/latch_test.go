package work_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/work"
)

func newQueue() *work.Queue {
	return work.NewQueue(work.NewFailures(slog.New(slog.DiscardHandler)))
}

// fill adds works to q until it is full. They end when free is closed.
func fill(q *work.Queue, free <-chan struct{}) {
	for q.Soon(func(context.Context) error { <-free; return nil }) {
	}
}

var errAway = errors.New("the store is away")

func flaky(n int, calls *int) work.Work {
	return func(context.Context) error {
		if *calls++; *calls <= n {
			return errAway
		}
		return nil
	}
}

func TestQueue_SoonSaysWhetherItHasTakenTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, free := newQueue(), make(chan struct{})
		fill(q, free)
		done := false
		if q.Soon(func(context.Context) error { done = true; return nil }) {
			t.Error("a full queue has taken a work")
		}
		close(free)
		synctest.Wait()
		if !q.Soon(func(context.Context) error { return nil }) {
			t.Error("an empty queue has not taken a work")
		}
		q.Close()
		if q.Soon(func(context.Context) error { done = true; return nil }) {
			t.Error("a closed queue has taken a work")
		}
		synctest.Wait()
		if done {
			t.Error("what was not taken was done")
		}
	})
}

// A full queue has room for each latch, and runs it once, however often it was set.
func TestLatch_IsNotLostWhereTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, free, calls := newQueue(), make(chan struct{}), 0
		fill(q, free)
		l := q.Latch(flaky(0, &calls))
		l.Set()
		l.Set()
		synctest.Wait()
		if calls != 0 {
			t.Fatal("it was done before its turn")
		}
		close(free)
		synctest.Wait()
		proof.Equal(t, calls, 1, "done")
		l.Set()
		synctest.Wait()
		proof.Equal(t, calls, 2, "done")
	})
}

// A Set during the run of its work may have come too late for that run.
func TestLatch_IsDoneAgainIfItWasSetMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, calls, free := newQueue(), 0, make(chan struct{})
		l := q.Latch(func(context.Context) error { calls++; <-free; return nil })
		l.Set()
		synctest.Wait()
		l.Set()
		l.Set()
		close(free)
		synctest.Wait()
		proof.Equal(t, calls, 2, "done")
	})
}

func TestLatch_IsTriedAgainUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, calls := newQueue(), 0
		go q.Every(time.NewTimer(time.Second), time.Second, func(context.Context) error { return nil })
		l := q.Latch(flaky(5, &calls))
		l.Set()
		var got []int
		for range 8 {
			synctest.Wait()
			got = append(got, calls)
			if calls <= 5 {
				l.Set() // changes nothing while the work waits for the next try
			}
			time.Sleep(time.Second)
		}
		proof.NoDiff(t, cmp.Diff([]int{1, 2, 3, 4, 5, 6, 6, 6}, got), "calls, second by second")
		q.Close()
	})
}

func TestLatch_HurryDoesNotWaitForTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, calls := newQueue(), 0
		l := q.Latch(flaky(1, &calls))
		l.Set()
		synctest.Wait()
		l.Hurry()
		synctest.Wait()
		if s := q.Stats(); calls != 2 || s.Waiting != 0 {
			t.Errorf("%d calls, %d waiting; want 2, and none", calls, s.Waiting)
		}
	})
}

// Flush returns the errors, and also runs the works of a closed queue.
func TestLatch_IsDoneByTheFlushOfAClosedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, calls := newQueue(), 0
		l := q.Latch(flaky(1, &calls))
		q.Close()
		l.Hurry()
		synctest.Wait()
		if calls != 0 {
			t.Error("a closed queue has begun something by itself")
		}
		proof.Is(t, q.Flush(t.Context()), errAway)
		if err := q.Flush(t.Context()); err != nil || calls != 2 {
			t.Errorf("the second Flush: %v after %d calls, want it done", err, calls)
		}
	})
}

// A latch set by a work during the Flush of a closed queue is part of the Flush.
func TestLatch_OfAWorkThatIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, calls := newQueue(), 0
		inner := q.Latch(flaky(0, &calls))
		outer := q.Latch(func(context.Context) error { inner.Set(); return nil })
		q.Close()
		outer.Set()
		if err := q.Flush(t.Context()); err != nil || calls != 1 {
			t.Errorf("%v after %d calls, want one", err, calls)
		}
	})
}

// No accepted work is dropped, however many fail at once.
func TestQueue_SurelyDoesAllThatItHasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		q, refused := newQueue(), 0
		go q.Every(time.NewTimer(time.Second), time.Second, func(context.Context) error { return nil })
		const n = 5000
		results := make(chan bool, 3*n)
		for range n {
			err := q.Surely(t.Context(), func(context.Context) error {
				if away.Load() {
					return errAway
				}
				results <- true
				return nil
			})
			if err != nil {
				refused++
			}
		}
		synctest.Wait()
		if refused == 0 || refused == n {
			t.Fatalf("%d of %d were refused", refused, n)
		}
		proof.Equal(t, q.Stats().Waiting, n-refused, "wait")
		away.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		proof.Equal(t, len(results), n-refused, "were done")
		proof.Is(t, q.Surely(t.Context(), func(context.Context) error { return nil }), nil)
		q.Close()
	})
}

// Work done before the reply, because the queue is full, ends with the request.
func TestQueue_WhatIsDoneAtOnceEndsWithItsCaller(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context, q *work.Queue, w work.Work){
		"Later":  func(ctx context.Context, q *work.Queue, w work.Work) { q.Later(ctx, w) },
		"Surely": func(ctx context.Context, q *work.Queue, w work.Work) { _ = q.Surely(ctx, w) },
		"Large":  func(ctx context.Context, q *work.Queue, w work.Work) { q.Large(ctx, w) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, free := newQueue(), make(chan struct{})
				fill(q, free)
				ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "of the request"), time.Second)
				defer cancel()
				began, value := time.Now(), any(nil)
				do(ctx, q, func(ctx context.Context) error {
					value = ctx.Value(key{})
					<-ctx.Done()
					return ctx.Err()
				})
				if took := time.Since(began); took != time.Second || value != nil {
					t.Errorf("it took %v with the value %v, want a second and none", took, value)
				}
				close(free)
			})
		})
	}
}

type key struct{}
