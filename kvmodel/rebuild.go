package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// indexReady returns nil if index holds all records.
func (m *model) indexReady(ctx context.Context, index plug.Index) error {
	if missing, _, fresh := m.built.Known(); fresh && !isAmong(index, missing) {
		if m.built.IsDue() {
			m.db.Soon(func(ctx context.Context) error {
				_, err := m.missing(ctx)
				return err
			})
		}
		return nil
	}
	// Another process may have rebuilt it since.
	missing, err := m.missing(ctx)
	switch {
	case err != nil || !isAmong(index, missing):
		return err
	case m.db.alone:
		return m.awaitBuilt(ctx, index)
	}
	return m.unbuilt(ctx, index)
}

// missing returns the indexes that do not hold all records. On a store that one
// process holds alone they are being built then.
func (m *model) missing(ctx context.Context) ([]string, error) {
	there, err := m.built.Read(ctx)
	if err != nil || !there.Exists {
		// Nothing was ever written where the item is absent. That is not
		// remembered, since the first write may come at any time.
		return nil, err
	}
	if there.Damaged != nil && !m.db.alone {
		return nil, m.failure("the built item", fmt.Errorf("%w: %w", ErrNeedsRebuild, there.Damaged))
	}
	missing := plug.Without(m.definitions(), there.Whole)
	if len(missing) > 0 && m.db.alone {
		if err := m.writable(ctx); err != nil {
			return nil, err
		}
		if missing, _, _ = m.built.Known(); len(missing) > 0 {
			m.buildMissing(missing)
		}
		return missing, nil
	}
	m.built.Saw(there, missing)
	return missing, nil
}

// beginBuild begins to build what is missing, on a store that one process holds alone.
func (m *model) beginBuild(ctx context.Context) error {
	if missing, read, _ := m.built.Known(); !m.db.alone || read && len(missing) == 0 {
		return nil
	}
	_, err := m.missing(ctx)
	return err
}

// A building makes indexes hold every record. It is a try of a build.
type building struct {
	*model
	indexes  []plug.Index // of the model when the build began
	run      *run
	lease    *build.Lease
	state    build.State     // what the build has come to
	kept     time.Time       // when that was last written down, with
	keptDone int64           // so many ids
	ownDone  int             // records of the indexes' own parts that came after that
	noted    map[string]bool // the indexes that this process has written down a part of
	tokens   built.Building
	named    time.Time               // when the built item was known to name them
	past     uint64                  // the edition of the store that all processes know
	builders map[string]plug.Builder // the indexes, by name, that build themselves
	fencing  bool                    // requests may be under way of a process that lacks an index
	damaged  map[string]error        // records that could not be entered, by their ids
	unread   error                   // an ErrCorrupt: there may be records that nothing else names
}

// buildOnce is one try of build. From B2 on, a process that lacks an index takes it out
// before it writes, so only those that have written before are to be looked for. With
// joined, it is done if another process has done it.
func (m *model) buildOnce(ctx context.Context, r *run, joined bool) error {
	b := &building{model: m, indexes: m.indexes(), run: r, kept: m.db.now(), noted: map[string]bool{}}
	var err error
	if b.tokens, err = m.built.Build(ctx); err != nil {
		return err
	}
	b.named = m.db.now()
	begin := func(ctx context.Context, after bool) (int64, error) {
		if joined && !after && len(b.missing()) == 0 {
			return 0, errBuilt
		}
		return m.built.Begin(ctx)
	}
	b.lease, err = m.builds.item.Claim(ctx, slices.Collect(maps.Values(b.tokens)), begin)
	switch {
	case errors.Is(err, errBuilt):
		return nil
	case err != nil:
		return err
	}
	b.state = b.lease.Found
	r.builds(b.missing())
	r.saw(b.state)
	beating, end := b.beat(ctx)
	var duplicates *DuplicatesError
	err = b.steps(beating)
	if errors.Is(err, errLostSince) {
		err = b.startOver(beating)
	}
	if r.all && errors.As(err, &duplicates) && b.lease.Found.Stage == build.Finished {
		// To look at the losers alone has not helped, and something else may be lost.
		err = b.startOver(beating)
	}
	if end(); errors.Is(context.Cause(beating), build.ErrTaken) {
		return build.ErrTaken
	}
	if err == nil || work.Waits(err) {
		// All is built. If the item stays, the next build takes it for one that is dead.
		_ = b.lease.End(ctx)
		if err := b.leftOut(); err != nil {
			return fmt.Errorf("rebuild %s: %w", m.name, err)
		}
		return err
	}
	b.release(ctx, errors.As(err, &duplicates))
	if errors.Is(err, built.ErrStopped) || errors.Is(err, build.ErrTaken) {
		return err
	}
	return fmt.Errorf("rebuild %s: %w", m.name, err)
}

// startOver builds from the first record on.
func (b *building) startOver(ctx context.Context) error {
	number, err := b.built.Begin(ctx)
	if err != nil {
		return err
	}
	b.state = build.State{Tokens: b.state.Tokens, Number: number}
	b.lease.Found = b.state
	if err := b.keep(ctx); err != nil {
		return err
	}
	return b.steps(ctx)
}

// isWhole reports whether b has entered all records, and did not go on with what another
// process had entered.
func (b *building) isWhole() bool {
	found := b.lease.Found
	return found.Stage == build.Entering && found.Reached == (enumeration.Reached{})
}

// errLostSince says that an index has found a loss only when records were entered. A
// build that begins after that mends it.
var errLostSince = errors.New("a part of an index is lost")

// errBuilt says that another process has built all.
var errBuilt = errors.New("another process has built it")

// missing returns the indexes that did not hold all records when b began.
func (b *building) missing() (missing []string) {
	for _, def := range b.definitions() {
		if b.tokens[def] != "" {
			missing = append(missing, def)
		}
	}
	return missing
}

// steps are what is left of the build.
func (b *building) steps(ctx context.Context) error {
	b.builders = b.findBuilders()
	if err := b.awaitOthers(ctx); err != nil {
		return err
	}
	if err := b.enterRest(ctx); err != nil {
		return err
	}
	duplicates, err := b.enterLosers(ctx)
	if err != nil {
		return err
	}
	if len(b.missing()) > 0 && b.leftOut() != nil {
		return b.leftOut() // An index that never had them must not pass for whole.
	}
	if err := b.buildAll(ctx); err != nil {
		return err
	}
	if err := b.built.End(ctx, b.state.Number); err != nil {
		return err
	}
	if err := b.meetEarlier(ctx, b.lease.Found.Reached); err != nil {
		return err
	}
	wait := b.finishIndexes(ctx, b.without(duplicates))
	if errors.Is(wait, ErrNeedsRebuild) {
		return fmt.Errorf("%w: %w", errLostSince, wait)
	}
	if wait != nil && !work.Waits(wait) {
		return wait
	}
	if duplicates != nil {
		// The next build looks at the losers alone, wherever they belong.
		b.state.Stage, b.state.Own = build.Finished, nil
		return cmp.Or(b.keep(ctx), error(duplicates))
	}
	return wait
}

// without returns the indexes that duplicates do not concern, as far as that is known.
func (b *building) without(duplicates *DuplicatesError) []string {
	switch {
	case duplicates == nil:
		return b.definitions()
	case duplicates.More > 0:
		return nil
	}
	bad := duplicates.Indexes()
	return slices.DeleteFunc(b.definitions(), func(def string) bool { return slices.Contains(bad, names([]string{def})[0]) })
}

// findBuilders returns the indexes, by name, that do not hold all records and build
// themselves.
func (b *building) findBuilders() map[string]plug.Builder {
	builders := map[string]plug.Builder{}
	for _, index := range b.indexes {
		if builder, ok := index.(plug.Builder); ok && b.tokens[definition(index)] != "" {
			builders[index.Name()] = builder
		}
	}
	return builders
}

// finishIndexes does what indexes have left to do when every record is entered. Some of
// them wait, so they do it side by side, and each of fit is marked as soon as it has nothing
// left to do and can be read.
func (b *building) finishIndexes(ctx context.Context, fit []string) error {
	var entered []string
	var works []func(kv.Store) error
	for _, index := range b.indexes {
		def := definition(index)
		fits := slices.Contains(fit, def)
		f, finishes := index.(plug.Finisher)
		switch {
		case finishes:
			works = append(works, func(s kv.Store) error {
				err := f.Finish(ctx, s, steps{b, index.Name()})
				if !fits || errors.Is(err, plug.ErrUnfit) || err != nil && !work.Waits(err) {
					return err
				}
				return work.FirstError(b.mark(ctx, def), err)
			})
		case fits:
			entered = append(entered, def)
		}
	}
	if err := b.mark(ctx, entered...); err != nil {
		return err
	}
	return work.FirstError(kv.Together(ctx, b.db.store, works...)...)
}

// mark marks indexes as whole. They are not built again, whatever becomes of the rest.
func (b *building) mark(ctx context.Context, defs ...string) error {
	err := b.built.Mark(ctx, b.tokens, defs...)
	if err != nil {
		return err
	}
	for _, def := range defs {
		b.tokens[def] = ""
	}
	return nil
}

// buildAll lets the builders build themselves, in the order of the model's indexes.
func (b *building) buildAll(ctx context.Context) error {
	for _, index := range b.indexes {
		if builder := b.builders[index.Name()]; builder != nil {
			if err := builder.Build(ctx, steps{b, index.Name()}); err != nil {
				return err
			}
			if err := b.mark(ctx, definition(index)); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter makes the entries of rec in every index but the builders. If the record changes
// at the same time it starts over, since the change may not have touched what is to be
// entered. It returns the unique values of rec that others hold.
func (b *building) enter(ctx context.Context, s kv.Store, rec *plug.Seen) ([]*TakenError, error) {
	for range maxTries {
		taken, err := b.enterOnce(ctx, s, rec)
		if err == nil || !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return taken, err
		}
		if rec, err = b.readable(ctx, s, rec.ID); err != nil {
			return nil, err
		}
	}
	return nil, b.failure(rec.ID, kv.ErrConflict)
}

// whole returns those of recs that are not damaged, and keeps the errors of the others
// for the end.
func (b *building) whole(recs []*plug.Seen) (whole []*plug.Seen) {
	for _, rec := range recs {
		if !rec.Damaged() {
			whole = append(whole, rec)
			continue
		}
		b.leaveOut(rec.ID, rec.Err)
	}
	return whole
}

// leaveOut keeps err, which is why the record id is not in all indexes, for the end.
func (b *building) leaveOut(id string, err error) {
	if b.damaged == nil {
		b.damaged = make(map[string]error)
	}
	b.damaged[id] = err
}

// leftOut returns an ErrCorrupt that names the records which could not be entered, and what
// else may have named some, nil if there was none of these.
func (b *building) leftOut() error {
	var errs []error
	if b.unread != nil {
		errs = append(errs, b.unread)
	}
	for _, id := range slices.Sorted(maps.Keys(b.damaged)) {
		errs = append(errs, b.damaged[id])
	}
	if err := joined(errs); err != nil {
		return fmt.Errorf("%d items are left out: %w", len(errs), err)
	}
	return nil
}

// enterOnce is one try of enter.
func (b *building) enterOnce(ctx context.Context, s kv.Store, rec *plug.Seen) ([]*TakenError, error) {
	m := b.model
	if rec.Value == nil {
		// It may not have left all its places.
		return nil, m.repair(ctx, s, rec.ID, 0, nil, false)
	}
	moves := make([]*plug.Move, len(b.indexes))
	var taken []*TakenError
	var damaged []error // of indexes, which keeps the record out of no other
	var prepare, beside []func(kv.Store) error
	for i, index := range b.indexes {
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
			prepare = append(prepare, func(s kv.Store) error {
				return unlessCorrupt(&damaged, index.Repair(ctx, s, &seen, places))
			})
			continue
		}
		moves[i] = mv
		prepare = append(prepare, func(s kv.Store) error {
			err := index.Prepare(ctx, s, mv)
			var other *TakenError
			if errors.As(err, &other) {
				// That does not keep the record out of other indexes.
				taken, moves[i], err = append(taken, other), nil, nil
			}
			if wire.IsCorrupt(err) {
				moves[i] = nil
			}
			return unlessCorrupt(&damaged, err)
		})
		beside = append(beside, func(s kv.Store) error {
			if moves[i] == nil {
				return nil
			}
			return unlessCorrupt(&damaged, index.Beside(ctx, s, mv))
		})
	}
	if err := work.FirstError(kv.Together(ctx, s, prepare...)...); err != nil {
		return nil, err
	}
	if err := b.keepMarks(ctx, s, rec, moves); err != nil {
		return nil, err
	}
	b.meet(rec)
	err := work.FirstError(kv.Together(ctx, s, beside...)...)
	return taken, work.FirstError(err, joined(damaged))
}

// unlessCorrupt returns err, or nil if that is an ErrCorrupt, which it adds to all.
func unlessCorrupt(all *[]error, err error) error {
	if wire.IsCorrupt(err) {
		*all = append(*all, err)
		return nil
	}
	return err
}

// keepMarks stores in rec what the indexes of moves want to keep in it. Where a process
// that lacks an index may still have a change under way, that fences the record.
func (b *building) keepMarks(ctx context.Context, s kv.Store, rec *plug.Seen, moves []*plug.Move) error {
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
