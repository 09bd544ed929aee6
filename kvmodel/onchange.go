package kvmodel

import (
	"context"
	"fmt"
	"time"
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
)

// OnChange calls f after every change of a record, once the change has been
// replied to: at least once, also after a crash, but perhaps more than once
// and with a record that has changed again. So f looks first and does then.
//
// If f returns an error or panics or takes longer than ten seconds, it is
// tried three times, then again every 15 seconds while the process lives, and
// after a crash for a day by the process that repairs. It belongs into the
// program's wiring, before the first write, in every process that writes.
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

// changed tells the handlers of a change of id.
func (m *model[T]) changed(ctx context.Context, id string, created bool) error {
	for _, handler := range m.listeners() {
		if err := m.tell(ctx, handler, id, created); err != nil {
			return m.failure(id, fmt.Errorf("OnChange: %w", err))
		}
	}
	return nil
}

func (m *model[T]) tell(ctx context.Context, handler func(context.Context, string, bool) error, id string, created bool) error {
	var err error
	for try := range handlerTries {
		if try > 0 && !sleep(ctx, time.Duration(try)*100*time.Millisecond) {
			return err
		}
		if err = bounded(ctx, func(ctx context.Context) error { return handler(ctx, id, created) }); err == nil {
			return nil
		}
	}
	return err
}

// bounded runs f, for at most handlerTime. An f that does not heed its context
// is left to itself.
func bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()
	result := make(chan error, 1)
	go func() {
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
		return ctx.Err()
	}
}
