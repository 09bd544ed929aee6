package erase

import (
	"context"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ForgetDue cleans the tombstones that are due. Failures are retried.
func ForgetDue(ctx context.Context, m *core.Model) error {
	due := m.Deletions.Due(m.Db.Now().Add(-times.Forget))
	errs := kv.Each(ctx, m.Db.Store, due, func(s kv.Store, _ int, d core.Deletion) error { return forget(ctx, m, s, d.ID) })
	for i, err := range errs {
		if err != nil {
			m.Deletions.Note(due[i].ID, m.Db.Now())
		}
	}
	return work.FirstError(errs...)
}

func forget(ctx context.Context, m *core.Model, s kv.Store, id string) error {
	rec, err := m.SeeOne(ctx, s, id)
	if err != nil || rec.Envelope == nil || !rec.Envelope.Deleted {
		return err
	}
	env := *rec.Envelope
	env.Lost = nil
	var works []func(kv.Store) error
	if m.Forgets {
		works = append(works, func(s kv.Store) error { return m.DropHistory(ctx, s, id) })
	}
	for _, t := range core.Lost(rec) {
		index := m.Index(t.Index)
		if index == nil { // a process with this index may have something to clean there
			env.Lost = append(env.Lost, t)
			continue
		}
		works = append(works, func(s kv.Store) error { return index.Forget(ctx, s, id, rec.Rev, t.Places, nil) })
	}
	if err := work.FirstError(kv.Together(ctx, s, works...)...); err != nil || len(env.Lost) == len(rec.Envelope.Lost) {
		return m.Failure(id, err)
	}
	_, err = kv.One(ctx, s, m.Store(rec, &env))
	if kv.Raced(err) {
		return nil // created again, or another process was first
	}
	return m.Failure(id, err)
}
