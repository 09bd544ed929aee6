package kvmodel

import (
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
// last number is how many records there were, and no enumeration is needed.
// Tombstones stay forever.

// Last returns the last number that was given to a record, which is how many there
// were, including those deleted since; 0 if there was none. One trip if this
// process made the last. ErrBadOp if ids are not given in order.
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

// createNext stores v under the next number, which set makes its id. The calls of one process
// take turns, since side by side all but one would lose the race.
func (m *model) createNext(ctx context.Context, s kv.Store, v plug.Record, set func(n int64)) error {
	if m.idOf(v) != "0" {
		return fmt.Errorf("%s: %w: its ids are given in order, so a new record has none", m.name, ErrInvalid)
	}
	leave, err := m.db.turns.Take(ctx, m.numbers.Hint)
	if err != nil {
		return m.failure("the next number", err)
	}
	defer leave()
	n := m.numbers.LastKnown()
	if n == 0 {
		if n, err = m.numbers.Last(ctx, s); err != nil {
			return m.failure("the next number", err)
		}
	}
	number := func(last int64) string {
		n = last + 1
		set(n)
		return m.idOf(v)
	}
	_, err = m.change(ctx, s, edit{
		id: number(n), fresh: true, peek: true,
		next: func(ctx context.Context) (string, error) {
			last, err := m.numbers.Last(ctx, s)
			if err != nil {
				return "", m.failure("the next number", err)
			}
			return number(last), nil
		},
		apply: func(plug.Record) (plug.Record, error) { return v, nil },
	})
	if err != nil {
		set(0)
		return err
	}
	m.numbers.Known(n)
	m.hintSometimes(n)
	return nil
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
