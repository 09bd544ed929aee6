package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Change tells a handler which record has changed.
type Change[T any, K comparable] struct {
	ID      K
	Created bool // by this change, as far as is known
	Record  *T   // as it is now, which may be newer; nil: deleted
}

const (
	handlerTries    = 3
	handlerTime     = 10 * time.Second
	handlerPatience = 24 * time.Hour
	maxHandlers     = 2 * maxBackground // calls of a model's handlers, hanging ones included
)

// OnChange calls f after every change of a record, once the change has been
// replied to: at least once, also after a crash, but perhaps more than once
// and with a record that has changed again. So f looks first and does then.
//
// If f returns an error or panics, it is tried three times, then again every 15
// seconds for a day, after a crash by the process that repairs. So it is if it
// takes longer than ten seconds; while very many calls hang, no more are made.
// It belongs into the program's wiring, before the first write, in every
// process that writes.
func (r *Records[T, K]) OnChange(f func(context.Context, Change[T, K]) error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.handlers = append(r.m.handlers, func(ctx context.Context, id string, created bool) error {
		key, err := r.schema.Key.Parse(id)
		if err != nil {
			return err
		}
		rec, err := r.m.seeOne(ctx, r.m.db.store, id)
		if err != nil {
			return err
		}
		return f(ctx, Change[T, K]{ID: key, Created: created, Record: rec.Value})
	})
}

func (m *model[T]) listens() bool { return len(m.listeners()) > 0 }

func (m *model[T]) listeners() []func(context.Context, string, bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.handlers
}

// changed tells all handlers of a change of id, also where one of them fails.
func (m *model[T]) changed(ctx context.Context, id string, created bool) error {
	var errs []error
	for _, handler := range m.listeners() {
		errs = append(errs, m.tell(ctx, handler, id, created))
	}
	if err := errors.Join(errs...); err != nil {
		return m.failure(id, fmt.Errorf("OnChange: %w", err))
	}
	return nil
}

// changedSince is changed, but gives up on handlers that have failed for a day
// since the change.
func (m *model[T]) changedSince(ctx context.Context, since time.Time, id string, created bool) error {
	err := m.changed(ctx, id, created)
	if err != nil && m.db.now().Sub(since) >= handlerPatience {
		m.db.log.Error("ringtree: an OnChange handler has failed for a day and will not be told", "err", err)
		return nil
	}
	return err
}

func (m *model[T]) tell(ctx context.Context, handler func(context.Context, string, bool) error, id string, created bool) error {
	var err error
	for try := range handlerTries {
		if try > 0 && !kv.Sleep(ctx, time.Duration(try)*100*time.Millisecond) {
			return err
		}
		err = m.bounded(ctx, func(ctx context.Context) error { return handler(ctx, id, created) })
		if err == nil || errors.Is(err, errHangs) {
			return err
		}
	}
	return err
}

// errHangs: a handler has not returned in time, or so many have not that no
// more are called.
var errHangs = errors.New("a handler hangs")

// bounded runs f, for at most handlerTime. An f that does not heed its context
// is left to itself.
func (m *model[T]) bounded(ctx context.Context, f func(context.Context) error) error {
	if m.calls.Add(1) > maxHandlers {
		m.calls.Add(-1)
		return errHangs
	}
	ctx, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer m.calls.Add(-1)
		defer func() {
			if r := recover(); r != nil {
				result <- fmt.Errorf("panic: %v", r)
			}
		}()
		result <- f(ctx)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errHangs, ctx.Err())
	}
}
