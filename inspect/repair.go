package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// RepairOptions configure a repair.
type RepairOptions struct {
	Pace
	Dry  bool         // only report the planned repairs
	Done func(Mended) // called with the repair of each fault; may be nil
}

type Mended struct {
	Fault
	Did string `json:"did"`             // "enter the record again"
	Err error  `json:"error,omitempty"` // the reason of its failure
}

// Repaired is the result of a repair.
type Repaired struct {
	Mended int
	Left   []Fault // remaining faults
}

var errLost = errors.New("it is lost: no other data contains it")

var remedies = map[string]string{
	plug.MissingEntry:  "enter the record again",
	plug.StrayEntry:    "remove the entry",
	plug.WrongCount:    "recount",
	plug.Orphan:        "delete the children",
	plug.DamagedItem:   "rebuild it",
	plug.DamagedRecord: "nothing: restore it from its history or a backup, or delete it",
	plug.Unlisted:      "add it to the ids of its model",
	plug.LostIDs:       "list all existing records again",
	plug.NotBuilt:      "build",
}

// Repair repairs faults found by a check, and checks them again. If one remains, it builds the
// indexes of the model. It can be repeated. Losses, such as a damaged record, are only reported.
func (in *Inspector) Repair(ctx context.Context, faults []Fault, o RepairOptions) (Repaired, error) {
	if err := in.db.Writable(); err != nil && !o.Dry {
		return Repaired{}, err
	}
	o.Progress = oneByOne(o.Progress)
	r := &repairing{in: in, o: o, done: make(map[string]*deed)}
	if o.Dry {
		for _, f := range faults {
			r.tell(f, nil)
		}
		return Repaired{Left: faults}, nil
	}
	if err := r.repairInOrder(ctx, faults); err != nil {
		return Repaired{}, err
	}
	return r.finish(ctx, faults)
}

// Other faults may follow from lost ids and incomplete indexes; counts come last.
func (r *repairing) repairInOrder(ctx context.Context, faults []Fault) error {
	byOrder := make([][]Fault, 3)
	for _, f := range faults {
		byOrder[order(f)] = append(byOrder[order(f)], f)
	}
	pace := r.o.Pace.begin("repair", "faults", int64(len(faults)))
	for _, some := range byOrder {
		if err := r.repairAll(ctx, some, pace); err != nil {
			return err
		}
	}
	return nil
}

func order(f Fault) int {
	switch f.Kind {
	case plug.LostIDs, plug.NotBuilt:
		return 0
	case plug.WrongCount:
		return 2
	}
	return 1
}

type repairing struct {
	in *Inspector
	o  RepairOptions

	mu   sync.Mutex
	done map[string]*deed // tasks that several faults may need
}

// deed runs once. A sync.Once would stop the clock of tests that wait for it.
type deed struct {
	ended chan struct{}
	err   error // valid after the end
}

func (r *repairing) tell(f Fault, err error) {
	if r.o.Done != nil {
		r.o.Done(Mended{f, remedies[f.Kind], texted(err)})
	}
}

// once runs do once for each name. Other callers wait.
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

// Most repairs wait, for instance before a recount.
const repairedAtOnce = 100

func (r *repairing) repairAll(ctx context.Context, faults []Fault, pace *pacer) error {
	for some := range slices.Chunk(faults, repairedAtOnce) {
		errs := beside(some, func(f Fault) error { return r.repair(ctx, f) })
		for i, f := range some {
			if errs[i] != nil && (ctx.Err() != nil || errors.Is(errs[i], kv.ErrUnavailable)) {
				return errs[i]
			}
			r.tell(f, errs[i])
			if err := pace.did(ctx, 1, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *repairing) repair(ctx context.Context, f Fault) error {
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
			err = nil // It is built after the other repairs.
		}
		return err
	}
	return fmt.Errorf("%s: %w", strings.Trim(f.Model+" "+f.ID, " "), errLost)
}

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

// Members of a board may have records of their own.
func (r *repairing) isBoard(f Fault) bool {
	a, err := r.in.auditOf(f)
	return err == nil && a.window.Kind() == "board"
}

func (r *repairing) build(ctx context.Context, m model, again bool) error {
	return r.once("build "+m.Name(), func() error { return r.in.build(ctx, []model{m}, again, r.o.Progress) })
}

const leaseSpare = 5 * time.Second

// A killed repair may have left a lease on the base.
func (r *repairing) amend(ctx context.Context, f Fault) error {
	if f.Index == "" || f.Key == "" {
		return nil
	}
	return r.once("base "+f.Key, func() error {
		a, err := r.in.auditOf(f)
		if err != nil {
			return err
		}
		for until := time.Now().Add(times.Lease + leaseSpare); ; {
			err := a.window.Amend(ctx, r.in.db.Store(), f.Key, f.place)
			if !errors.Is(err, kv.ErrConflict) || time.Now().After(until) || !kv.Sleep(ctx, time.Second) {
				return err
			}
		}
	})
}

func (r *repairing) orphan(ctx context.Context, f Fault) error {
	list := f.Model + "." + f.Index
	for _, parent := range r.in.models {
		if slices.Contains(parent.Children(), list) {
			return r.once("children "+parent.Name()+" "+f.ID, func() error { return parent.Orphans(ctx, f.ID) })
		}
	}
	return fmt.Errorf("%w: no model has children in %s", kvmodel.ErrInvalid, list)
}

// Damage may have hidden other faults. finish rebuilds indexes with lost parts, checks again, and
// repairs or rebuilds the rest.
func (r *repairing) finish(ctx context.Context, faults []Fault) (Repaired, error) {
	r.buildAll(ctx, faults, func(f Fault) bool { return f.Kind == plug.DamagedItem && !f.ofMember() })
	left, err := r.in.still(ctx, faults)
	for range moreLooks {
		some := slices.DeleteFunc(slices.Clone(left), isLost)
		if err != nil || len(some) == 0 {
			break
		}
		r.done = make(map[string]*deed)
		if err := r.repairInOrder(ctx, some); err != nil {
			return Repaired{}, err
		}
		if some, err = r.in.still(ctx, some); err != nil {
			break
		}
		r.done = make(map[string]*deed) // The repair of other faults can remove a part of an index.
		r.buildAll(ctx, some, func(f Fault) bool { return !isLost(f) && f.Kind != plug.Unlisted })
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

const moreLooks = 2

// ofMember reports whether f damages one member, which needs no build.
func (f Fault) ofMember() bool { return f.audited && f.ID != "" }

func isLost(f Fault) bool { return f.Kind == plug.DamagedRecord }

// The faults of a failed build remain.
func (r *repairing) buildAll(ctx context.Context, faults []Fault, those func(Fault) bool) {
	_ = beside(r.in.models, func(m model) error {
		if slices.ContainsFunc(faults, func(f Fault) bool { return f.Model == m.Name() && those(f) }) {
			return r.build(ctx, m, true)
		}
		return nil
	})
}

func (r *repairing) relist(ctx context.Context, m model) error {
	if r.in.keys == nil {
		return fmt.Errorf("%s: %w; the remaining records cannot be found: call Accept and Rebuild", m.Name(), ErrNoKeys)
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

func (in *Inspector) relist(ctx context.Context, m model, p Pace) error {
	listed := make(set)
	if err := in.list(ctx, m, listed); err != nil {
		return err
	}
	return in.scan(ctx, p.begin("relist", m.Name(), 0), m.Key(""), nil, func(found []stored) error {
		var ids []string
		for _, at := range found {
			if s := m.Decode("", at.value); s.Live() {
				ids = append(ids, s.ID)
			}
		}
		return m.Enlist(ctx, listed.fresh(m, ids))
	})
}

func (in *Inspector) list(ctx context.Context, m model, all set) error {
	err := m.IDs(ctx, "", func(ids []string, _ string) error {
		all.fresh(m, ids)
		return ctx.Err()
	})
	return new(checking).state(m, err)
}
