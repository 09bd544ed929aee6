package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Purge deletes the record with id, if it exists, and immediately removes everything a deletion
// leaves behind: the tombstone, the history, all counters, and the id in indexes, journals and the
// enumeration. It is not an error if there is nothing. After any error, call Purge again: it
// continues.
//
// The error is an ErrNotYet while earlier work may still write the id:
//
//   - Records that belong to it by list,with= are deleted first, but not purged. That takes 15
//     seconds on a store without transactions.
//   - A change of the record, in any process, is not complete. That takes a few seconds, and up to
//     an hour if its process has died.
//
// Purge follows the record, its history and its tombstone. It does not find places that the record
// left earlier, references from other records, events, or backups. On a server it reads the ids of
// the whole model, so do not use it for every deletion.
func (r *Records[T, K]) Purge(ctx context.Context, id K) error {
	return r.m.purge(ctx, r.schema.Key.Text(id), r.schema.Key.Empty(id))
}

func (m *model) purge(ctx context.Context, id string, empty bool) error {
	ctx, end := m.db.Begin(ctx, "Purge")
	defer end()
	if empty {
		return m.failure(id, fmt.Errorf("%w: the id or a part of it is empty", errInvalid))
	}
	ctx, cancel := m.db.Patient(ctx)
	defer cancel()
	if err := m.delete(ctx, id, false); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	// The tombstone, which orders their deletion, is about to be removed.
	if err := m.DeleteChildren(ctx, id); err != nil {
		return m.failure(id, err)
	}
	if err := m.awaitChanges(ctx, id); err != nil {
		return m.failure(id, err)
	}
	return m.inTurn(ctx, id, func(id string) error {
		p := &purge{model: m, ctx: ctx, s: m.db.store, id: id}
		return m.failure(id, p.run())
	})
}

// awaitChanges returns nil when no change in progress, of the record id or its children, may still
// write the id.
func (m *model) awaitChanges(ctx context.Context, id string) error {
	if err := m.db.Flush(ctx); err != nil {
		return err
	}
	process, err := m.db.journal.Shed(ctx, func(l journal.Line) bool { return m.concerns(l, id) })
	if err == nil && process != "" {
		err = fmt.Errorf("%w: the journal of process %s still has a change of it, which is not complete; if the process has died, that takes up to an hour", work.ErrNotYet, process)
	}
	return err
}

// concerns reports whether l is a change of the record id or one of its children, or a note of a
// board that may follow it.
func (m *model) concerns(l journal.Line, id string) bool {
	switch model, isNote := noteOf(l.Model); {
	case isNote:
		return model == m.name && slices.ContainsFunc(l.Touched, func(t envelope.Touched) bool { return hasText(t.Places, id) })
	case l.Model == m.name && l.ID == id:
		return true
	}
	return slices.ContainsFunc(l.Touched, func(t envelope.Touched) bool {
		return slices.Contains(m.children, l.Model+"."+t.Index) && slices.Contains(plug.Bares(t.Places), id)
	})
}

// hasText reports whether one of notes contains id in the encoding that indexes use.
func hasText(notes []string, id string) bool {
	text := string(wire.AppendText(nil, id))
	return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, text) })
}

// purge is a Purge in progress. The record is deleted. If another process creates it again, the
// purge ends with an ErrConflict and removes nothing of the new record: it removes only items it
// read before a fence, by the versions read.
type purge struct {
	*model
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
	if err := p.repair(p.ctx, p.s, p.id, 0, places, false); err != nil {
		return err
	}
	for _, index := range p.indexes() {
		if err := p.clear(index, placesOf(places, index.Name())); err != nil {
			return err
		}
	}
	if err := p.dropNumbers(); err != nil {
		return err
	}
	if err := p.dropHistory(p.ctx, p.s, p.id); err != nil {
		return err
	}
	if p.isListed() {
		if err := p.all.Remove(p.ctx, p.s, p.id, p.fence); err != nil {
			return err
		}
	}
	if err := p.forgetChildren(p.ctx, p.id); err != nil {
		return err
	}
	return p.dropTombstone()
}

// places returns the places where indexes may name the record, from its tombstone and its earlier
// revisions.
func (p *purge) places() ([]envelope.Touched, error) {
	rec, log, _, err := p.readHistory(p.ctx, p.s, p.id)
	if err != nil {
		return nil, err
	}
	var all []envelope.Touched
	for _, t := range lost(rec) {
		all = envelope.Merge(all, t)
	}
	for _, e := range log {
		if !e.Kept {
			continue
		}
		v, err := p.decodeBody(e.Model, e.Body, false)
		if err != nil {
			return nil, err
		}
		for _, index := range p.indexes() {
			all = envelope.Merge(all, envelope.Touched{Index: index.Name(), Places: index.Places(v)})
		}
	}
	return slices.DeleteFunc(all, func(t envelope.Touched) bool { return p.index(t.Index) == nil }), nil
}

// fence makes every change fail that has read the tombstone's previous state.
func (p *purge) fence() error {
	rec, err := p.seeOne(p.ctx, p.s, p.id)
	if err != nil || rec.Envelope == nil {
		return err
	}
	if rec.Envelope.Live() {
		return fmt.Errorf("%w: it was made again", kv.ErrConflict)
	}
	err = p.model.fence(p.ctx, p.s, rec, 0)
	p.rev = rec.Rev
	return err
}

// clear removes the traces of the record at places from index.
func (p *purge) clear(index plug.Index, places []string) error {
	if f, ok := index.(plug.Forgetter); ok {
		if err := f.Forget(p.ctx, p.s, p.id, p.rev, places); err != nil {
			return err
		}
	}
	if f, ok := index.(plug.Purger); ok {
		return f.Purge(p.ctx, p.s, p.id, places, p.fence)
	}
	return nil
}

// dropNumbers removes the derived counts of the record that are 0. Others count records that refer
// to it. The plain counters were removed with the record.
func (p *purge) dropNumbers() error {
	var works []func(kv.Store) error
	for i := range p.counters {
		if d := p.counters[i].derived; d != nil {
			works = append(works, func(s kv.Store) error { return d.End(p.ctx, s, p.id) })
		}
	}
	return work.FirstError(kv.Together(p.ctx, p.s, works...)...)
}

// dropTombstone removes the item under the record's key. If ids are assigned in order, an empty
// tombstone keeps the number taken.
func (p *purge) dropTombstone() error {
	rec, err := p.seeOne(p.ctx, p.s, p.id)
	if err != nil || rec.Envelope == nil || rec.Envelope.Live() {
		return err
	}
	op := kv.OpDrop(p.key(p.id), rec.Version)
	if p.numbers != nil {
		op = p.store(rec, &envelope.Envelope{Model: p.version, Rev: rec.Rev, Deleted: true, Tries: rec.Envelope.Tries})
	}
	p.db.recent.Drop(p.key(p.id))
	_, err = kv.One(p.ctx, p.s, op)
	if kv.Raced(err) {
		return kv.ErrConflict
	}
	return err
}
