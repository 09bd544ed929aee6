// Package erase removes the data that no change of a record removes.
package erase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func Purge(ctx context.Context, m *core.Model, id string, empty bool) error {
	ctx, end := m.Db.Begin(ctx, "Purge")
	defer end()
	if empty {
		return m.Failure(id, fmt.Errorf("%w: the id or a part of it is empty", plug.ErrInvalid))
	}
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	if err := write.Delete(ctx, m, id, false); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	// The tombstone, which orders their deletion, is about to be removed.
	if err := m.DeleteChildren(ctx, id); err != nil {
		return m.Failure(id, err)
	}
	if err := awaitChanges(ctx, m, id); err != nil {
		return m.Failure(id, err)
	}
	return m.InTurn(ctx, id, func(id string) error {
		p := &purge{Model: m, ctx: ctx, s: m.Db.Store, id: id}
		return m.Failure(id, p.run())
	})
}

// awaitChanges returns nil when no change of the record or its children may still write the id.
func awaitChanges(ctx context.Context, m *core.Model, id string) error {
	if err := m.Db.Flush(ctx); err != nil {
		return err
	}
	process, err := m.Db.Journal.Shed(ctx, func(l journal.Line) bool { return concerns(m, l, id) })
	if err == nil && process != "" {
		err = fmt.Errorf("%w: the journal of process %s still has an unfinished change of it; if the process has died, this takes up to an hour", work.ErrNotYet, process)
	}
	return err
}

// concerns reports whether l is such a change, or a note of a board that may follow one.
func concerns(m *core.Model, l journal.Line, id string) bool {
	switch model, isNote := core.NoteOf(l.Model); {
	case isNote:
		return model == m.Name && slices.ContainsFunc(l.Touched, func(t envelope.Touched) bool { return hasText(t.Places, id) })
	case l.Model == m.Name && l.ID == id:
		return true
	}
	return slices.ContainsFunc(l.Touched, func(t envelope.Touched) bool {
		return slices.Contains(m.Children, l.Model+"."+t.Index) && slices.Contains(plug.Bares(t.Places), id)
	})
}

// The notes have ids in the encoding that indexes use.
func hasText(notes []string, id string) bool {
	text := string(wire.AppendText(nil, id))
	return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, text) })
}

type purge struct {
	*core.Model
	ctx context.Context
	s   kv.Store
	id  string
	rev uint64 // of the tombstone
}

// run removes the tombstone last, so that another purge can find the rest through it.
func (p *purge) run() error {
	places, err := p.places()
	if err != nil {
		return err
	}
	if err := p.fence(); err != nil {
		return err
	}
	if err := p.Repair(p.ctx, p.s, p.id, 0, places, false); err != nil {
		return err
	}
	for _, index := range p.Indexes() {
		err := index.Purge(p.ctx, p.s, plug.Gone{ID: p.id, Rev: p.rev, Places: core.PlacesOf(places, index.Name())}, p.fence)
		if err != nil {
			return err
		}
	}
	if err := p.dropNumbers(); err != nil {
		return err
	}
	if err := p.DropHistory(p.ctx, p.s, p.id); err != nil {
		return err
	}
	if p.IsListed() {
		if err := p.All.Remove(p.ctx, p.id, p.fence); err != nil {
			return err
		}
	}
	if err := forgetChildren(p.ctx, p.Model, p.id); err != nil {
		return err
	}
	return p.dropTombstone()
}

// places are named by the tombstone and earlier revisions.
func (p *purge) places() ([]envelope.Touched, error) {
	rec, log, _, err := p.ReadHistory(p.ctx, p.s, p.id)
	if err != nil {
		return nil, err
	}
	var all []envelope.Touched
	for _, t := range core.Lost(rec) {
		all = envelope.Merge(all, t)
	}
	for _, e := range log {
		if !e.Kept {
			continue
		}
		v, err := p.DecodeBody(e.Model, e.Body, false)
		if err != nil {
			return nil, err
		}
		for _, index := range p.Indexes() {
			all = envelope.Merge(all, envelope.Touched{Index: index.Name(), Places: index.Places(v)})
		}
	}
	return slices.DeleteFunc(all, func(t envelope.Touched) bool { return p.Index(t.Index) == nil }), nil
}

// fence makes every change fail that has read the tombstone's previous state.
func (p *purge) fence() error {
	rec, err := p.SeeOne(p.ctx, p.s, p.id)
	if err != nil || rec.Envelope == nil {
		return err
	}
	if rec.Envelope.Live() {
		return fmt.Errorf("%w: it was created again", kv.ErrConflict)
	}
	err = p.Model.Fence(p.ctx, p.s, rec, 0)
	p.rev = rec.Rev
	return err
}

func (p *purge) dropNumbers() error {
	var works []func(kv.Store) error
	for i := range p.Counters {
		if d := p.Counters[i].Derived; d != nil {
			works = append(works, func(s kv.Store) error { return d.End(p.ctx, s, p.id) })
		}
	}
	return work.FirstError(kv.Together(p.ctx, p.s, works...)...)
}

func (p *purge) dropTombstone() error {
	rec, err := p.SeeOne(p.ctx, p.s, p.id)
	if err != nil || rec.Envelope == nil || rec.Envelope.Live() {
		return err
	}
	op := kv.OpDrop(p.Key(p.id), rec.Version)
	if p.Numbers != nil {
		op = p.Store(rec, rec.Envelope.Tombstone(p.Version))
	}
	p.Db.Recent.Drop(p.Key(p.id))
	_, err = kv.One(p.ctx, p.s, op)
	if kv.Raced(err) {
		return kv.ErrConflict
	}
	return err
}

// ForgetDue cleans the tombstones that are due. Failures are retried.
func ForgetDue(ctx context.Context, m *core.Model) error {
	due := m.Deletions.Due(m.Db.Now().Add(-times.Forget))
	if len(due) == 0 {
		return nil
	}
	errs := forget(ctx, m, kv.Texts(due, func(d core.Deletion) string { return d.ID }))
	for i, err := range errs {
		if err != nil {
			m.Deletions.Add(due[i].ID, m.Db.Now())
		}
	}
	return work.FirstError(errs...)
}

// forget removes the last entries of deleted records, of all records in one list together, and then
// the places from their tombstones. It returns an error or nil for each record.
func forget(ctx context.Context, m *core.Model, ids []string) []error {
	errs := make([]error, len(ids))
	recs, err := m.See(ctx, m.Db.Store, ids)
	if recs == nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	gone, holders := make(map[string][]plug.Gone), make(map[string][]int) // by index
	for i, rec := range recs {
		errs[i] = rec.Err
		if rec.Envelope == nil || !rec.Envelope.Deleted {
			continue
		}
		for _, t := range core.Lost(rec) {
			gone[t.Index] = append(gone[t.Index], plug.Gone{ID: rec.ID, Rev: rec.Rev, Places: t.Places})
			holders[t.Index] = append(holders[t.Index], i)
		}
	}
	kv.Each(ctx, m.Db.Store, slices.Sorted(maps.Keys(gone)), func(s kv.Store, _ int, name string) error {
		index, ok := m.Index(name).(plug.Listing)
		if !ok {
			return nil
		}
		for k, err := range index.Erase(ctx, s, gone[name]) {
			i := holders[name][k]
			errs[i] = cmp.Or(errs[i], err)
		}
		return nil
	})
	return kv.Each(ctx, m.Db.Store, recs, func(s kv.Store, i int, rec *plug.Seen) error {
		if err := errs[i]; err != nil || rec.Envelope == nil || !rec.Envelope.Deleted {
			return m.Failure(rec.ID, err)
		}
		return m.Failure(rec.ID, dropPlaces(ctx, m, s, rec))
	})
}

func dropPlaces(ctx context.Context, m *core.Model, s kv.Store, rec *plug.Seen) error {
	if m.Forgets {
		if err := m.DropHistory(ctx, s, rec.ID); err != nil {
			return err
		}
	}
	env := *rec.Envelope
	// a process with an unknown index may have something to clean there
	if !env.DropLost(func(name, _ string) bool { return m.Index(name) != nil }) {
		return nil
	}
	_, err := kv.One(ctx, s, m.Store(rec, &env))
	if kv.Raced(err) {
		return nil // created again, or another process was first
	}
	return err
}
