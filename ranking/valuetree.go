package ranking

import (
	"cmp"
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// valueTree is an untyped tree of the values of a list, scored by their numbers of records. A value
// is in the tree while its number is not 0. It follows the numbers as a board does: see [counted].
type valueTree struct {
	count   *tally.Derived
	db      plug.DB
	ready   func(context.Context) error
	title   string
	tree    tree
	reports *reporter
	crowd   *crowd
	ahead   ahead.Memory // of first pages
}

var _ tally.SureFollower = (*valueTree)(nil)

func (v *valueTree) begin(db plug.DB, model, name string, ready func(context.Context) error) {
	v.db, v.ready, v.title = db, ready, model+"."+name
	text := kv.JoinText(model, name)
	own := keytree.NewOwn(text, db.Now, time.Time{})
	own.Note = noter(db, noteName(model, name), "", time.Time{})
	v.tree = tree{keytree.New(keytree.Config{
		Name: text, Code: keytree.Signed, Truth: own, Local: keytree.NewLocal(keptRouters),
		Now: db.Now, Limit: leafLimit, Atomic: v.atomic() != nil,
		Later: func(work func(context.Context, kv.Store) error) {
			db.Soon(func(ctx context.Context) error { return work(ctx, db.Store()) })
		},
	}), own}
	v.reports = newReporter(db)
	v.crowd = newCrowd(v.followNow)
	db.Finishes(noteName(model, name), func(ctx context.Context, s kv.Store, texts []string) error {
		return finishNotes(ctx, s, v.reports, texts, func(note) tree { return v.tree })
	})
}

func (v *valueTree) atomic() func(context.Context, func(kv.Store) error) error {
	return kv.PowersOf(v.db.Store()).Atomic
}

func (v *valueTree) failure(err error) error { return named(v.title, err) }

// fits reports whether a value is short enough to be a member. Longer ones are rejected, but a list
// may already have some.
func fits(id string) bool { return len(id) <= keytree.MaxID }

// Follow moves the members ids to their numbers. In a transaction it uses s. Otherwise concurrent
// callers with one value share the work.
func (v *valueTree) Follow(ctx context.Context, s kv.Store, ids []string) error {
	if v.atomic() == nil {
		return v.failure(v.crowd.follow(ctx, ids))
	}
	due := new(keytree.Due)
	err := kv.Join(v.follow(ctx, s, ids, keytree.NoFence, due)...)
	return v.failure(v.reports.finish(ctx, s, due, err, v.reports.now))
}

func (v *valueTree) followNow(ctx context.Context, ids []string) []error {
	s, due := v.db.Store(), new(keytree.Due)
	errs := v.follow(ctx, s, ids, keytree.FenceAll, due)
	reported := v.reports.now(ctx, due)
	for i := range errs {
		errs[i] = cmp.Or(errs[i], reported)
	}
	return errs
}

// enter moves the members ids to their numbers, and adds missing entries.
func (v *valueTree) enter(ctx context.Context, ids []string) error {
	work := func(s kv.Store) error {
		due := new(keytree.Due)
		err := kv.Join(v.follow(ctx, s, ids, keytree.FenceAll, due)...)
		if err = v.reports.finish(ctx, s, due, err, v.reports.now); err != nil {
			return err
		}
		return v.tree.RestoreAll(ctx, s, ids)
	}
	if atomic := v.atomic(); atomic != nil {
		return atomic(ctx, work)
	}
	return work(v.db.Store())
}

// followThere follows ids without a preceding change, so it needs no fence.
func (v *valueTree) followThere(ctx context.Context, ids []string) error {
	var errs []error
	err := v.reports.making(ctx, func(s kv.Store, due *keytree.Due) { errs = v.follow(ctx, s, ids, keytree.NoFence, due) })
	return v.failure(kv.Join(append(errs, err)...))
}

func (v *valueTree) follow(ctx context.Context, s kv.Store, ids []string, fence keytree.Fence, due *keytree.Due) []error {
	errs := make([]error, len(ids))
	for from := 0; from < len(ids); from += followAtOnce {
		var settings []keytree.Setting
		var at []int
		for i := from; i < min(from+followAtOnce, len(ids)); i++ {
			if fits(ids[i]) {
				settings, at = append(settings, keytree.Setting{ID: ids[i], Fence: fence}), append(at, i)
			}
		}
		for k, err := range v.tree.SetAll(ctx, s, v.tree.own, settings, v.toNumbers(settings), due) {
			errs[at[k]] = err
		}
	}
	return errs
}

// toNumbers returns the changes that move members to their numbers. A member with an unknown number
// stays in place until that is recounted.
func (v *valueTree) toNumbers(all []keytree.Setting) keytree.Changes {
	return func(ctx context.Context, s kv.Store, settings []int, old []keytree.State) ([]keytree.State, []error) {
		ids := kv.Texts(settings, func(i int) string { return all[i].ID })
		counts, err := v.count.Known(ctx, s, ids)
		to, errs := make([]keytree.State, len(ids)), make([]error, len(ids))
		for i := range ids {
			switch {
			case err != nil:
				errs[i] = err
			case counts[i] < 0:
				v.recount(ids[i])
				to[i], errs[i] = keytree.State{In: old[i].In, Score: old[i].Score}, old[i].Broken
			case counts[i] > 0:
				to[i] = keytree.State{In: true, Score: keytree.FromInt(counts[i])}
			}
		}
		return to, errs
	}
}

func (v *valueTree) recount(id string) {
	if v.db.Writable() == nil {
		v.count.Suspect(id, v.db.Now())
	}
}

// lastKnown requests a recount of id and returns its score as a substitute.
func (v *valueTree) lastKnown(id string, at keytree.Score) int64 {
	v.recount(id)
	return at.Int()
}

// known returns the numbers of ids, 0 for unused values. One trip.
func (v *valueTree) known(ctx context.Context, s kv.Store, ids []string) (counts []int64, err error) {
	var states []keytree.State
	err = cmp.Or(kv.Together(ctx, s,
		func(s kv.Store) (err error) { counts, err = v.count.Known(ctx, s, ids); return err },
		func(s kv.Store) (err error) { states, err = v.tree.own.States(ctx, s, ids); return err },
	)...)
	for i := range counts {
		switch {
		case err != nil || counts[i] >= 0:
		case states[i].In || states[i].Broken != nil:
			counts[i] = v.lastKnown(ids[i], states[i].Score)
		default:
			counts[i] = 0
		}
	}
	return counts, err
}

func (v *valueTree) reader() *reader {
	return &reader{tree: v.tree.Tree, db: v.db, name: v.title, listing: v.title, down: true, ahead: &v.ahead}
}

func (v *valueTree) open(ctx context.Context, verb string) (context.Context, *reader, error) {
	ctx, end := v.db.Begin(ctx, verb)
	r := v.reader()
	ctx, err := r.begin(ctx, end, v.ready)
	return ctx, r, err
}

func (v *valueTree) met(d keytree.Doubt) {
	v.db.Soon(func(ctx context.Context) error { return v.clear(ctx, []keytree.Doubt{d}) })
}

func (v *valueTree) restore(id string) {
	v.db.Soon(func(ctx context.Context) error { return v.followThere(ctx, []string{id}) })
}

func (v *valueTree) clear(ctx context.Context, doubtful []keytree.Doubt) error {
	due := new(keytree.Due)
	defer v.reports.add(due)
	for _, d := range doubtful {
		if err := v.followThere(ctx, []string{d.ID}); err != nil {
			return err
		}
		if err := v.tree.Clear(ctx, v.db.Store(), v.tree.own, d, due); err != nil {
			return v.failure(err)
		}
	}
	return nil
}
