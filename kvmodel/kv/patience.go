package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// impatience is why a context of Patient has ended.
type impatience time.Duration

func (i impatience) Error() string {
	return fmt.Sprintf("no answer within %v, the store's patience", time.Duration(i))
}

// Patient returns ctx, which ends after patience if it has no deadline of its own
// and patience is not 0. All trips of one call share it. The caller must call the
// func when the call ends.
func Patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if _, limited := ctx.Deadline(); limited || patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, patience, impatience(patience))
}

// Ended returns why ctx has ended, for a store to wrap, or nil. That is ctx.Err(),
// but if the patience of a call has run out, which its caller knows nothing of, it
// is an error that says so and is no context.DeadlineExceeded. If the deadline of
// ctx has passed, ctx counts as ended, although it notices a moment later.
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

// awaitEnd waits until ctx, whose deadline has passed, says why it has ended.
func awaitEnd(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}
