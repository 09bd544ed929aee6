package kv

import (
	"context"
	"errors"
	"fmt"
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
