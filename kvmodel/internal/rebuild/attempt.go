package rebuild

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
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (m *Builds) IndexReady(ctx context.Context, index plug.Index) error {
	if missing, _, fresh := m.Built.Known(); fresh && !core.IsAmong(index, missing) {
		if m.Built.IsDue() {
			m.Db.Soon(func(ctx context.Context) error {
				_, err := m.Missing(ctx)
				return err
			})
		}
		return nil
	}
	// Another process may have rebuilt it since.
	missing, err := m.Missing(ctx)
	switch {
	case err != nil || !core.IsAmong(index, missing):
		return err
	case m.Db.Alone:
		return m.awaitBuilt(ctx, index)
	}
	return m.unbuilt(ctx, index)
}

func (m *Builds) Missing(ctx context.Context) ([]string, error) {
	there, err := m.Built.Read(ctx)
	if err != nil || !there.Exists {
		// Nothing was ever written. That is not remembered, since the first write may come at any
		// time.
		return nil, err
	}
	if there.Damaged != nil && !m.Db.Alone {
		return nil, m.Failure("the built item", fmt.Errorf("%w: %w", plug.ErrNeedsRebuild, there.Damaged))
	}
	missing := plug.Without(m.Definitions(), there.Whole)
	if len(missing) > 0 && m.Db.Alone {
		if err := m.Writable(ctx); err != nil {
			return nil, err
		}
		if missing, _, _ = m.Built.Known(); len(missing) > 0 {
			m.BuildMissing(missing)
		}
		return missing, nil
	}
	m.Built.Saw(there, missing)
	return missing, nil
}

func (m *Builds) BeginBuild(ctx context.Context) error {
	if missing, read, _ := m.Built.Known(); !m.Db.Alone || read && len(missing) == 0 {
		return nil
	}
	_, err := m.Missing(ctx)
	return err
}

// building is one attempt of a build.
type building struct {
	*Builds
	indexes  []plug.Index // when the build began
	run      *run
	lease    *build.Lease
	state    build.State
	kept     time.Time       // when the progress was last saved, with
	keptDone int64           // this many ids
	ownDone  int             // of the indexes' own steps since then
	noted    map[string]bool // whose own progress is saved
	tokens   built.Building
	named    time.Time               // when the item named the indexes
	past     uint64                  // the store's edition that all processes know
	builders map[string]plug.Builder // that build themselves, by name
	fencing  bool                    // a process without an index may have requests in flight
	damaged  map[string]error        // by id: could not be entered
	unread   error                   // an ErrCorrupt: there may be records that nothing else names
}

func (m *Builds) buildOnce(ctx context.Context, r *run, joined bool) error {
	b := &building{Builds: m, indexes: m.Indexes(), run: r, kept: m.Db.Now(), noted: map[string]bool{}}
	var err error
	if b.tokens, err = m.Built.Build(ctx); err != nil {
		return err
	}
	b.named = m.Db.Now()
	begin := func(ctx context.Context, after bool) (int64, error) {
		if joined && !after && len(b.missing()) == 0 {
			return 0, errBuilt
		}
		return m.Built.Begin(ctx)
	}
	b.lease, err = m.item.Claim(ctx, slices.Collect(maps.Values(b.tokens)), begin)
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
		// Retrying the losers alone did not help, and more may be lost.
		err = b.startOver(beating)
	}
	if end(); errors.Is(context.Cause(beating), build.ErrTaken) {
		return build.ErrTaken
	}
	if err == nil || work.Waits(err) {
		// All is built. If the item remains, the next build takes this one for dead.
		_ = b.lease.End(ctx)
		if err := b.leftOut(); err != nil {
			return fmt.Errorf("rebuild %s: %w", m.Name, err)
		}
		return err
	}
	b.release(ctx, errors.As(err, &duplicates))
	if errors.Is(err, built.ErrStopped) || errors.Is(err, build.ErrTaken) {
		return err
	}
	return fmt.Errorf("rebuild %s: %w", m.Name, err)
}

func (b *building) startOver(ctx context.Context) error {
	number, err := b.Built.Begin(ctx)
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

func (b *building) isWhole() bool {
	found := b.lease.Found
	return found.Stage == build.Entering && found.Reached == (enumeration.Reached{})
}

// errLostSince: an index noticed a loss only while records were entered. A later build restores it.
var errLostSince = errors.New("a part of an index is lost")

var errBuilt = errors.New("another process has built it")

func (b *building) missing() (missing []string) {
	for _, def := range b.Definitions() {
		if b.tokens[def] != "" {
			missing = append(missing, def)
		}
	}
	return missing
}

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
		return b.leftOut() // an index that never had these records must not count as complete
	}
	if err := b.buildAll(ctx); err != nil {
		return err
	}
	if err := b.Built.End(ctx, b.state.Number); err != nil {
		return err
	}
	if err := b.meetEarlier(ctx, b.lease.Found.Reached); err != nil {
		return err
	}
	wait := b.finishIndexes(ctx, b.without(duplicates))
	if errors.Is(wait, plug.ErrNeedsRebuild) {
		return fmt.Errorf("%w: %w", errLostSince, wait)
	}
	if wait != nil && !work.Waits(wait) {
		return wait
	}
	if duplicates != nil {
		// The next build retries only the losers, in all indexes.
		b.state.Stage, b.state.Own = build.Finished, nil
		return cmp.Or(b.keep(ctx), error(duplicates))
	}
	return wait
}

func (b *building) without(duplicates *DuplicatesError) []string {
	switch {
	case duplicates == nil:
		return b.Definitions()
	case duplicates.More > 0:
		return nil
	}
	bad := duplicates.Indexes()
	return slices.DeleteFunc(b.Definitions(), func(def string) bool { return slices.Contains(bad, core.NameOf(def)) })
}

func (b *building) findBuilders() map[string]plug.Builder {
	builders := map[string]plug.Builder{}
	for _, index := range b.indexes {
		if builder, ok := index.(plug.Builder); ok && b.tokens[core.Definition(index)] != "" {
			builders[index.Name()] = builder
		}
	}
	return builders
}

// finishIndexes runs the final steps, side by side since some wait, and marks each index of fit as
// soon as it is done.
func (b *building) finishIndexes(ctx context.Context, fit []string) error {
	var entered []string
	var works []func(kv.Store) error
	for _, index := range b.indexes {
		def := core.Definition(index)
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
	return work.FirstError(kv.Together(ctx, b.Db.Store, works...)...)
}

// Indexes marked are not built again, even if the rest fails.
func (b *building) mark(ctx context.Context, defs ...string) error {
	err := b.Built.Mark(ctx, b.tokens, defs...)
	if err != nil {
		return err
	}
	for _, def := range defs {
		b.tokens[def] = ""
	}
	return nil
}

func (b *building) buildAll(ctx context.Context) error {
	for _, index := range b.indexes {
		if builder := b.builders[index.Name()]; builder != nil {
			if err := builder.Build(ctx, steps{b, index.Name()}); err != nil {
				return err
			}
			if err := b.mark(ctx, core.Definition(index)); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter skips b.builders.
func (b *building) enter(ctx context.Context, s kv.Store, rec *plug.Seen) ([]*core.TakenError, error) {
	for range core.MaxTries {
		taken, err := b.enterOnce(ctx, s, rec)
		if err == nil || !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return taken, err
		}
		if rec, err = b.Readable(ctx, s, rec.ID); err != nil {
			return nil, err
		}
	}
	return nil, b.Failure(rec.ID, kv.ErrConflict)
}

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

func (b *building) leaveOut(id string, err error) {
	if b.damaged == nil {
		b.damaged = make(map[string]error)
	}
	b.damaged[id] = err
}

// leftOut names the records that could not be entered and the damaged items that may have named
// others.
func (b *building) leftOut() error {
	var errs []error
	if b.unread != nil {
		errs = append(errs, b.unread)
	}
	for _, id := range slices.Sorted(maps.Keys(b.damaged)) {
		errs = append(errs, b.damaged[id])
	}
	if err := core.Joined(errs); err != nil {
		return fmt.Errorf("%d items could not be read and are not in the index: %w", len(errs), err)
	}
	return nil
}

func (b *building) enterOnce(ctx context.Context, s kv.Store, rec *plug.Seen) ([]*core.TakenError, error) {
	m := b.Model
	if rec.Value == nil {
		// It may still be in some of its places.
		return nil, m.Repair(ctx, s, rec.ID, 0, nil, false)
	}
	moves := make([]*plug.Move, len(b.indexes))
	var taken []*core.TakenError
	var damaged []error // the record is still entered into other indexes
	var prepare, beside []func(kv.Store) error
	for i, index := range b.indexes {
		places := index.Places(rec.Value)
		if len(places) == 0 || b.builders[index.Name()] != nil {
			continue
		}
		mv := &plug.Move{
			ID: rec.ID, Base: rec.Rev, Rev: rec.Rev, Ends: rec.Expires(), Stands: rec.Expires(),
			Gained: places, Was: places, Is: places, Mark: rec.Envelope.Mark(index.Name()), Began: m.Db.Now(),
		}
		if mv.Mark != nil {
			// It was entered before. Repair restores missing parts.
			seen := *rec
			m.As(&seen, index)
			prepare = append(prepare, func(s kv.Store) error {
				return unlessCorrupt(&damaged, index.Repair(ctx, s, &seen, places))
			})
			continue
		}
		moves[i] = mv
		prepare = append(prepare, func(s kv.Store) error {
			err := index.Prepare(ctx, s, mv)
			var other *core.TakenError
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
	return taken, work.FirstError(err, core.Joined(damaged))
}

func unlessCorrupt(all *[]error, err error) error {
	if wire.IsCorrupt(err) {
		*all = append(*all, err)
		return nil
	}
	return err
}

func (b *building) keepMarks(ctx context.Context, s kv.Store, rec *plug.Seen, moves []*plug.Move) error {
	env := *rec.Envelope
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
	_, err := kv.One(ctx, s, b.Store(rec, &env))
	return err
}
