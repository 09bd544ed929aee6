package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// writable returns nil when the model may be written: the built item says which
// of its indexes hold all records. On a store that one process holds alone, an
// index that was added since is built here and now, while others wait.
func (m *model[T]) writable(ctx context.Context) error {
	if m.db.work.IsClosed() {
		return kv.Unavailable(errDBClosed)
	}
	if err := m.db.Writable(); err != nil {
		return err
	}
	return m.built.Claim(ctx, m.definitions, func(missing []string) ([]string, error) {
		if m.db.atomic == nil {
			return missing, nil
		}
		return m.buildMissing(ctx, missing)
	})
}

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
	if missing, known := m.built.Known(); known && !slices.Contains(missing, def) {
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

// readBuilt asks again which indexes do not hold all records, if that is known. An
// error makes it unknown.
func (m *model[T]) readBuilt(ctx context.Context, s kv.Store) error {
	if _, known := m.built.Known(); !known {
		return nil
	}
	return m.built.ReadAgain(ctx, s, m.definitions())
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
	missing := built.Missing(m.definitions(), there.Defs)
	if len(missing) > 0 && m.db.atomic != nil {
		if err := m.writable(ctx); err != nil {
			return nil, err
		}
		missing, _ = m.built.Known()
		return missing, nil
	}
	m.built.Saw(there, missing)
	return missing, nil
}

// accept makes what the model knows of its indexes worth nothing: servers have lost
// their memory, and that is known. Rebuild makes them again.
func (m *model[T]) accept(ctx context.Context) error { return m.built.Disown(ctx) }

// rebuildTries is how often, once a second, a rebuild looks whether processes
// with other indexes have ended.
const rebuildTries = 60

// awaitOthers returns when no process writes the model with other indexes, whose
// records a rebuild would miss. An ErrNeedsRebuild names a process that does not
// end.
func (m *model[T]) awaitOthers(ctx context.Context) error {
	var process string
	for range rebuildTries {
		var err error
		if process, err = m.otherWriter(ctx); process == "" || err != nil {
			return err
		}
		if !kv.Sleep(ctx, time.Second) {
			break
		}
	}
	return fmt.Errorf("%w, but process %s writes %s with other indexes: end it first", ErrNeedsRebuild, process, m.name)
}

// otherWriter returns a process that lives and has other indexes of m, or "".
func (m *model[T]) otherWriter(ctx context.Context) (string, error) {
	others, err := journal.Others(ctx, m.db.store, m.db.journal.IsOwn, nil)
	if err != nil {
		return "", err
	}
	for _, other := range others {
		tick, shapes, err := other.Head()
		if err != nil {
			return "", err
		}
		differs := slices.ContainsFunc(shapes, func(shape string) bool {
			name, hash, _ := strings.Cut(shape, "=")
			return name == m.name && hash != m.shape()
		})
		if differs && !m.db.repairer.IsDead(other.Process, tick) {
			return other.Process, nil
		}
	}
	return "", nil
}

// rebuild makes every index hold every record, and says so in the built item.
// Others may write at the same time, as long as they keep the same indexes.
func (m *model[T]) rebuild(ctx context.Context) error {
	number, err := m.built.Begin(ctx)
	if err != nil {
		return err
	}
	// What is lost from now on may have been entered already.
	since := m.built.Edition()
	// An index is marked as built before its rebuild ends, so one that is missing now
	// has not been built by this one.
	_, ended, err := m.built.Rebuilds(ctx, m.db.store)
	if err != nil {
		return err
	}
	builders, err := m.builders(ctx)
	if err != nil {
		return err
	}
	var conflicts []error
	err = m.eachID(ctx, func(ids []string) error {
		recs, err := m.see(ctx, m.db.store, ids)
		if err != nil {
			return err
		}
		more, err := m.enterAll(ctx, recs, builders)
		conflicts = append(conflicts, more...)
		return err
	})
	if err == nil && len(conflicts) > 0 {
		const shown = 10
		err = fmt.Errorf("%d records are in conflict, so the indexes stay as they were: %w",
			len(conflicts), errors.Join(conflicts[:min(len(conflicts), shown)]...))
	}
	if err != nil {
		return fmt.Errorf("rebuild %s: %w", m.name, err)
	}
	if err := m.buildAll(ctx, builders, ended, since); err != nil {
		return fmt.Errorf("rebuild %s: %w", m.name, err)
	}
	if err := m.built.End(ctx, number); err != nil {
		return err
	}
	wait := m.finishIndexes(ctx)
	if wait != nil && !work.Waits(wait) {
		return fmt.Errorf("rebuild %s: %w", m.name, wait)
	}
	return work.FirstError(m.built.Mark(ctx, since, m.definitions()), wait)
}

// builders returns the indexes, by name, that do not hold all records and build
// themselves.
func (m *model[T]) builders(ctx context.Context) (map[string]plug.Builder, error) {
	there, err := m.built.Read(ctx)
	if err != nil {
		return nil, err
	}
	missing, builders := built.Missing(m.definitions(), there.Defs), map[string]plug.Builder{}
	for _, index := range m.indexes {
		if b, ok := index.(plug.Builder); ok && slices.Contains(missing, definition(index)) {
			builders[index.Name()] = b
		}
	}
	return builders, nil
}

// buildAll lets builders build themselves, in the order of the model's indexes.
func (m *model[T]) buildAll(ctx context.Context, builders map[string]plug.Builder, ended int64, since built.Edition) error {
	for _, index := range m.indexes {
		if b := builders[index.Name()]; b != nil {
			if err := b.Build(ctx, ended); err != nil {
				return err
			}
			if err := m.built.Add(ctx, since, definition(index)); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishIndexes does what indexes have left to do when every record is entered.
func (m *model[T]) finishIndexes(ctx context.Context) error {
	var errs []error
	for _, index := range m.indexes {
		if f, ok := index.(plug.Finisher); ok {
			errs = append(errs, f.Finish(ctx))
		}
	}
	return work.FirstError(errs...)
}

// enterAll makes the entries of recs in every index but the builders. Unique values
// that two of them hold are returned as conflicts.
func (m *model[T]) enterAll(ctx context.Context, recs []*plug.Seen[T], builders map[string]plug.Builder) (conflicts []error, err error) {
	works := make([]func(kv.Store) error, len(recs))
	for i, rec := range recs {
		works[i] = func(s kv.Store) error { return m.enter(ctx, s, rec, builders) }
	}
	for _, err := range kv.Together(ctx, m.db.store, works...) {
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

// enter makes the entries of rec in every index but the builders. If the record changes at the same
// time it starts over, since the change may not have touched what is to be
// entered.
func (m *model[T]) enter(ctx context.Context, s kv.Store, rec *plug.Seen[T], builders map[string]plug.Builder) error {
	for range maxTries {
		err := m.enterOnce(ctx, s, rec, builders)
		var taken *TakenError
		if err == nil || errors.As(err, &taken) || !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if rec, err = m.seeOne(ctx, s, rec.ID); err != nil {
			return err
		}
	}
	return m.failure(rec.ID, kv.ErrConflict)
}

// enterOnce is one try of enter.
func (m *model[T]) enterOnce(ctx context.Context, s kv.Store, rec *plug.Seen[T], builders map[string]plug.Builder) error {
	if rec.Value == nil {
		// It may not have left all its places.
		return m.repair(ctx, s, rec.ID, 0, nil, false)
	}
	moves := make([]*plug.Move, len(m.indexes))
	var prepare, beside []func(kv.Store) error
	for i, index := range m.indexes {
		places := index.Places(rec.Value)
		if len(places) == 0 || builders[index.Name()] != nil {
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
	if err := m.keepMarks(ctx, s, rec, moves); err != nil {
		return err
	}
	return work.FirstError(kv.Together(ctx, s, beside...)...)
}

// keepMarks stores in rec what the indexes of moves want to keep in it.
func (m *model[T]) keepMarks(ctx context.Context, s kv.Store, rec *plug.Seen[T], moves []*plug.Move) error {
	env := *rec.Envelope
	env.Marks = slices.Clone(env.Marks)
	changed := false
	for i, mv := range moves {
		if mv != nil && mv.Mark != nil {
			env.SetMark(m.indexes[i].Name(), mv.Mark)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	env.Rev++
	_, err := kv.One(ctx, s, m.store(rec, &env))
	return err
}
