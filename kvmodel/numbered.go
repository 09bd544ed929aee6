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

// The ids of some models are consecutive numbers. The record's own key gives the
// next one: it belongs to the first change that adds it. So there is no counter, the
// last number says how many records there were at most, and no enumeration is needed.
// Tombstones stay forever.

// Last returns the last number that was given to a record; 0 if there was none. It counts all
// records, including those deleted since, and numbers that a repair has left empty. One trip if
// this process made the last. ErrBadOp if ids are not given in order.
func (r *Records[T, K]) Last(ctx context.Context) (int64, error) { return r.m.last(ctx) }

func (m *model) last(ctx context.Context) (int64, error) {
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

// AcceptLoss makes the numbers that are still stored count as all that were ever
// given. It is for a store that has lost some of them, for which Last and Create may
// return an ErrLost. DB.Accept does so for all models. ErrBadOp if ids are not given in
// order.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error { return r.m.acceptLoss(ctx) }

func (m *model) acceptLoss(ctx context.Context) error {
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

// acceptNumbers takes the numbers that the store has lost for lost. The last one that was
// given is kept by a tombstone if need be; a build fills the gaps before it.
func (m *model) acceptNumbers(ctx context.Context) error {
	if m.numbers == nil {
		return nil
	}
	tombstone := envelope.Envelope{Deleted: true, Model: m.version, Rev: m.revAbove()}
	_, err := m.numbers.Accept(ctx, m.db.store, tombstone.Encode(nil))
	return m.failure("the last number", err)
}

// fillGaps puts tombstones in the places of those of recs, whose ids are numbers, that are
// gone: each was given, so the store has lost it. Their revs are above those of the entries
// that are left of it.
func (m *model) fillGaps(ctx context.Context, s kv.Store, recs []*plug.Seen) error {
	gone := slices.DeleteFunc(slices.Clone(recs), func(rec *plug.Seen) bool { return rec.Version != 0 })
	return work.FirstError(kv.Each(ctx, s, gone, func(s kv.Store, _ int, rec *plug.Seen) error {
		err := m.fence(ctx, s, rec, m.revAbove())
		if errors.Is(err, kv.ErrConflict) {
			return nil // It is there now.
		}
		return err
	})...)
}

// numbered is a new record whose id is to be the next number, which set makes its id.
type numbered struct {
	value plug.Record
	set   func(n int64)
}

func (r *Records[T, K]) numbered(v *T) numbered {
	return numbered{v, func(n int64) { r.schema.SetID(v, r.schema.Key.Number(n)) }}
}

// createNext stores v under the next number. The calls of one process take turns, since side by
// side all but one would lose the race.
func (m *model) createNext(ctx context.Context, s kv.Store, v numbered) error {
	leave, err := m.db.turns.Take(ctx, m.numbers.Hint)
	if err != nil {
		return m.failure("the next number", err)
	}
	defer leave()
	return m.createInTurn(ctx, s, v)
}

// createInTurn is createNext for the caller whose turn it is.
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

// gave notes that the number n, which is the last, was given to a record.
func (m *model) gave(n int64) {
	m.numbers.Known(n)
	m.hintSometimes(n)
}

// severalNext stores n records, which v returns, under the next numbers, on a store with
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

// createRun stores the records of batch under consecutive numbers, and puts into errs why some
// are not stored. If one keeps a transaction from its end, it and all behind it are stored
// one by one, since no number may be left out.
func (m *model) createRun(ctx context.Context, batch []int, v func(i int) numbered, errs []error) error {
	last, err := m.lastKnown(ctx, m.db.store)
	if err != nil {
		return err
	}
	var planned rest
	var of []int // the numbers in batch
	for _, i := range batch {
		var next int64
		if next, errs[i] = m.createBehind(ctx, m.db.store, v(i), last, &planned); errs[i] == nil {
			last, of = next, append(of, i)
		}
	}
	stored := last - int64(len(of)) // the last number that is
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

// lastKnown returns the last number as far as this process knows.
func (m *model) lastKnown(ctx context.Context, s kv.Store) (int64, error) {
	if n := m.numbers.LastKnown(); n != 0 {
		return n, nil
	}
	return m.numbers.Last(ctx, s)
}

// createBehind stores v under the number after last, or a later one, which it returns.
func (m *model) createBehind(ctx context.Context, s kv.Store, v numbered, last int64, rest *rest) (n int64, err error) {
	if m.idOf(v.value) != "0" {
		return last, fmt.Errorf("%s: %w: its ids are given in order, so a new record has none", m.name, ErrInvalid)
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

// hintSometimes shows other processes the number n, which exists.
func (m *model) hintSometimes(n int64) {
	if op, due := m.numbers.Remind(n); due {
		m.db.Soon(func(ctx context.Context) error {
			_, err := kv.One(ctx, m.db.store, op)
			return err
		})
	}
}
