package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

type impatience time.Duration

func (i impatience) Error() string {
	return fmt.Sprintf("no answer within %v, the store's patience", time.Duration(i))
}

// Patient returns a ctx that ends after patience, if it has no deadline and patience is not 0. All
// trips of a call share it. The caller must call the returned func at its end.
func Patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if _, limited := ctx.Deadline(); limited || patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, patience, impatience(patience))
}

// Ended returns the reason why ctx has ended, or nil. If the patience of a call ran out, the error
// names it and is not a context.DeadlineExceeded, since the caller set no limit. A ctx past its
// deadline has ended even before ctx itself notices.
func Ended(ctx context.Context) error {
	end, limited := ctx.Deadline()
	passed := limited && !time.Now().Before(end)
	if passed {
		awaitEnd(ctx)
	}
	var out impatience
	switch {
	case errors.As(context.Cause(ctx), &out):
		return out
	case ctx.Err() == nil && passed:
		return context.DeadlineExceeded
	default:
		return ctx.Err()
	}
}

func awaitEnd(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// Sleep waits for d and returns true. It returns false if ctx ends first, and at once if d would
// pass the deadline.
func Sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// TooLate returns an ErrUnavailable that wraps the reason why [Sleep] or [Pause] returned false.
func TooLate(ctx context.Context) error {
	// ctx may not have ended yet.
	return Unavailable(cmp.Or(Ended(ctx), context.DeadlineExceeded))
}

// Jitter returns a random duration from 0 to limit.
func Jitter(limit time.Duration) time.Duration {
	return time.Duration(Random() % uint64(limit+1))
}

// Retry returns a store that repeats ops that were not carried out (ErrUnavailable), and so every
// failed Get. It makes up to tries attempts, with a jittered pause that starts at pause and
// doubles, within the deadline. An unclear write is never repeated: the second could hide the
// first.
func Retry(s Store, tries int, pause time.Duration) Store { return &retried{s, tries, pause} }

type retried struct {
	Store
	tries int
	pause time.Duration
}

// Powers leaves Atomic unchanged: nothing inside it may be repeated.
func (r *retried) Powers() Powers { return PowersOf(r.Store) }

func (r *retried) Do(ctx context.Context, ops []Op) error {
	unsent := func(op Op) bool { return errors.Is(op.Result.Err, ErrUnavailable) }
	err := r.Store.Do(ctx, ops)
	pause := r.pause
	for try := 1; try < r.tries && err != nil; try++ {
		if !slices.ContainsFunc(ops, unsent) || !Sleep(ctx, pause/2+Jitter(pause/2)) {
			return err
		}
		var chains Chains
		err = doSome(ctx, r.Store, ops, func(op *Op) bool {
			if !unsent(*op) {
				chains.Note(op)
				return false
			}
			return !chains.Skips(op)
		})
		pause *= 2
	}
	return err
}

// doSome carries out the chosen ones of ops in one trip, and returns the error owed for ops.
func doSome(ctx context.Context, s Store, ops []Op, chosen func(*Op) bool) error {
	var some []Op
	var positions []int
	for i := range ops {
		if op := &ops[i]; chosen(op) {
			some, positions = append(some, *op), append(positions, i)
		}
	}
	if len(some) > 0 {
		// The results contain its error.
		_ = s.Do(ctx, some)
	}
	for i, position := range positions {
		ops[position].Result = some[i].Result
	}
	return Unanswered(ops)
}
