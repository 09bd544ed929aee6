package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The ids of some models are consecutive numbers. The next number belongs to the first change that
// adds the record's own key. So there is no counter, the last number bounds the number of records,
// and no enumeration is needed. Tombstones never expire.

// Last returns the last number given to a record, or 0 if there is none. It counts deleted records,
// and numbers that a repair left empty. One trip if this process created the last. ErrBadOp if ids
// are not assigned in order.
func (r *Records[T, K]) Last(ctx context.Context) (int64, error) { return r.m.last(ctx) }

func (m *class) last(ctx context.Context) (int64, error) {
	ctx, end := m.db.Begin(ctx, "Last")
	defer end()
	if m.numbers == nil {
		return 0, fmt.Errorf("%s: %w: its ids are not given in order", m.name, kv.ErrBadOp)
	}
	ctx, cancel := m.db.Patient(ctx)
	defer cancel()
	n, err := m.numbers.Last(ctx, m.db.store)
	return n, m.failure("the last number", err)
}

// AcceptLoss makes the numbers still stored count as all that were ever assigned. It is for a store
// that has lost some, for which Last and Create may return an ErrLost. DB.Accept does so for all
// models. ErrBadOp if ids are not assigned in order.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error { return r.m.acceptLoss(ctx) }

func (m *class) acceptLoss(ctx context.Context) error {
	ctx, end := m.db.Begin(ctx, "AcceptLoss")
	defer end()
	if err := m.db.Writable(); err != nil {
		return m.failure("the last number", err)
	}
	if m.numbers == nil {
		return fmt.Errorf("%s: %w: its ids are not given in order", m.name, kv.ErrBadOp)
	}
	return m.acceptNumbers(ctx)
}

// acceptNumbers acknowledges the loss of numbers. A tombstone keeps the last assigned number if
// need be; a build fills the gaps before it.
func (m *model) acceptNumbers(ctx context.Context) error {
	if m.numbers == nil {
		return nil
	}
	tombstone := envelope.Envelope{Deleted: true, Model: m.version, Rev: m.revAbove()}
	_, err := m.numbers.Accept(ctx, m.db.store, tombstone.Encode(nil))
	return m.failure("the last number", err)
}

// fillGaps creates tombstones for the missing records among recs, whose ids are numbers: each
// number was assigned, so the store has lost the record. Their revs exceed those in any remaining
// entries.
func (m *model) fillGaps(ctx context.Context, s kv.Store, recs []*plug.Seen) error {
	gone := slices.DeleteFunc(slices.Clone(recs), func(rec *plug.Seen) bool { return rec.Version != 0 })
	return work.FirstError(kv.Each(ctx, s, gone, func(s kv.Store, _ int, rec *plug.Seen) error {
		err := m.fence(ctx, s, rec, m.revAbove())
		if errors.Is(err, kv.ErrConflict) {
			return nil // it exists now
		}
		return err
	})...)
}

// numbered is a new record whose id will be the next number. set sets its id.
type numbered struct {
	value plug.Record
	set   func(n int64)
}

func (r *Records[T, K]) numbered(v *T) numbered {
	return numbered{value: v, set: func(n int64) { r.schema.SetID(v, r.schema.Key.Number(n)) }}
}

// createNext stores v under the next number. Calls in one process take turns, since all but one
// would lose a concurrent race.
func (m *model) createNext(ctx context.Context, s kv.Store, v numbered) error {
	leave, err := m.db.turns.Take(ctx, m.numbers.Hint)
	if err != nil {
		return m.failure("the next number", err)
	}
	defer leave()
	return m.createInTurn(ctx, s, v)
}

// createInTurn is createNext for the caller that has the turn.
func (m *model) createInTurn(ctx context.Context, s kv.Store, v numbered) error {
	n, err := m.lastKnown(ctx, s)
	if err != nil {
		return m.failure("the next number", err)
	}
	if n, err = m.createBehind(ctx, s, v, n, nil); err == nil {
		m.gave(n)
	}
	return err
}

// gave records that the last number n was assigned.
func (m *model) gave(n int64) {
	m.numbers.Known(n)
	m.hintSometimes(n)
}

// severalNext stores the n records returned by v under the next numbers, on a store with
// transactions.
func (m *model) severalNext(ctx context.Context, n int, v func(i int) numbered) []error {
	errs := make([]error, n)
	for batch := range m.paced(n, nil) {
		leave, err := m.db.turns.Take(ctx, m.numbers.Hint)
		if err == nil {
			err = m.createRun(ctx, batch, v, errs)
			leave()
		}
		if err != nil {
			for _, i := range batch {
				errs[i] = cmp.Or(errs[i], m.failure("the next number", err))
			}
		}
	}
	return errs
}

// createRun stores the records of batch under consecutive numbers and sets errs for those not
// stored. If one makes a transaction fail, it and all after it are stored one by one, since no
// number may be skipped.
func (m *model) createRun(ctx context.Context, batch []int, v func(i int) numbered, errs []error) error {
	last, err := m.lastKnown(ctx, m.db.store)
	if err != nil {
		return err
	}
	var planned rest
	var of []int // of holds the positions in batch
	for _, i := range batch {
		var next int64
		if next, errs[i] = m.createBehind(ctx, m.db.store, v(i), last, &planned); errs[i] == nil {
			last, of = next, append(of, i)
		}
	}
	stored := last - int64(len(of)) // the last stored number
	for all := range chunksOf(planned.all) {
		failed := false
		if err = m.commitAtomic(ctx, all, func(errs []error) { failed = errs != nil }); err != nil && !failed {
			for _, i := range of {
				v(i).set(0)
				errs[i] = m.failure("the next number", err)
			}
			return nil
		}
		if failed {
			break
		}
		stored += int64(len(all))
		m.gave(stored)
		of = of[len(all):]
	}
	for _, i := range of {
		v(i).set(0)
		errs[i] = m.createInTurn(ctx, m.db.store, v(i))
	}
	return nil
}

// lastKnown returns the last number known to this process, or reads it.
func (m *model) lastKnown(ctx context.Context, s kv.Store) (int64, error) {
	if n := m.numbers.LastKnown(); n != 0 {
		return n, nil
	}
	return m.numbers.Last(ctx, s)
}

// createBehind stores v under the number after last, or a later one, and returns that number.
func (m *model) createBehind(ctx context.Context, s kv.Store, v numbered, last int64, rest *rest) (n int64, err error) {
	if m.idOf(v.value) != "0" {
		return last, fmt.Errorf("%s: %w: its ids are given in order, so a new record has none", m.name, errInvalid)
	}
	number := func(last int64) string {
		n = last + 1
		v.set(n)
		return m.idOf(v.value)
	}
	_, err = m.change(ctx, s, edit{
		id: number(last), fresh: true, peek: true, rest: rest,
		next: func(ctx context.Context) (string, error) {
			last, err := m.numbers.Last(ctx, s)
			if err != nil {
				return "", m.failure("the next number", err)
			}
			return number(last), nil
		},
		apply: func(plug.Record) (plug.Record, error) { return v.value, nil },
	})
	if err != nil {
		v.set(0)
	}
	return n, err
}

// hintSometimes publishes the existing number n to other processes.
func (m *model) hintSometimes(n int64) {
	if op, due := m.numbers.Remind(n); due {
		m.db.Soon(func(ctx context.Context) error {
			_, err := kv.One(ctx, m.db.store, op)
			return err
		})
	}
}
