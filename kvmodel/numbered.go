package kvmodel

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/internal/write"
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
	ctx, end := m.Db.Begin(ctx, "Last")
	defer end()
	if m.Numbers == nil {
		return 0, fmt.Errorf("%s: %w: its ids are not given in order", m.Name, kv.ErrBadOp)
	}
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	n, err := m.Numbers.Last(ctx, m.Db.Store)
	return n, m.Failure("the last number", err)
}

// AcceptLoss makes the numbers still stored count as all that were ever assigned. It is for a store
// that has lost some, for which Last and Create may return an ErrLost. DB.Accept does so for all
// models. ErrBadOp if ids are not assigned in order.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error { return r.m.acceptLoss(ctx) }

func (m *class) acceptLoss(ctx context.Context) error {
	ctx, end := m.Db.Begin(ctx, "AcceptLoss")
	defer end()
	if err := m.Db.Writable(); err != nil {
		return m.Failure("the last number", err)
	}
	if m.Numbers == nil {
		return fmt.Errorf("%s: %w: its ids are not given in order", m.Name, kv.ErrBadOp)
	}
	return m.AcceptNumbers(ctx)
}

func (r *Records[T, K]) numbered(v *T) write.Numbered {
	return write.Numbered{Value: v, Set: func(n int64) { r.schema.SetID(v, r.schema.Key.Number(n)) }}
}
