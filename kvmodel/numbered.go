package kvmodel

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The ids of some models are consecutive numbers. The record's own key gives the
// next one: it belongs to the first change that adds it. So there is no counter, the
// last number is how many records there were, and no enumeration is needed.
// Tombstones stay forever.

// Last returns the last number that was given to a record, which is how many there
// were, including those deleted since; 0 if there was none. One trip if this
// process made the last. ErrBadOp if ids are not given in order.
func (r *Records[T, K]) Last(ctx context.Context) (int64, error) {
	if r.m.numbers == nil {
		return 0, fmt.Errorf("%s: %w: its ids are not given in order", r.m.name, kv.ErrBadOp)
	}
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	n, err := r.m.numbers.Last(ctx, r.m.db.store)
	return n, r.m.failure("the last number", err)
}

// AcceptLoss makes the numbers that are still stored count as all that were ever
// given. It is for a store that has lost the last of them, for which Last and
// Create return an ErrLost. ErrBadOp if ids are not given in order.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error {
	if err := r.m.db.Writable(); err != nil {
		return r.m.failure("the last number", err)
	}
	if r.m.numbers == nil {
		return fmt.Errorf("%s: %w: its ids are not given in order", r.m.name, kv.ErrBadOp)
	}
	_, err := kv.One(ctx, r.m.db.store, kv.OpDelete(r.m.numbers.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// createNext stores v under the next number. The calls of one process take turns,
// since side by side all but one would lose the race.
func (r *Records[T, K]) createNext(ctx context.Context, s kv.Store, v *T) error {
	if r.text(v) != "0" {
		return fmt.Errorf("%s: %w: its ids are given in order, so a new record has none", r.m.name, ErrInvalid)
	}
	leave, err := r.m.db.turns.Take(ctx, r.m.numbers.Hint)
	if err != nil {
		return r.m.failure("the next number", err)
	}
	defer leave()
	n := r.m.numbers.LastKnown()
	if n == 0 {
		if n, err = r.m.numbers.Last(ctx, s); err != nil {
			return r.m.failure("the next number", err)
		}
	}
	number := func(last int64) string {
		n = last + 1
		r.schema.SetID(v, r.schema.Key.Number(n))
		return r.text(v)
	}
	_, err = r.m.change(ctx, s, edit[T]{
		id: number(n), fresh: true, peek: true,
		next: func(ctx context.Context) (string, error) {
			last, err := r.m.numbers.Last(ctx, s)
			if err != nil {
				return "", r.m.failure("the next number", err)
			}
			return number(last), nil
		},
		apply: func(*T) (*T, error) { return v, nil },
	})
	if err != nil {
		r.schema.SetID(v, r.schema.Key.Number(0))
		return err
	}
	r.m.numbers.Known(n)
	r.m.hintSometimes(n)
	return nil
}

// hintSometimes shows other processes the number n, which exists.
func (m *model[T]) hintSometimes(n int64) {
	if op, due := m.numbers.Remind(n); due {
		m.db.Soon(func(ctx context.Context) error {
			_, err := kv.One(ctx, m.db.store, op)
			return err
		})
	}
}
