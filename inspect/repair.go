package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// RepairOptions say what to repair.
type RepairOptions struct {
	Pace
	Dry  bool         // only say what would be done
	Done func(Mended) // is told of each fault what was done; nil: no one is
}

// Mended is what was done about a fault.
type Mended struct {
	Fault
	Did string // "enter the record again"
	Err error  // why that has failed
}

// Repaired is what a repair has come to.
type Repaired struct {
	Mended int
	Left   []Fault // that are still there
}

// errLost says that what is gone cannot be made again.
var errLost = errors.New("it is lost: no other data contains it")

// remedies says what is done about faults of each kind.
var remedies = map[string]string{
	plug.MissingEntry:  "enter the record again",
	plug.StrayEntry:    "take the entry out",
	plug.WrongCount:    "count again",
	plug.Orphan:        "delete the children",
	plug.DamagedItem:   "make it again",
	plug.DamagedRecord: "nothing: restore it from its history or a backup, or delete it",
	plug.Unlisted:      "name it in the ids of its model",
	plug.LostIDs:       "name all records that are there",
	plug.NotBuilt:      "build",
}

// Repair mends faults that a check has found, each on its own, and then looks at them again.
// What stays wrong has the indexes of its model built again. It can be called again at any
// time, and does nothing where nothing is wrong. What is lost, such as a damaged record, it
// only names.
func (in *Inspector) Repair(ctx context.Context, faults []Fault, o RepairOptions) (Repaired, error) {
	if err := in.db.Writable(); err != nil && !o.Dry {
		return Repaired{}, err
	}
	o.Progress = oneByOne(o.Progress)
	r := &repairing{in: in, o: o, done: make(map[string]*deed)}
	some := slices.Clone(faults)
	if o.Dry {
		for _, f := range some {
			r.tell(f, nil)
		}
		return Repaired{Left: some}, nil
	}
	if err := r.mendInOrder(ctx, some); err != nil {
		return Repaired{}, err
	}
	return r.finish(ctx, some)
}

// mendInOrder mends each of faults, those first by which others are found.
func (r *repairing) mendInOrder(ctx context.Context, faults []Fault) error {
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(order(a), order(b)) })
	pace := r.o.Pace.begin("repair", "faults", int64(len(faults)))
	for from := 0; from < len(faults); {
		to := from + 1
		for to < len(faults) && order(faults[to]) == order(faults[from]) {
			to++
		}
		if err := r.mendAll(ctx, faults[from:to], pace); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// order is the order in which faults are mended: ids first, by which all else is found, with
// what is not built, and numbers last.
func order(f Fault) int {
	switch f.Kind {
	case plug.LostIDs, plug.NotBuilt:
		return 0
	case plug.WrongCount:
		return 2
	}
	return 1
}

// repairing is a Repair under way.
type repairing struct {
	in *Inspector
	o  RepairOptions

	mu   sync.Mutex
	done map[string]*deed // what other faults may be about, too
}

// deed is what is done once.
type deed struct {
	ended chan struct{}
	err   error // once it has ended
}

func (r *repairing) tell(f Fault, err error) {
	if r.o.Done != nil {
		r.o.Done(Mended{f, remedies[f.Kind], err})
	}
}

// once does what is called name, unless that was done already. If it is being done, once
// waits for that.
func (r *repairing) once(name string, do func() error) error {
	r.mu.Lock()
	d, is := r.done[name]
	if !is {
		d = &deed{ended: make(chan struct{})}
		r.done[name] = d
	}
	r.mu.Unlock()
	if is {
		<-d.ended
		return d.err
	}
	defer close(d.ended)
	d.err = do()
	return d.err
}

// mendedAtOnce is how many faults are mended side by side: most of the time of many is a
// wait, as before a count is counted again.
const mendedAtOnce = 100

// mendAll mends faults of one order side by side, and tells of them in their order.
func (r *repairing) mendAll(ctx context.Context, faults []Fault, pace *pacer) error {
	var ends sync.WaitGroup
	defer ends.Wait()
	mended := make([]chan error, len(faults))
	begin := func(i int) {
		if i < len(faults) {
			mended[i] = make(chan error, 1)
			ends.Go(func() { mended[i] <- r.mend(ctx, faults[i]) })
		}
	}
	for i := range mendedAtOnce {
		begin(i)
	}
	for i, f := range faults {
		err := <-mended[i]
		if err != nil && (ctx.Err() != nil || errors.Is(err, kv.ErrUnavailable)) {
			return err
		}
		r.tell(f, err)
		if err := pace.did(ctx, 1, ""); err != nil {
			return err
		}
		begin(i + mendedAtOnce)
	}
	return nil
}

// mend mends one fault.
func (r *repairing) mend(ctx context.Context, f Fault) error {
	var m model
	if f.Model != "" {
		var err error
		if m, err = r.in.model(f.Model); err != nil {
			return err
		}
	}
	switch f.Kind {
	case plug.MissingEntry:
		if f.Model == "" {
			return r.amend(ctx, f)
		}
		err := r.once("record "+f.Model+" "+f.ID, func() error { return m.Mend(ctx, f.ID) })
		if err == nil && r.isBoard(f) {
			err = r.amend(ctx, f)
		}
		return err
	case plug.StrayEntry, plug.WrongCount:
		return r.amend(ctx, f)
	case plug.Orphan:
		return r.orphan(ctx, f)
	case plug.Unlisted:
		return m.Enlist(ctx, []string{f.ID})
	case plug.LostIDs:
		return r.once("ids "+f.Model, func() error { return r.relist(ctx, m) })
	case plug.NotBuilt:
		return r.build(ctx, m, false)
	case plug.DamagedItem:
		err := r.amend(ctx, f)
		if f.Model != "" && (errors.Is(err, kvmodel.ErrNeedsRebuild) || errors.Is(err, kvmodel.ErrCorrupt)) {
			err = nil // It is built once the rest is mended.
		}
		return err
	}
	return fmt.Errorf("%s: %w", strings.Trim(f.Model+" "+f.ID, " "), errLost)
}

// oneByOne returns a function that calls progress, which is not called side by side.
func oneByOne(progress func(Step)) func(Step) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(s Step) {
		mu.Lock()
		defer mu.Unlock()
		progress(s)
	}
}

// isBoard reports whether f is of a board, whose members may have records of their own.
func (r *repairing) isBoard(f Fault) bool {
	a, err := r.in.auditOf(f)
	return err == nil && a.window.Kind() == "board"
}

// build builds the indexes of m, once.
func (r *repairing) build(ctx context.Context, m model, again bool) error {
	return r.once("build "+m.Name(), func() error { return r.in.buildOne(ctx, m, again, r.o.Progress) })
}

// buildAgain builds the indexes of m once more: to mend other faults can take a part of them out.
func (r *repairing) buildAgain(ctx context.Context, m model, again bool) error {
	return r.in.buildOne(ctx, m, again, r.o.Progress)
}

// amend puts right what stands under the base of f.
func (r *repairing) amend(ctx context.Context, f Fault) error {
	if f.Index == "" || f.Key == "" {
		return nil
	}
	return r.once("base "+f.Key, func() error {
		a, err := r.in.auditOf(f)
		if err != nil {
			return err
		}
		return a.window.Amend(ctx, r.in.db.Store(), f.Key, f.place)
	})
}

// orphan deletes the children of a record that is gone.
func (r *repairing) orphan(ctx context.Context, f Fault) error {
	list := f.Model + "." + f.Index
	for _, parent := range r.in.models {
		if slices.Contains(parent.Children(), list) {
			return r.once("children "+parent.Name()+" "+f.ID, func() error { return parent.Orphans(ctx, f.ID) })
		}
	}
	return fmt.Errorf("%w: no model has children in %s", kvmodel.ErrInvalid, list)
}

// finish has built what a part was lost of, and looks at faults again. What it finds, it mends
// and has built again, and looks once more: what was damaged may have hidden other faults.
func (r *repairing) finish(ctx context.Context, faults []Fault) (Repaired, error) {
	r.buildAll(ctx, faults, r.build, func(f Fault) bool { return f.Kind == plug.DamagedItem && !f.ofMember() })
	left, err := r.in.still(ctx, faults)
	for range moreLooks {
		some := slices.DeleteFunc(slices.Clone(left), isLost)
		if err != nil || len(some) == 0 {
			break
		}
		r.done = make(map[string]*deed)
		if err := r.mendInOrder(ctx, some); err != nil {
			return Repaired{}, err
		}
		if some, err = r.in.still(ctx, some); err != nil {
			break
		}
		r.buildAll(ctx, some, r.buildAgain, func(f Fault) bool { return !isLost(f) && f.Kind != plug.Unlisted })
		if ctx.Err() != nil {
			return Repaired{}, kv.TooLate(ctx)
		}
		left, err = r.in.still(ctx, left)
	}
	if err != nil {
		return Repaired{}, err
	}
	return Repaired{Mended: max(0, len(faults)-len(left)), Left: left}, nil
}

// moreLooks is how often a repair goes on with what it finds behind what it has mended.
const moreLooks = 2

// ofMember reports whether f is damage of what an index keeps of one member, which is made
// again by itself.
func (f Fault) ofMember() bool { return f.audited && f.ID != "" }

// isLost reports whether nothing can be done about f but by who knows what the record was.
func isLost(f Fault) bool { return f.Kind == plug.DamagedRecord }

// buildAll builds the indexes of the models of those of faults. What cannot be built is left.
func (r *repairing) buildAll(ctx context.Context, faults []Fault, build func(context.Context, model, bool) error, those func(Fault) bool) {
	_ = beside(r.in.models, func(m model) error {
		if slices.ContainsFunc(faults, func(f Fault) bool { return f.Model == m.Name() && those(f) }) {
			return build(ctx, m, true)
		}
		return nil
	})
}

// relist accepts what is lost of the ids of m, has all records of m named that are there, and
// all indexes built.
func (r *repairing) relist(ctx context.Context, m model) error {
	if r.in.keys == nil {
		return fmt.Errorf("%s: %w; which records are left is not known: Accept, and Rebuild", m.Name(), ErrNoKeys)
	}
	if err := m.Accept(ctx); err != nil {
		return err
	}
	if m.IsListed() {
		if err := r.in.relist(ctx, m, r.o.Pace); err != nil {
			return err
		}
	}
	return r.build(ctx, m, true)
}

// relist makes the ids of m name all records of m that are there.
func (in *Inspector) relist(ctx context.Context, m model, p Pace) error {
	listed, err := in.listed(ctx, m)
	if err != nil {
		return err
	}
	pace := p.begin("relist", m.Name(), 0)
	return in.eachKey(ctx, m.Key(""), func(keys []string) error {
		results, err := kv.GetAll(ctx, in.store, keys...)
		if err != nil {
			return err
		}
		var ids []string
		for _, r := range results {
			if r.Err == nil {
				s := m.Decode("", r.Value)
				if s.Live() {
					ids = append(ids, s.ID)
				}
			}
		}
		if err := m.Enlist(ctx, listed.fresh(m, ids)); err != nil {
			return err
		}
		return pace.did(ctx, len(keys), "")
	})
}

// listed returns the ids that m names.
func (in *Inspector) listed(ctx context.Context, m model) (met, error) {
	all := make(met)
	err := m.IDs(ctx, "", func(ids []string, _ string) error {
		all.fresh(m, ids)
		return ctx.Err()
	})
	return all, new(checking).state(m, err)
}
