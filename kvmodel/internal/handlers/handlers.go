// Package handlers calls an app's handlers after a change.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	tries    = 3
	callTime = 10 * time.Second
	maxCalls = 2 * work.AtOnce // of a model's handlers, including hanging ones
)

// Handler is called with the id text of a changed record, and whether the change created it.
type Handler = func(ctx context.Context, id string, created bool) error

type Handlers struct {
	mu    sync.Mutex // never held during a call
	list  []Handler
	calls atomic.Int64 // in progress
}

func (hs *Handlers) Add(h Handler) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.list = append(hs.list, h)
}

func (hs *Handlers) Any() bool { return len(hs.all()) > 0 }

func (hs *Handlers) all() []Handler {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.list
}

// Call calls all handlers for a change of id, even if one fails.
func (hs *Handlers) Call(ctx context.Context, id string, created bool) error {
	var errs []error
	for _, handler := range hs.all() {
		errs = append(errs, hs.call(ctx, func(ctx context.Context) error { return handler(ctx, id, created) }))
	}
	return kv.Join(errs...)
}

func (hs *Handlers) call(ctx context.Context, f func(context.Context) error) error {
	var err error
	for try := range tries {
		if try > 0 && !kv.Sleep(ctx, time.Duration(try)*100*time.Millisecond) {
			return err
		}
		err = hs.bounded(ctx, f)
		if err == nil || errors.Is(err, errHangs) {
			return err
		}
	}
	return err
}

// errHangs: a handler has not returned in time, or so many have not that no more are called.
var errHangs = errors.New("a handler does not return")

// bounded runs f for at most callTime. An f that ignores its context is left running.
func (hs *Handlers) bounded(ctx context.Context, f func(context.Context) error) error {
	if hs.calls.Add(1) > maxCalls {
		hs.calls.Add(-1)
		return errHangs
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer hs.calls.Add(-1)
		result <- work.Recover("a handler", func() error { return f(ctx) })
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errHangs, ctx.Err())
	}
}
