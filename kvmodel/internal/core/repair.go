package core

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Repair makes the entries of the record id, at the places touched, agree with the record, which it
// first fences past every rev up to past.
func (m *Model) Repair(ctx context.Context, s kv.Store, id string, past uint64, touched []envelope.Touched, doubt bool) error {
	if past > 0 && (m.Ends || slices.ContainsFunc(m.Indexes(), hasNotes)) {
		// Two changes for one rev may have entered the record at one place with different ends or
		// notes. Only an entry with a greater rev outdoes them both.
		past++
	}
	rec, err := m.fenced(ctx, s, id, past)
	if err != nil {
		return err
	}
	touched = slices.Clone(touched)
	for _, t := range Lost(rec) {
		touched = envelope.Merge(touched, t)
	}
	if doubt {
		// A deletion may have uncounted the record where it still is.
		touched = m.mergePlaces(touched, rec)
	}
	var works []func(kv.Store) error
	for _, t := range touched {
		// see Knows for an index that the model does not have
		if index := m.Index(t.Index); index != nil {
			seen := *rec
			m.As(&seen, index)
			seen.Doubt = doubt
			works = append(works, func(s kv.Store) error {
				repair := func() error { return index.Repair(ctx, s, &seen, t.Places) }
				return work.About(m.Name, t.Index, work.Recover("the repair of "+m.Name+"."+t.Index, repair))
			})
		}
	}
	if rec.Envelope != nil && rec.Envelope.Deleted {
		works = append(works, func(s kv.Store) error { return m.DropCounters(ctx, s, id, nil) })
		if m.Forgets {
			works = append(works, func(s kv.Store) error { return m.DropHistory(ctx, s, id) })
		}
	}
	m.NoteDeleted(id, rec.Envelope)
	return m.Failure(id, work.FirstError(kv.Together(ctx, s, works...)...))
}

func (m *Model) Readable(ctx context.Context, s kv.Store, id string) (*plug.Seen, error) {
	rec, err := m.SeeOne(ctx, s, id)
	if rec != nil && rec.Value != nil {
		err = nil
	}
	return rec, err
}

func (m *Model) fenced(ctx context.Context, s kv.Store, id string, past uint64) (*plug.Seen, error) {
	for range MaxTries {
		rec, err := m.Readable(ctx, s, id)
		if err != nil || rec.Rev >= past {
			return rec, err
		}
		err = m.Fence(ctx, s, rec, past)
		if err != nil && !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrUnclear) {
			return nil, err
		}
	}
	return nil, m.Failure(id, kv.ErrConflict)
}

func (m *Model) RepairLine(ctx context.Context, s kv.Store, l journal.Line) error {
	past := l.Rev
	if past == journal.FenceAlways {
		rec, err := m.Readable(ctx, s, l.ID)
		if err != nil {
			return err
		}
		past = rec.Rev + 1
	}
	return m.Repair(ctx, s, l.ID, past, l.Touched, true)
}

func (m *Model) Lacked(ctx context.Context) ([]string, error) { return m.Built.Lacked(ctx) }

func (m *Model) Handles() bool { return m.Handlers.Any() }

func (m *Model) mergePlaces(all []envelope.Touched, rec *plug.Seen) []envelope.Touched {
	for _, index := range m.Indexes() {
		if rec.Value != nil && Counts(index) {
			all = envelope.Merge(all, envelope.Touched{Index: index.Name(), Places: index.Places(rec.Value)})
		}
	}
	return all
}

func Counts(index plug.Index) bool {
	l, ok := index.(plug.Listing)
	return ok && l.Counts()
}

func hasNotes(index plug.Index) bool {
	l, ok := index.(plug.Listing)
	return ok && l.Notes()
}

func Lost(rec *plug.Seen) []envelope.Touched {
	if rec.Envelope == nil {
		return nil
	}
	return rec.Envelope.Lost
}
