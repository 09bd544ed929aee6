package write

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Numbered struct {
	Value plug.Record
	Set   func(n int64)
}

func CreateNext(ctx context.Context, m *core.Model, s kv.Store, v Numbered) error {
	leave, err := m.Db.Turns.Take(ctx, m.Numbers.Hint)
	if err != nil {
		return m.Failure("the next number", err)
	}
	defer leave()
	return createInTurn(ctx, m, s, v)
}

func createInTurn(ctx context.Context, m *core.Model, s kv.Store, v Numbered) error {
	n, err := lastKnown(ctx, m, s)
	if err != nil {
		return m.Failure("the next number", err)
	}
	if n, err = createBehind(ctx, m, s, v, n, nil); err == nil {
		gave(m, n)
	}
	return err
}

func gave(m *core.Model, n int64) {
	m.Numbers.Known(n)
	hintSometimes(m, n)
}

func SeveralNext(ctx context.Context, m *core.Model, n int, v func(i int) Numbered) []error {
	errs := make([]error, n)
	for batch := range paced(m, n, nil) {
		leave, err := m.Db.Turns.Take(ctx, m.Numbers.Hint)
		if err == nil {
			err = createRun(ctx, m, batch, v, errs)
			leave()
		}
		if err != nil {
			for _, i := range batch {
				errs[i] = cmp.Or(errs[i], m.Failure("the next number", err))
			}
		}
	}
	return errs
}

// createRun stores the records of batch under consecutive numbers. If one makes a transaction fail,
// it and all after it are stored one by one, since no number may be skipped.
func createRun(ctx context.Context, m *core.Model, batch []int, v func(i int) Numbered, errs []error) error {
	last, err := lastKnown(ctx, m, m.Db.Store)
	if err != nil {
		return err
	}
	var planned Rest
	var of []int // positions in batch
	for _, i := range batch {
		var next int64
		if next, errs[i] = createBehind(ctx, m, m.Db.Store, v(i), last, &planned); errs[i] == nil {
			last, of = next, append(of, i)
		}
	}
	stored := last - int64(len(of))
	for all := range chunksOf(planned.all) {
		failed := false
		if err = commitAtomic(ctx, m, all, func(errs []error) { failed = errs != nil }); err != nil && !failed {
			for _, i := range of {
				v(i).Set(0)
				errs[i] = m.Failure("the next number", err)
			}
			return nil
		}
		if failed {
			break
		}
		stored += int64(len(all))
		gave(m, stored)
		of = of[len(all):]
	}
	for _, i := range of {
		v(i).Set(0)
		errs[i] = createInTurn(ctx, m, m.Db.Store, v(i))
	}
	return nil
}

func lastKnown(ctx context.Context, m *core.Model, s kv.Store) (int64, error) {
	if n := m.Numbers.LastKnown(); n != 0 {
		return n, nil
	}
	return m.Numbers.Last(ctx, s)
}

func createBehind(ctx context.Context, m *core.Model, s kv.Store, v Numbered, last int64, rest *Rest) (n int64, err error) {
	if m.IdOf(v.Value) != "0" {
		return last, fmt.Errorf("%s: %w: Create assigns its ids, so a new record must not have one", m.Name, plug.ErrInvalid)
	}
	number := func(last int64) string {
		n = last + 1
		v.Set(n)
		return m.IdOf(v.Value)
	}
	_, err = Change(ctx, m, s, Edit{
		ID: number(last), Fresh: true, Peek: true, Rest: rest,
		next: func(ctx context.Context) (string, error) {
			last, err := m.Numbers.Last(ctx, s)
			if err != nil {
				return "", m.Failure("the next number", err)
			}
			return number(last), nil
		},
		Apply: func(plug.Record) (plug.Record, error) { return v.Value, nil },
	})
	if err != nil {
		v.Set(0)
	}
	return n, err
}

func hintSometimes(m *core.Model, n int64) {
	if op, due := m.Numbers.Remind(n); due {
		m.Db.Soon(func(ctx context.Context) error {
			_, err := kv.One(ctx, m.Db.Store, op)
			return err
		})
	}
}
