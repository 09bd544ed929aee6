package ranking

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// valueTree has the values of a list, scored by their numbers of records, while these are not 0. It
// follows the numbers as a board does: see [counted].
type valueTree struct {
	count   *tally.Derived
	db      plug.DB
	ready   func(context.Context) error
	title   string
	tree    tree
	reports *reporter
	crowd   *crowd
	ahead   ahead.Memory
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
	v.crowd = &crowd{do: v.followNow, turn: make(chan struct{}, 1)}
	db.Finishes(noteName(model, name), func(ctx context.Context, s kv.Store, texts []string) error {
		return finishNotes(ctx, s, v.reports, texts, func(note) tree { return v.tree })
	})
}

func (v *valueTree) atomic() func(context.Context, func(kv.Store) error) error {
	return kv.PowersOf(v.db.Store()).Atomic
}

func (v *valueTree) failure(err error) error { return named(v.title, err) }

// A list may already have values that are too long.
func fits(id string) bool { return len(id) <= keytree.MaxID }

// Follow uses s in a transaction. Otherwise concurrent callers with one value share the work.
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

// followThere follows no change, so it needs no fence.
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

// A member with an unknown number stays in place until that is recounted.
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
	return &reader{tree: v.tree.Tree, db: v.db, name: v.title, listing: func() string { return v.title }, down: true, ahead: &v.ahead}
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

// crowd follows members for many callers. Requests that arrive meanwhile are merged into the next
// round, which follows each member once.
type crowd struct {
	do   func(ctx context.Context, ids []string) []error
	turn chan struct{}

	mu   sync.Mutex
	next *round // nil if none has joined since the last began
}

type round struct {
	ids  []string
	at   map[string]int
	errs []error
	done chan struct{}
}

// follow returns after a round that began after the call has followed ids.
func (c *crowd) follow(ctx context.Context, ids []string) error {
	r := c.join(ids)
	select {
	case c.turn <- struct{}{}:
		c.run(ctx, r)
		<-c.turn
	case <-r.done:
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
	for _, id := range ids {
		if err := r.errs[r.at[id]]; err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) join(ids []string) *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = &round{at: make(map[string]int), done: make(chan struct{})}
	}
	for _, id := range ids {
		if _, twice := c.next.at[id]; !twice {
			c.next.at[id] = len(c.next.ids)
			c.next.ids = append(c.next.ids, id)
		}
	}
	return c.next
}

// The caller of run has the turn.
func (c *crowd) run(ctx context.Context, r *round) {
	c.mu.Lock()
	begins := c.next == r
	if begins {
		c.next = nil
	}
	c.mu.Unlock()
	if begins {
		r.errs = c.do(ctx, r.ids)
		close(r.done)
	}
}

// valuesIndex is an index of its own, so that it can be built while the list is read, and processes
// that do not keep it are recognized. The list counts the changes and notifies the values.
type valuesIndex struct {
	plug.Unlimited
	*valueTree
	name, def string
	places    func(plug.Record) []string
	met       plug.Places // values seen by a running rebuild
}

var (
	_ plug.Index    = (*valuesIndex)(nil)
	_ plug.Meeter   = (*valuesIndex)(nil)
	_ plug.Finisher = (*valuesIndex)(nil)
)

func plugValues(records plug.Model, v *valueTree, list, def string, places func(plug.Record) []string) {
	x := &valuesIndex{
		valueTree: v, name: plug.ValuesName(list), places: places,
		def: "values of " + def + " counted in " + v.count.Name(),
	}
	records.Plug(x, func(host plug.Host) {
		v.begin(host.DB(), host.Model(), x.name, host.Ready)
		v.count.FollowSurely(v)
	})
}

func (x *valuesIndex) Name() string { return x.name }

func (x *valuesIndex) Def() string { return x.def }

func (x *valuesIndex) Places(rec plug.Record) []string { return x.places(rec) }

func (x *valuesIndex) Prepare(_ context.Context, _ kv.Store, m *plug.Move) error {
	for _, id := range m.Gained {
		if !fits(id) && !m.Rebuilds() {
			return x.failure(plug.TooLong("a value", id, keytree.MaxID))
		}
	}
	return nil
}

func (x *valuesIndex) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

func (x *valuesIndex) After(context.Context, kv.Store, []*plug.Move) error { return nil }

// Repair follows if a dead process may have counted. If its counts are wrong, the list recounts
// them, and the values follow again.
func (x *valuesIndex) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	if !rec.Doubt || x.atomic() != nil {
		return nil
	}
	return x.Follow(ctx, s, places)
}

func (x *valuesIndex) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	holders := plug.Holders(recs)
	wrong := make([][]string, len(recs))
	for ids := range slices.Chunk(fitting(slices.Sorted(maps.Keys(holders))), membersAtOnce) {
		states, err := x.tree.own.States(ctx, s, ids)
		if err != nil {
			return nil, x.failure(err)
		}
		has, err := x.tree.Has(ctx, s, ids, states)
		if err != nil {
			return nil, x.failure(err)
		}
		for k, id := range ids {
			if has[k] && states[k].In {
				continue
			}
			for _, i := range holders[id] {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s: %s holds %q, which is not among the values", x.title, recs[i].ID, id))
			}
		}
	}
	return wrong, nil
}

func (x *valuesIndex) Purge(ctx context.Context, s kv.Store, gone plug.Gone, fence func() error) error {
	drops, err := x.tree.own.Drops(ctx, s, fitting(gone.Places))
	if err == nil && len(drops) > 0 {
		err = fence()
	}
	if err == nil {
		err = s.Do(ctx, drops)
	}
	return x.failure(err)
}

func (x *valuesIndex) Meet(places []string) { x.met.Add(places) }

// Finish enters the values that a rebuild has read, while the list recounts them. It also recounts
// the others in the tree: a process without this index may have removed the last record of one.
func (x *valuesIndex) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	met := fitting(x.met.Take())
	for some := range slices.Chunk(met, followAtOnce) {
		if err := x.enter(ctx, some); err != nil {
			return x.failure(err)
		}
	}
	err := x.recountOthers(ctx, s, met)
	lost, failed := x.tree.Distrust(ctx, s, err)
	if failed != nil {
		return x.failure(failed)
	}
	if lost != 0 {
		if err = x.tree.Rebuild(ctx, s, met, lost); err == nil {
			err = x.recountOthers(ctx, s, met)
		}
	}
	return x.failure(err)
}

func (x *valuesIndex) recountOthers(ctx context.Context, s kv.Store, met []string) error {
	var others []string
	err := x.tree.Scan(ctx, s, func(ids []string) error {
		for _, id := range ids {
			if _, found := slices.BinarySearch(met, id); !found {
				others = append(others, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	left, err := x.count.Recount(ctx, s, others, tally.RecountRounds, func(string) error { return nil })
	if left > 0 {
		err = fmt.Errorf("counters of %d values: %w", left, err)
	}
	return err
}

func fitting(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !fits(id) })
}
