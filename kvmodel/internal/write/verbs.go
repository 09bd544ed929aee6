package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func EditInTurn(ctx context.Context, m *core.Model, verb string, empty bool, e Edit) (v plug.Record, err error) {
	ctx, end := m.Db.Begin(ctx, verb)
	defer end()
	if empty {
		return nil, m.EmptyID()
	}
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	err = m.InTurn(ctx, e.ID, func(string) error {
		v, err = EditAt(ctx, m, m.Db.Store, e)
		return err
	})
	return v, err
}

// EditAt carries out e on s. The caller holds the record's turn.
func EditAt(ctx context.Context, m *core.Model, s kv.Store, e Edit) (plug.Record, error) {
	v, err := Change(ctx, m, s, e)
	if e, ok := errors.AsType[*ownError](err); ok {
		err = e.error
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

type ownError struct{ error }

// Own marks err, which the caller's func returned: a change returns it unchanged.
func Own(err error) error { return &ownError{err} }

func Touch(ctx context.Context, m *core.Model, id string, empty bool, until time.Time) error {
	if err := m.Db.Writable(); err != nil {
		return m.Failure(id, err)
	}
	if !m.Ends {
		return fmt.Errorf("%s: %w: its records do not expire", m.Name, kv.ErrBadOp)
	}
	if err := checkExpiry(m, until); err != nil {
		return m.Failure(id, err)
	}
	if empty {
		return m.Failure(id, kv.ErrNotFound)
	}
	ctx, end := m.Db.Begin(ctx, "Touch")
	defer end()
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	return m.InTurn(ctx, id, func(string) error {
		_, err := Change(ctx, m, m.Db.Store, Edit{ID: id, touches: true, Apply: func(old plug.Record) (plug.Record, error) {
			if old == nil {
				return nil, kv.ErrNotFound
			}
			*m.Schema(old).Expires = until
			return old, nil
		}})
		return err
	})
}

func Delete(ctx context.Context, m *core.Model, id string, empty bool) error {
	ctx, end := m.Db.Begin(ctx, "Delete")
	defer end()
	if empty {
		return m.Failure(id, kv.ErrNotFound)
	}
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	return m.InTurn(ctx, id, func(id string) error { return Remove(ctx, m, m.Db.Store, id, nil, nil) })
}

// Remove deletes the record if only is nil or returns true.
func Remove(ctx context.Context, m *core.Model, s kv.Store, id string, only func(*plug.Seen) bool, rest *Rest) error {
	_, err := Change(ctx, m, s, Edit{ID: id, removes: true, Only: only, Rest: rest, Apply: func(plug.Record) (plug.Record, error) { return nil, nil }})
	return err
}
