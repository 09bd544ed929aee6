package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// builtKey names the indexes of a model that hold all of its records. It is
// added before the model's first write with all indexes there are, so a model
// without it has no records, and an index that is missing in it has to be
// rebuilt.
var builtKey = kv.NewClass("built", 1) // model

// Rebuilds are numbered. One that begins after something was lost has it in
// place again when it ends.
var (
	rebuildKey = kv.NewClass("rebuild", 1) // model; the last to begin
	rebuiltKey = kv.NewClass("rebuilt", 1) // model; the last to end
)

// builtState is what a process knows of the built item of a model.
type builtState struct {
	turn chan struct{} // holds one token while nobody claims the item

	mu      sync.Mutex // never held during a trip
	read    bool       // the item exists, and missing says what it does not name
	claimed bool       // and it names none but this model's indexes
	missing []string   // indexes that do not hold all records
}

func (b *builtState) get() builtState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return builtState{read: b.read, claimed: b.claimed, missing: b.missing}
}

// saw remembers that the item exists and does not name missing.
func (b *builtState) saw(missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.missing = true, missing
}

// claim remembers that the item is fit for this model to write.
func (b *builtState) claim(missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.claimed, b.missing = true, true, missing
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
// index that was added since is built here and now, while others wait.
func (m *model[T]) writable(ctx context.Context) error {
	if m.db.isClosed() {
		return unavailable(errDBClosed)
	}
	if m.built.get().claimed {
		return nil
	}
	select {
	case <-m.built.turn:
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
	defer func() { m.built.turn <- struct{}{} }()
	if m.built.get().claimed {
		return nil
	}
	missing, err := m.claimBuilt(ctx)
	if err == nil && len(missing) > 0 && m.db.atomic != nil {
		missing, err = m.buildMissing(ctx, missing)
	}
	if err == nil {
		m.built.claim(missing)
	}
	return err
}

// buildMissing rebuilds the indexes that are missing and returns those that
// still are: records that are in conflict keep nobody from writing others.
func (m *model[T]) buildMissing(ctx context.Context, missing []string) ([]string, error) {
	m.db.log.Info("ringtree: building new indexes", "model", m.name, "indexes", missing)
	err := m.rebuild(ctx)
	if err == nil || kv.Failed(err) {
		return nil, err
	}
	m.db.log.Error("ringtree: new indexes could not be built and cannot be read", "model", m.name, "indexes", missing, "err", err)
	return missing, nil
}

// claimBuilt makes sure that the built item exists and names no index that
// this model does not keep in step. It returns those it does not name.
func (m *model[T]) claimBuilt(ctx context.Context) (missing []string, err error) {
	mine := m.definitions()
	for range maxTries {
		there, version, err := m.readBuilt(ctx)
		if err != nil {
			return nil, err
		}
		op := kv.OpAdd(builtKey.Key(m.name), encodeTexts(mine))
		keep := mine
		if version != 0 {
			keep = slices.DeleteFunc(slices.Clone(there), func(def string) bool { return !slices.Contains(mine, def) })
			op = kv.OpSwap(builtKey.Key(m.name), version, encodeTexts(keep))
		}
		if version == 0 || len(keep) < len(there) {
			_, err = kv.One(ctx, m.db.store, op)
		}
		if err == nil {
			return without(mine, keep), nil
		}
		if kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", builtKey.Key(m.name), kv.ErrConflict)
}

func (m *model[T]) readBuilt(ctx context.Context) (defs []string, version kv.Version, err error) {
	r, err := kv.One(ctx, m.db.store, kv.OpGet(builtKey.Key(m.name)))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	in := wire.Reader{Rest: r.Value}
	for len(in.Rest) > 0 {
		defs = append(defs, in.Text("index"))
	}
	return defs, r.Version, in.Err
}

// indexReady returns nil if index holds all records.
func (m *model[T]) indexReady(ctx context.Context, index plug.Index[T]) error {
	def := index.Name() + "=" + index.Def()
	known := m.built.get()
	if known.read && !slices.Contains(known.missing, def) {
		return nil
	}
	// Somebody may have rebuilt it meanwhile.
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
	there, version, err := m.readBuilt(ctx)
	if err != nil || version == 0 {
		// Nothing was ever written where the item is absent. That is not
		// remembered, since the first write may come at any time.
		return nil, err
	}
	missing := without(m.definitions(), there)
	if len(missing) > 0 && m.db.atomic != nil {
		if err := m.writable(ctx); err != nil {
			return nil, err
		}
		return m.built.get().missing, nil
	}
	m.built.saw(missing)
	return missing, nil
}

// rebuildTries is how often, once a second, a rebuild looks whether processes
// with other indexes have ended.
const rebuildTries = 60

// awaitOthers returns when no process writes the model with other indexes, whose
// records a rebuild would miss. An ErrNeedsRebuild names one that does not end.
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
	others, heads, err := m.db.othersHeads(ctx)
	if err != nil {
		return "", err
	}
	for i, process := range others {
		state, err := stateOf(heads[i])
		if err != nil {
			return "", err
		}
		differs := slices.ContainsFunc(state.shapes, func(shape string) bool {
			name, hash, _ := strings.Cut(shape, "=")
			return name == m.name && hash != m.shape()
		})
		if differs && !m.db.isDead(process, state.tick) {
			return process, nil
		}
	}
	return "", nil
}

// rebuild makes every index hold every record, and says so in the built item.
// Writers may write meanwhile, as long as they keep the same indexes.
func (m *model[T]) rebuild(ctx context.Context) error {
	number, err := kv.Next(ctx, m.db.store, rebuildKey.Key(m.name), 0, 1)
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
	wait := m.finishIndexes(ctx)
	if wait != nil && !waits(wait) {
		return fmt.Errorf("rebuild %s: %w", m.name, wait)
	}
	return firstError([]error{m.markBuilt(ctx), wait})
}

func (m *model[T]) finishIndexes(ctx context.Context) error {
	var errs []error
	for _, index := range m.indexes {
		if f, ok := index.(plug.Finisher); ok {
			errs = append(errs, f.Finish(ctx))
		}
	}
	return firstError(errs)
}

// rebuilds returns the numbers of the last rebuild that has begun and of the
// last that has ended.
func (m *model[T]) rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error) {
	results, err := kv.GetAll(ctx, s, rebuildKey.Key(m.name), rebuiltKey.Key(m.name))
	if err != nil {
		return 0, 0, err
	}
	numbers := [2]int64{}
	for i, r := range results {
		if r.Err == nil {
			if numbers[i], err = kv.ParseNumber(r.Value); err != nil {
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
		r, err := kv.One(ctx, m.db.store, kv.OpGet(key))
		if kv.Failed(err) {
			return err
		}
		if last, bad := kv.ParseNumber(r.Value); err == nil && bad == nil && last >= number {
			return nil
		}
		op := kv.OpAdd(key, value)
		if err == nil {
			op = kv.OpSwap(key, r.Version, value)
		}
		if _, err = kv.One(ctx, m.db.store, op); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// enterAll makes the entries of recs in every index. Unique values that two of
// them hold are returned as conflicts.
func (m *model[T]) enterAll(ctx context.Context, recs []*plug.Seen[T]) (conflicts []error, err error) {
	works := make([]func(kv.Store) error, len(recs))
	for i, rec := range recs {
		works[i] = func(s kv.Store) error { return m.enter(ctx, s, rec) }
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

// enter makes the entries of rec in every index, again if the record changes
// meanwhile: the change may not have touched what is to be entered.
func (m *model[T]) enter(ctx context.Context, s kv.Store, rec *plug.Seen[T]) error {
	for range maxTries {
		err := m.enterOnce(ctx, s, rec)
		var taken *TakenError
		if err == nil || errors.As(err, &taken) || !errors.Is(lostIfConflict(err), errLost) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if rec, err = m.seeOne(ctx, s, rec.ID); err != nil {
			return err
		}
	}
	return m.failure(rec.ID, kv.ErrConflict)
}

func (m *model[T]) enterOnce(ctx context.Context, s kv.Store, rec *plug.Seen[T]) error {
	if rec.Value == nil {
		return nil
	}
	moves := make([]*plug.Move, len(m.indexes))
	var prepare, beside []func(kv.Store) error
	for i, index := range m.indexes {
		places := index.Places(rec.Value)
		if len(places) == 0 {
			continue
		}
		mv := &plug.Move{
			ID: rec.ID, Base: rec.Rev, Rev: rec.Rev, TTL: m.ttl(rec.Envelope),
			Gained: places, Was: places, Is: places, Mark: rec.Envelope.Mark(index.Name()), Began: m.db.now(),
		}
		if mv.Mark != nil {
			// It has been entered; what is missing of it is made again.
			view := *rec
			m.view(&view, index)
			prepare = append(prepare, func(s kv.Store) error { return index.Repair(ctx, s, &view, places) })
			continue
		}
		moves[i] = mv
		prepare = append(prepare, func(s kv.Store) error { return index.Prepare(ctx, s, mv) })
		beside = append(beside, func(s kv.Store) error { return index.Beside(ctx, s, mv) })
	}
	if err := firstError(kv.Together(ctx, s, prepare...)); err != nil {
		return err
	}
	if err := m.keepMarks(ctx, s, rec, moves); err != nil {
		return err
	}
	return firstError(kv.Together(ctx, s, beside...))
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

func (m *model[T]) markBuilt(ctx context.Context) error {
	for range maxTries {
		_, version, err := m.readBuilt(ctx)
		if err != nil {
			return err
		}
		op := kv.OpAdd(builtKey.Key(m.name), encodeTexts(m.definitions()))
		if version != 0 {
			op = kv.OpSwap(builtKey.Key(m.name), version, op.Value)
		}
		_, err = kv.One(ctx, m.db.store, op)
		if err == nil {
			m.built.saw(nil)
			return nil
		}
		if kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", builtKey.Key(m.name), kv.ErrConflict)
}
