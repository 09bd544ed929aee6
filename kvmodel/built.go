package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// builtKey names the indexes of a model that hold all of its records. It is
// added before the model's first write with all indexes there are, so a model
// without it has no records, and an index that is missing in it has to be
// rebuilt.
var builtKey = NewClass("built", 1) // model

// Rebuilds are numbered. One that begins after something was lost has it in
// place again when it ends.
var (
	rebuildKey = NewClass("rebuild", 1) // model; the last to begin
	rebuiltKey = NewClass("rebuilt", 1) // model; the last to end
)

// builtState is what a process knows of the built item of a model.
type builtState struct {
	mu      sync.Mutex // never held during a trip
	known   bool       // the item exists and names none but this model's indexes
	missing []string   // indexes it does not name
}

func (b *builtState) get() (known bool, missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known, b.missing
}

func (b *builtState) set(missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.missing = true, missing
}

// definitions returns the indexes of m by name and definition, sorted.
func (m *model[T]) definitions() []string {
	var defs []string
	for _, index := range m.indexes {
		defs = append(defs, index.Name()+"="+index.Def())
	}
	slices.Sort(defs)
	return defs
}

// writable returns nil when the model may be written: the built item says
// which of its indexes are whole. On a store that one process holds alone, an
// index that was added since is built here and now.
func (m *model[T]) writable(ctx context.Context) error {
	if m.db.isClosed() {
		return unavailable(errDBClosed)
	}
	if known, _ := m.built.get(); known {
		return nil
	}
	if err := m.claimBuilt(ctx); err != nil {
		return err
	}
	return m.buildMissing(ctx)
}

// buildMissing rebuilds what is missing if nobody else can be writing.
func (m *model[T]) buildMissing(ctx context.Context) error {
	_, missing := m.built.get()
	if len(missing) == 0 || m.db.atomic == nil {
		return nil
	}
	m.db.log.Info("ringtree: building new indexes", "model", m.name, "indexes", missing)
	return m.rebuild(ctx)
}

// claimBuilt makes sure that the built item exists and names no index that
// this model does not keep in step.
func (m *model[T]) claimBuilt(ctx context.Context) error {
	mine := m.definitions()
	for range maxTries {
		there, version, err := m.readBuilt(ctx)
		if err != nil {
			return err
		}
		op := OpAdd(builtKey.Key(m.name), encodeTexts(mine))
		keep := mine
		if version != 0 {
			keep = slices.DeleteFunc(slices.Clone(there), func(def string) bool { return !slices.Contains(mine, def) })
			op = OpSwap(builtKey.Key(m.name), version, encodeTexts(keep))
		}
		if version == 0 || len(keep) < len(there) {
			_, err = One(ctx, m.db.store, op)
		}
		if err == nil {
			m.built.set(without(mine, keep))
			return nil
		}
		if Failed(err) && !errors.Is(err, ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", builtKey.Key(m.name), ErrConflict)
}

func (m *model[T]) readBuilt(ctx context.Context) (defs []string, version Version, err error) {
	r, err := One(ctx, m.db.store, OpGet(builtKey.Key(m.name)))
	if errors.Is(err, ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	in := reader{rest: r.Value}
	for len(in.rest) > 0 {
		defs = append(defs, in.text("index"))
	}
	return defs, r.Version, in.err
}

func encodeTexts(texts []string) []byte {
	var b []byte
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
}

// indexReady returns nil if index holds all records.
func (m *model[T]) indexReady(ctx context.Context, index Index[T]) error {
	known, missing := m.built.get()
	if !known {
		there, version, err := m.readBuilt(ctx)
		if err != nil {
			return err
		}
		// Nothing was ever written where the item is absent. It is not
		// remembered, since the first write may come at any time.
		missing = without(m.definitions(), there)
		if version == 0 || len(missing) == 0 {
			if version != 0 {
				m.built.set(nil)
			}
			return nil
		}
		if err := m.writable(ctx); err != nil {
			return err
		}
		_, missing = m.built.get()
	}
	if len(missing) == 0 || !slices.Contains(missing, index.Name()+"="+index.Def()) {
		return nil
	}
	return m.stillMissing(ctx, index)
}

// stillMissing looks whether somebody has rebuilt index meanwhile.
func (m *model[T]) stillMissing(ctx context.Context, index Index[T]) error {
	there, _, err := m.readBuilt(ctx)
	if err != nil {
		return err
	}
	missing := without(m.definitions(), there)
	m.built.set(missing)
	if slices.Contains(missing, index.Name()+"="+index.Def()) {
		return fmt.Errorf("%s.%s: %w: call Rebuild of the data class once all writers know the index",
			m.name, index.Name(), ErrNeedsRebuild)
	}
	return nil
}

// rebuild makes every index hold every record, and says so in the built item.
// Writers may write meanwhile, as long as they keep the same indexes.
func (m *model[T]) rebuild(ctx context.Context) error {
	number, err := Next(ctx, m.db.store, rebuildKey.Key(m.name), 0, 1)
	if err != nil {
		return err
	}
	var conflicts []error
	err = m.eachID(ctx, func(ids []string) error {
		recs, err := m.see(ctx, m.db.store, ids)
		if err != nil {
			return err
		}
		more, err := m.enterAll(ctx, recs)
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
	if err := m.rebuilt(ctx, number); err != nil {
		return err
	}
	return m.markBuilt(ctx)
}

// rebuilds returns the numbers of the last rebuild that has begun and of the
// last that has ended.
func (m *model[T]) rebuilds(ctx context.Context, s Store) (begun, ended int64, err error) {
	results, err := GetAll(ctx, s, rebuildKey.Key(m.name), rebuiltKey.Key(m.name))
	if err != nil {
		return 0, 0, err
	}
	numbers := [2]int64{}
	for i, r := range results {
		if r.Err == nil {
			if numbers[i], err = ParseNumber(r.Value); err != nil {
				return 0, 0, m.failure("rebuilds", err)
			}
		}
	}
	return numbers[0], numbers[1], nil
}

// rebuilt notes that the rebuild of that number has ended.
func (m *model[T]) rebuilt(ctx context.Context, number int64) error {
	key, value := rebuiltKey.Key(m.name), strconv.AppendInt(nil, number, 10)
	for range maxTries {
		r, err := One(ctx, m.db.store, OpGet(key))
		if Failed(err) {
			return err
		}
		if last, bad := ParseNumber(r.Value); err == nil && bad == nil && last >= number {
			return nil
		}
		op := OpAdd(key, value)
		if err == nil {
			op = OpSwap(key, r.Version, value)
		}
		if _, err = One(ctx, m.db.store, op); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", key, ErrConflict)
}

// enterAll makes the entries of recs in every index. Unique values that two of
// them hold are returned as conflicts.
func (m *model[T]) enterAll(ctx context.Context, recs []*Seen[T]) (conflicts []error, err error) {
	var works []func(Store) error
	for _, rec := range recs {
		for _, index := range m.indexes {
			if places := places(index, rec.Value); len(places) > 0 {
				mv := &Move{ID: rec.ID, Base: rec.Rev, Rev: rec.Rev, TTL: m.ttl(rec.env), Gained: places, Mark: rec.env.mark(index.Name()), Was: places, Is: places, Began: m.db.now()}
				works = append(works, func(s Store) error {
					if err := index.Prepare(ctx, s, mv); err != nil {
						return err
					}
					return index.Beside(ctx, s, mv)
				})
			}
		}
	}
	for _, err := range Together(ctx, m.db.store, works...) {
		var taken *TakenError
		switch {
		case errors.As(err, &taken):
			conflicts = append(conflicts, err)
		case err != nil && !errors.Is(err, ErrConflict):
			// A record that changes meanwhile enters itself.
			return conflicts, err
		}
	}
	return conflicts, nil
}

func (m *model[T]) markBuilt(ctx context.Context) error {
	for range maxTries {
		_, version, err := m.readBuilt(ctx)
		if err != nil {
			return err
		}
		op := OpAdd(builtKey.Key(m.name), encodeTexts(m.definitions()))
		if version != 0 {
			op = OpSwap(builtKey.Key(m.name), version, op.Value)
		}
		_, err = One(ctx, m.db.store, op)
		if err == nil {
			m.built.set(nil)
			return nil
		}
		if Failed(err) && !errors.Is(err, ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", builtKey.Key(m.name), ErrConflict)
}
