package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// buildMissing rebuilds the indexes that are missing and returns those that still
// are: records in conflict do not keep others from being written.
func (m *model[T]) buildMissing(ctx context.Context, missing []string) ([]string, error) {
	m.db.log.Info("ringtree: building new indexes", "model", m.name, "indexes", missing)
	err := m.rebuild(ctx)
	if err == nil || kv.Failed(err) {
		return nil, err
	}
	m.db.log.Error("ringtree: new indexes could not be built and cannot be read", "model", m.name, "indexes", missing, "err", err)
	return missing, nil
}

// indexReady returns nil if index holds all records.
func (m *model[T]) indexReady(ctx context.Context, index plug.Index[T]) error {
	def := definition(index)
	if missing, _, fresh := m.built.Known(); fresh && !slices.Contains(missing, def) {
		if m.built.IsDue() {
			m.db.Soon(m.lookAtBuilt)
		}
		return nil
	}
	// Another process may have rebuilt it since.
	missing, err := m.missing(ctx)
	if err == nil && slices.Contains(missing, def) {
		err = fmt.Errorf("%s.%s: %w: call Rebuild of the data class once all writers know the index",
			m.name, index.Name(), ErrNeedsRebuild)
	}
	return err
}

// missing returns the indexes that do not hold all records. On a store that one
// process holds alone they are built first.
func (m *model[T]) missing(ctx context.Context) ([]string, error) {
	there, err := m.built.Read(ctx)
	if err != nil || !there.Exists {
		// Nothing was ever written where the item is absent. That is not
		// remembered, since the first write may come at any time.
		return nil, err
	}
	missing := plug.Without(m.definitions(), there.Whole)
	if len(missing) > 0 && m.db.atomic != nil {
		if err := m.writable(ctx); err != nil {
			return nil, err
		}
		missing, _, _ = m.built.Known()
		return missing, nil
	}
	m.built.Saw(there, missing)
	return missing, nil
}

// rebuild makes every index hold every record, and says so in the built item.
// Others may write at the same time, as long as they keep the same indexes.
func (m *model[T]) rebuild(ctx context.Context) error {
	for range maxTries {
		err := m.rebuildOnce(ctx)
		if !errors.Is(err, built.ErrStopped) {
			return err
		}
	}
	return fmt.Errorf("rebuild %s: %w", m.name, built.ErrStopped)
}

// A building makes indexes hold every record.
type building[T any] struct {
	*model[T]
	tokens   built.Building
	builders map[string]plug.Builder // the indexes, by name, that build themselves
	fencing  bool                    // requests may be under way of a process that lacks an index
}

// rebuildOnce is one try of rebuild. From B2 on, a process that lacks an index takes it
// out before it writes, so only those that have written before are to be looked for.
func (m *model[T]) rebuildOnce(ctx context.Context) error {
	number, err := m.built.Begin(ctx)
	if err != nil {
		return err
	}
	// An index is marked as built before its rebuild ends, so one that is missing now
	// has not been built by this one.
	_, ended, err := m.built.Rebuilds(ctx, m.db.store)
	if err != nil {
		return err
	}
	forgets, err := m.awaitRings(ctx)
	if err != nil {
		return err
	}
	b := &building[T]{model: m}
	if b.builders, err = m.builders(ctx); err != nil {
		return err
	}
	if b.tokens, err = m.built.Build(ctx); err != nil {
		return err
	}
	if err := b.awaitOthers(ctx, m.db.now()); err != nil {
		return fmt.Errorf("rebuild %s: %w", m.name, err)
	}
	if err := b.enterEach(ctx); err != nil {
		return fmt.Errorf("rebuild %s: %w", m.name, err)
	}
	if err := b.buildAll(ctx, ended); err != nil {
		return fmt.Errorf("rebuild %s: %w", m.name, err)
	}
	if err := m.built.End(ctx, number); err != nil {
		return err
	}
	if forgets {
		if err := m.built.Forget(ctx); err != nil {
			return err
		}
	}
	wait := m.finishIndexes(ctx)
	if wait != nil && !work.Waits(wait) {
		return fmt.Errorf("rebuild %s: %w", m.name, wait)
	}
	return work.FirstError(m.built.Mark(ctx, b.tokens, m.definitions()...), wait)
}

// builders returns the indexes, by name, that do not hold all records and build
// themselves.
func (m *model[T]) builders(ctx context.Context) (map[string]plug.Builder, error) {
	there, err := m.built.Read(ctx)
	if err != nil {
		return nil, err
	}
	missing, builders := plug.Without(m.definitions(), there.Whole), map[string]plug.Builder{}
	for _, index := range m.indexes {
		if b, ok := index.(plug.Builder); ok && slices.Contains(missing, definition(index)) {
			builders[index.Name()] = b
		}
	}
	return builders, nil
}

// finishIndexes does what indexes have left to do when every record is entered. Some of
// them wait, so they do it side by side.
func (m *model[T]) finishIndexes(ctx context.Context) error {
	var works []func(kv.Store) error
	for _, index := range m.indexes {
		if f, ok := index.(plug.Finisher); ok {
			works = append(works, func(s kv.Store) error { return f.Finish(ctx, s) })
		}
	}
	return work.FirstError(kv.Together(ctx, m.db.store, works...)...)
}

// buildAll lets the builders build themselves, in the order of the model's indexes.
func (b *building[T]) buildAll(ctx context.Context, ended int64) error {
	for _, index := range b.indexes {
		if builder := b.builders[index.Name()]; builder != nil {
			if err := builder.Build(ctx, ended); err != nil {
				return err
			}
			if err := b.built.Mark(ctx, b.tokens, definition(index)); err != nil {
				return err
			}
		}
	}
	return nil
}

// enterEach makes the entries of every record in every index but the builders.
func (b *building[T]) enterEach(ctx context.Context) error {
	var conflicts []error
	err := b.eachID(ctx, func(ids []string) (live int, err error) {
		recs, err := b.see(ctx, b.db.store, ids)
		if err != nil {
			return 0, err
		}
		more, err := b.enterAll(ctx, recs)
		conflicts = append(conflicts, more...)
		return living(recs), err
	})
	if err == nil && len(conflicts) > 0 {
		const shown = 10
		err = fmt.Errorf("%d records are in conflict, so the indexes stay as they were: %w",
			len(conflicts), errors.Join(conflicts[:min(len(conflicts), shown)]...))
	}
	return err
}

// enterAll makes the entries of recs in every index but the builders. Unique values
// that two of them hold are returned as conflicts.
func (b *building[T]) enterAll(ctx context.Context, recs []*plug.Seen[T]) (conflicts []error, err error) {
	works := make([]func(kv.Store) error, len(recs))
	for i, rec := range recs {
		works[i] = func(s kv.Store) error { return b.enter(ctx, s, rec) }
	}
	for _, err := range kv.Together(ctx, b.db.store, works...) {
		var taken *TakenError
		switch {
		case errors.As(err, &taken):
			conflicts = append(conflicts, err)
		case err != nil:
			return conflicts, err
		}
	}
	return conflicts, nil
}

// enter makes the entries of rec in every index but the builders. If the record changes
// at the same time it starts over, since the change may not have touched what is to be
// entered.
func (b *building[T]) enter(ctx context.Context, s kv.Store, rec *plug.Seen[T]) error {
	for range maxTries {
		err := b.enterOnce(ctx, s, rec)
		var taken *TakenError
		if err == nil || errors.As(err, &taken) || !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if rec, err = b.seeOne(ctx, s, rec.ID); err != nil {
			return err
		}
	}
	return b.failure(rec.ID, kv.ErrConflict)
}

// enterOnce is one try of enter.
func (b *building[T]) enterOnce(ctx context.Context, s kv.Store, rec *plug.Seen[T]) error {
	m := b.model
	if rec.Value == nil {
		// It may not have left all its places.
		return m.repair(ctx, s, rec.ID, 0, nil, false)
	}
	moves := make([]*plug.Move, len(m.indexes))
	var prepare, beside []func(kv.Store) error
	for i, index := range m.indexes {
		places := index.Places(rec.Value)
		if len(places) == 0 || b.builders[index.Name()] != nil {
			continue
		}
		ttl := m.ttl(rec.Envelope)
		mv := &plug.Move{
			ID: rec.ID, Base: rec.Rev, Rev: rec.Rev, TTL: ttl, Stands: ttl, Ends: rec.Expires(),
			Gained: places, Was: places, Is: places, Mark: rec.Envelope.Mark(index.Name()), Began: m.db.now(),
		}
		if mv.Mark != nil {
			// It has been entered. What is missing of it is made again.
			seen := *rec
			m.as(&seen, index)
			prepare = append(prepare, func(s kv.Store) error { return index.Repair(ctx, s, &seen, places) })
			continue
		}
		moves[i] = mv
		prepare = append(prepare, func(s kv.Store) error { return index.Prepare(ctx, s, mv) })
		beside = append(beside, func(s kv.Store) error { return index.Beside(ctx, s, mv) })
	}
	if err := work.FirstError(kv.Together(ctx, s, prepare...)...); err != nil {
		return err
	}
	if err := b.keepMarks(ctx, s, rec, moves); err != nil {
		return err
	}
	return work.FirstError(kv.Together(ctx, s, beside...)...)
}

// keepMarks stores in rec what the indexes of moves want to keep in it. Where a process
// that lacks an index may still have a change under way, that fences the record.
func (b *building[T]) keepMarks(ctx context.Context, s kv.Store, rec *plug.Seen[T], moves []*plug.Move) error {
	env := *rec.Envelope
	env.Marks = slices.Clone(env.Marks)
	changed := b.fencing
	for i, mv := range moves {
		if mv != nil && mv.Mark != nil {
			env.SetMark(b.indexes[i].Name(), mv.Mark)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	env.Rev++
	_, err := kv.One(ctx, s, b.store(rec, &env))
	return err
}
