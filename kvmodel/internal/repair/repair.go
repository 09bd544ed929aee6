// Package repair finishes changes that dead processes left unfinished.
package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const linesAtOnce = 100 // repaired side by side

type Config struct {
	Store kv.Store
	Now   func() time.Time
	IsOwn func(process string) bool // a name of this process

	// Process returns "" without a journal. Unlisted is called with it if the list of processes
	// lacks it.
	Process  func() string
	Unlisted func(ctx context.Context, process string) error

	// Alone: no other process can use the store. All processes found by the first look are dead,
	// without requests in flight.
	Alone bool

	// Owner may return nil. Known grows with the models, their indexes and their handlers.
	Owner func(name string) Owner
	Known func() int

	Archive func(ctx context.Context, created map[string][]string) error

	// Lost is called for damaged lines of a dead process, of these models; nil: of any.
	Lost func(ctx context.Context, process string, models []string, damaged error) error

	// Recount continues to recount the counts in doubt, and reports whether none is left.
	Recount func(ctx context.Context) (bool, error)

	// Looked is called after each look that has read all journals, with the open lines of dead
	// processes before it.
	Looked func(open []journal.Line)
}

// Owner may also be a Model or a Resumer.
type Owner interface {
	RepairLine(ctx context.Context, s kv.Store, l journal.Line) error
}

type Resumer interface {
	// Resume carries out the intent in l.
	Resume(ctx context.Context, l journal.Line) (ended bool, err error)
}

type Model interface {
	// Lacked names the indexes that others maintain and this process does not know.
	Lacked(ctx context.Context) ([]string, error)

	Handles() bool

	Changed(ctx context.Context, age time.Duration, id string, created bool) error

	DeleteChildren(ctx context.Context, id string) error
}

type Repairer struct {
	Config
	signs signs
}

func New(c Config) *Repairer {
	return &Repairer{Config: c, signs: signs{now: c.Now, orphans: c.Alone, last: make(map[string]*sign)}}
}

func (r *Repairer) IsDead(process string, tick uint64) bool { return r.signs.isDead(process, tick) }

// Repair looks once at the journals of all other processes.
func (r *Repairer) Repair(ctx context.Context) error {
	mine := r.Process()
	listed := mine == ""
	own := func(process string) bool {
		listed = listed || process == mine
		return r.IsOwn(process)
	}
	others, err := journal.Others(ctx, r.Store, own, r.signs.known())
	if err != nil {
		return err
	}
	if !listed {
		if err := r.Unlisted(ctx, mine); err != nil {
			return err
		}
	}
	r.signs.keep(others)
	defer r.signs.endFirst()
	l := &look{whole: true}
	// A journal that cannot be repaired must not hold up the others.
	var errs []error
	for _, other := range others {
		if err := r.repairIfDead(ctx, other, l); err != nil {
			errs = append(errs, fmt.Errorf("repair the journal of %s: %w", other.Process, err))
		}
	}
	if l.whole {
		r.Looked(l.open)
	}
	return kv.Join(errs...)
}

type look struct {
	open  []journal.Line // unfinished before the look
	whole bool           // all journals were read
}

func (r *Repairer) repairIfDead(ctx context.Context, other journal.Other, l *look) error {
	// A live process rewrites its damaged head.
	if !r.signs.isDead(other.Process, other.Tick) {
		return nil
	}
	j, err := journal.Read(ctx, r.Store, other.Process)
	if err != nil {
		l.whole = false
		return err
	}
	return r.repairJournal(ctx, j, l)
}

// repairJournal repairs the lines of a dead process, again after a grace period, since a claim may
// have been added late (not for an orphan), and then removes the journal, since a Purge waits for
// the lines. Lines this process does not know are left to another, with the journal.
func (r *Repairer) repairJournal(ctx context.Context, j journal.Copy, l *look) error {
	when, covered, err := journal.Repaired(ctx, r.Store, j.Process)
	if err != nil {
		l.whole = false
		return err
	}
	if when.IsZero() || covered != j.Bytes {
		l.open = append(l.open, j.Lines...)
		return r.firstPass(ctx, j)
	}
	age, orphan := r.Now().Sub(when), r.signs.isOrphan(j)
	if age < times.Late && !orphan {
		return nil
	}
	if done, err := r.secondPass(ctx, j); err != nil || !done || age < times.Late+times.Repair && !orphan {
		return err
	}
	return j.Remove(ctx, r.Store)
}

func (r *Repairer) firstPass(ctx context.Context, j journal.Copy) error {
	all := extent{j.Bytes, r.Known()}
	if err := r.once(ctx, j, repaired, all, r.repairLines); err != nil {
		return err
	}
	if err := r.once(ctx, j, told, all, r.finishLines); err != nil || !r.isHeard(j) {
		return err
	}
	if err := r.once(ctx, j, followed, all, r.deleteChildren); err != nil {
		return err
	}
	if err := r.once(ctx, j, resumed, all, r.resume); err != nil {
		return err
	}
	if known, err := r.knows(ctx, j); err != nil || !known || r.Known() != all.known {
		return err
	}
	if recounted, err := r.Recount(ctx); err != nil || !recounted {
		return err
	}
	if j.Damaged != nil {
		return r.giveUp(ctx, j)
	}
	if r.signs.isOrphan(j) {
		return j.Remove(ctx, r.Store)
	}
	return j.MarkRepaired(ctx, r.Store, r.Now())
}

func (r *Repairer) giveUp(ctx context.Context, j journal.Copy) error {
	models := j.Models()
	if slices.ContainsFunc(models, func(name string) bool { return r.Owner(name) == nil }) {
		return nil // left to a process that has them
	}
	if err := r.Lost(ctx, j.Process, models, j.Damaged); err != nil {
		return err
	}
	return j.Clear(ctx, r.Store)
}

func (r *Repairer) secondPass(ctx context.Context, j journal.Copy) (done bool, err error) {
	if known, err := r.knows(ctx, j); err != nil || !known {
		return false, err
	}
	if err := r.once(ctx, j, repairedAgain, extent{j.Bytes, r.Known()}, r.repairLines); err != nil {
		return false, err
	}
	return r.Recount(ctx)
}

func (r *Repairer) once(ctx context.Context, j journal.Copy, what part, all extent, step func(context.Context, journal.Copy) error) error {
	if r.signs.covered(j, what) == all {
		return nil
	}
	if err := step(ctx, j); err != nil {
		return err
	}
	r.signs.cover(j, what, all)
	return nil
}

// knows reports whether this process has the models of all lines, and all their indexes that anyone
// still maintains.
func (r *Repairer) knows(ctx context.Context, j journal.Copy) (bool, error) {
	lacked := make(map[string][]string)
	for _, l := range j.Lines {
		owner := r.Owner(l.Model)
		if owner == nil {
			return false, nil
		}
		m, ok := owner.(Model)
		if !ok {
			continue
		}
		names, known := lacked[l.Model]
		if !known {
			var err error
			if names, err = m.Lacked(ctx); err != nil {
				return false, err
			}
			lacked[l.Model] = names
		}
		if touchesAny(l, names) {
			return false, nil
		}
	}
	return true, nil
}

// The line of a deletion does not name its indexes.
func touchesAny(l journal.Line, names []string) bool {
	return len(names) > 0 && (!l.Created && len(l.Touched) == 0 || slices.ContainsFunc(l.Touched, func(t envelope.Touched) bool {
		return slices.Contains(names, t.Index)
	}))
}

// isHeard reports whether this process has handlers like the dead one, or the changes are too old.
func (r *Repairer) isHeard(j journal.Copy) bool {
	return r.signs.deadFor(j.Process) >= times.Handlers ||
		!slices.ContainsFunc(j.Lines, func(l journal.Line) bool {
			m, ok := r.Owner(l.Model).(Model)
			return j.Handles(l.Model) && ok && !m.Handles()
		})
}

// repairLines goes on after a line that fails.
func (r *Repairer) repairLines(ctx context.Context, j journal.Copy) error {
	var errs []error
	for batch := range slices.Chunk(journal.Merge(j.Lines), linesAtOnce) {
		var works []func(kv.Store) error
		for _, l := range batch {
			if o := r.Owner(l.Model); o != nil {
				works = append(works, func(s kv.Store) error { return guard(l, func() error { return o.RepairLine(ctx, s, l) }) })
			}
		}
		errs = append(errs, work.FirstError(kv.Together(ctx, r.Store, works...)...))
	}
	return work.FirstError(errs...)
}

func guard(l journal.Line, step func() error) error {
	return work.About(l.Model, "", work.Recover("the repair of "+l.Model+" "+kv.Quote(l.ID), step))
}

func (r *Repairer) deleteChildren(ctx context.Context, j journal.Copy) error {
	var errs []error
	for _, l := range j.Lines {
		if m, ok := r.Owner(l.Model).(Model); ok {
			errs = append(errs, guard(l, func() error { return m.DeleteChildren(ctx, l.ID) }))
		}
	}
	return work.FirstError(errs...)
}

func (r *Repairer) resume(ctx context.Context, j journal.Copy) error {
	var errs []error
	var ended []journal.Line
	for _, l := range j.Lines {
		owner, ok := r.Owner(l.Model).(Resumer)
		if !ok {
			continue
		}
		errs = append(errs, guard(l, func() error {
			is, err := owner.Resume(ctx, l)
			if is {
				ended = append(ended, l)
			}
			return err
		}))
	}
	return work.FirstError(append(errs, j.End(ctx, r.Store, ended))...)
}

// finishLines calls the handlers, which the dead process may not have done, and lists the created
// ids.
func (r *Repairer) finishLines(ctx context.Context, j journal.Copy) error {
	created := make(map[string][]string)
	for _, l := range j.Lines {
		m, ok := r.Owner(l.Model).(Model)
		if !ok {
			continue
		}
		if err := m.Changed(ctx, r.signs.deadFor(j.Process), l.ID, l.Created); err != nil {
			return err
		}
		if l.Created {
			created[l.Model] = append(created[l.Model], l.ID)
		}
	}
	return r.Archive(ctx, created)
}

type part int

const (
	repaired      part = iota // the entries of its lines are repaired
	told                      // handlers are called and ids archived
	followed                  // the children of deleted records are deleted
	resumed                   // its intents are carried out
	repairedAgain             // the entries are repaired in the second pass
	parts
)

// extent is how much of a journal a part covers.
type extent struct {
	bytes int // of the journal
	known int // see Config
}

type signs struct {
	now func() time.Time

	mu      sync.Mutex
	orphans bool // a process first seen now is one
	last    map[string]*sign
}

type sign struct {
	tick    uint64 // last
	highest uint64
	seen    time.Time // when it rose
	orphan  bool      // dead when this process began to use the store alone
	covered [parts]extent
}

// isDead records a tick, and reports whether it has not risen for long.
//
// A process writes only rising ticks. A lower one means that the store has gone back. That is no
// sign of life, or the dead would live while it goes on, nor of death: a live process next writes a
// higher tick or takes another name.
func (s *signs) isDead(process string, tick uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[process]
	if last == nil || tick > last.highest {
		s.last[process] = &sign{tick: tick, highest: tick, seen: s.now(), orphan: last == nil && s.orphans}
		return s.last[process].orphan
	}
	if tick != last.tick {
		// Repairs may have been undone as well.
		last.tick, last.covered = tick, [parts]extent{}
	}
	return last.orphan || s.now().Sub(last.seen) >= times.Dead
}

func (s *signs) endFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphans = false
}

func (s *signs) isOrphan(j journal.Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[j.Process]
	return last != nil && last.tick == j.Tick && last.orphan
}

func (s *signs) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.last))
}

func (s *signs) deadFor(process string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[process]; last != nil {
		return s.now().Sub(last.seen)
	}
	return 0
}

func (s *signs) keep(others []journal.Other) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(process string, _ *sign) bool {
		return !slices.ContainsFunc(others, func(o journal.Other) bool { return o.Process == process })
	})
}

// covered starts again with a sign of the process.
func (s *signs) covered(j journal.Copy, what part) extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		return last.covered[what]
	}
	return extent{}
}

func (s *signs) cover(j journal.Copy, what part, all extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		last.covered[what] = all
	}
}
