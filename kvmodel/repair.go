package kvmodel

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// repair makes the entries of the record id, at the places touched, agree with the record. First it
// makes every uncommitted change prepared for a rev up to past fail. With doubt, counts of the
// record may be wrong, too.
func (m *model) repair(ctx context.Context, s kv.Store, id string, past uint64, touched []envelope.Touched, doubt bool) error {
	if past > 0 && (m.ends || slices.ContainsFunc(m.indexes(), hasNotes)) {
		// Two changes for one rev may have entered the record at one place with
		// different ends or notes. Only an entry with a greater rev outdoes them both.
		past++
	}
	rec, err := m.fenced(ctx, s, id, past)
	if err != nil {
		return err
	}
	touched = slices.Clone(touched)
	for _, t := range lost(rec) {
		touched = envelope.Merge(touched, t)
	}
	if doubt {
		// A deletion may have uncounted the record where it still is.
		touched = m.mergePlaces(touched, rec)
	}
	var works []func(kv.Store) error
	for _, t := range touched {
		// For an index that the model does not have, see Knows.
		if index := m.index(t.Index); index != nil {
			seen := *rec
			m.as(&seen, index)
			seen.Doubt = doubt
			works = append(works, func(s kv.Store) error {
				repair := func() error { return index.Repair(ctx, s, &seen, t.Places) }
				return work.About(m.name, t.Index, work.Recover("the repair of "+m.name+"."+t.Index, repair))
			})
		}
	}
	if rec.Envelope != nil && rec.Envelope.Deleted {
		works = append(works, func(s kv.Store) error { return m.dropCounters(ctx, s, id, nil) })
		if m.forgets {
			works = append(works, func(s kv.Store) error { return m.dropHistory(ctx, s, id) })
		}
	}
	m.noteDeleted(id, rec.Envelope)
	return m.failure(id, work.FirstError(kv.Together(ctx, s, works...)...))
}

// readable is seeOne, but ignores damaged counters.
func (m *model) readable(ctx context.Context, s kv.Store, id string) (*plug.Seen, error) {
	rec, err := m.seeOne(ctx, s, id)
	if rec != nil && rec.Value != nil {
		err = nil
	}
	return rec, err
}

// fenced returns the record id with its rev raised to at least past.
func (m *model) fenced(ctx context.Context, s kv.Store, id string, past uint64) (*plug.Seen, error) {
	for range maxTries {
		rec, err := m.readable(ctx, s, id)
		if err != nil || rec.Rev >= past {
			return rec, err
		}
		err = m.fence(ctx, s, rec, past)
		if err != nil && !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrUnclear) {
			return nil, err
		}
	}
	return nil, m.failure(id, kv.ErrConflict)
}

// RepairLine finishes the change in l.
func (m *model) RepairLine(ctx context.Context, s kv.Store, l journal.Line) error {
	past := l.Rev
	if past == journal.FenceAlways {
		rec, err := m.readable(ctx, s, l.ID)
		if err != nil {
			return err
		}
		past = rec.Rev + 1
	}
	return m.repair(ctx, s, l.ID, past, l.Touched, true)
}

// Lacked returns the names of the indexes in the built item that m does not have.
func (m *model) Lacked(ctx context.Context) ([]string, error) { return m.built.Lacked(ctx) }

// Handles reports whether any handler is registered.
func (m *model) Handles() bool { return m.handlers.Any() }

// mergePlaces adds the places of rec in counting indexes to all.
func (m *model) mergePlaces(all []envelope.Touched, rec *plug.Seen) []envelope.Touched {
	for _, index := range m.indexes() {
		if rec.Value != nil && counts(index) {
			all = envelope.Merge(all, envelope.Touched{Index: index.Name(), Places: index.Places(rec.Value)})
		}
	}
	return all
}

func counts(index plug.Index) bool {
	c, ok := index.(plug.Counting)
	return ok && c.Counts()
}

func hasNotes(index plug.Index) bool {
	n, ok := index.(plug.Noting)
	return ok && n.Notes()
}

// lost returns the places that may still name rec although it is deleted.
func lost(rec *plug.Seen) []envelope.Touched {
	if rec.Envelope == nil {
		return nil
	}
	return rec.Envelope.Lost
}
