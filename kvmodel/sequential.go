package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The ids of some models are consecutive numbers. The record's own key is what
// gives the next one: whoever adds it first has it. So there is no counter, the
// last number is how many there were, and no enumeration is needed. Tombstones
// stay for ever.

// sequenceHint is the class of the keys that name a number known to exist.
var sequenceHint = kv.NewClass("seq", 1) // model

func newRecordNumbers(model string) *Numbering {
	return &Numbering{
		Key:  func(n int64) string { return recordKey.KeyOfText([]string{model}, strconv.FormatInt(n, 10)) },
		Hint: sequenceHint.Key(model),
	}
}

// Last returns the last number that was given to a record, which is how many
// there were, those that are deleted by now included; 0 if there was none. One
// trip where this process made it. ErrBadOp if ids are not given in order.
func (r *Records[T, K]) Last(ctx context.Context) (int64, error) {
	if r.m.numbers == nil {
		return 0, fmt.Errorf("%s: %w: its ids are not given in order", r.m.name, kv.ErrBadOp)
	}
	n, err := r.m.numbers.Last(ctx, r.m.db.store)
	return n, r.m.failure("the last number", err)
}

// AcceptLoss takes the numbers that are there for all that were ever given, after
// the store has lost the last of them, which Last and Create say by an ErrLost.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error {
	_, err := kv.One(ctx, r.m.db.store, kv.OpDelete(r.m.numbers.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// createNext stores v under the next number. Those of one process come one after
// another, since side by side all but one would be in vain.
func (r *Records[T, K]) createNext(ctx context.Context, s kv.Store, v *T) error {
	if r.text(v) != "0" {
		return fmt.Errorf("%s: %w: its ids are given in order, so a new record has none", r.m.name, ErrInvalid)
	}
	leave, err := r.m.db.turns.take(ctx, r.m.numbers.Hint)
	if err != nil {
		return r.m.failure("the next number", err)
	}
	defer leave()
	n := r.m.numbers.hint.Load()
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

// hintSometimes lets other processes know of the number n, which exists.
func (m *model[T]) hintSometimes(n int64) {
	if n%hintEvery == 0 {
		m.db.Soon(func(ctx context.Context) error {
			_, err := kv.One(ctx, m.db.store, kv.OpSet(m.numbers.Hint, strconv.AppendInt(nil, n, 10)))
			return err
		})
	}
}

// createInOrder makes the records one after another.
func (r *Records[T, K]) createInOrder(ctx context.Context, vs []*T) []error {
	errs := make([]error, len(vs))
	for i, v := range vs {
		errs[i] = r.Create(ctx, v)
	}
	return errs
}

// eachNumber calls f with the ids of all records there were, in batches.
func (m *model[T]) eachNumber(ctx context.Context, f func(ids []string) error) error {
	last, err := m.numbers.Last(ctx, m.db.store)
	if err != nil {
		return m.failure("the last number", err)
	}
	const atOnce = 100
	for first := int64(1); first <= last; first += atOnce {
		var ids []string
		for n := first; n <= min(last, first+atOnce-1); n++ {
			ids = append(ids, strconv.FormatInt(n, 10))
		}
		if err := f(ids); err != nil {
			return err
		}
	}
	return nil
}
