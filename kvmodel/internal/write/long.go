package write

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// long is the path on a store that changes one key at a time: memcached or Redis.
func (c *change) long(p *plan) error {
	if done, err := c.prepare(p); done || err != nil {
		return err
	}
	switch {
	case c.isLate() && c.unclear:
		return kv.ErrUnclear // A1 was to commit as well, and may have.
	case c.isLate():
		return core.ErrRaced
	}
	return c.commit(p)
}

func (c *change) besideRead() (works []func(kv.Store) error, err error) {
	switch {
	case !c.writesLine(withRead, nil):
		return nil, nil
	case c.removes:
		works = append(works, func(s kv.Store) error {
			return c.note(s, journal.Line{Model: c.Name, ID: c.ID, Rev: journal.FenceAlways})
		})
	default:
		works = c.prepareEarly()
	}
	return works, c.Db.Journal.Ready(c.ctx)
}

func (c *change) leavesTraces() bool {
	return len(c.indexes) > 0 || c.HasPlain() || c.Forgets || len(c.Children) > 0 || c.Handlers.Any()
}

type early struct {
	marks map[int][]byte // by index position
	line  bool
}

// Some indexes can do their part of A1 before the record is read (plug.Early). After a few
// consecutive changes that moved such an index, the next one prepares it along with A0 and writes
// its line, which cannot name the rev or the places yet.

const unknownPlace = "?"

func (c *change) isExpected() bool {
	return !c.removes && !c.touches && slices.ContainsFunc(c.streaks, (*core.Streak).IsLong)
}

func (c *change) prepareEarly() []func(kv.Store) error {
	l := journal.Line{Model: c.Name, ID: c.ID, Rev: journal.FenceAlways}
	c.early.marks = make(map[int][]byte)
	works := []func(kv.Store) error{func(s kv.Store) error {
		err := c.note(s, l)
		c.early.line = err == nil
		return err
	}}
	for i := range c.streaks {
		if !c.streaks[i].IsLong() {
			continue
		}
		index := c.indexes[i].(plug.Early)
		l.Touched = append(l.Touched, envelope.Touched{Index: c.indexes[i].Name(), Places: []string{unknownPlace}})
		works = append(works, func(s kv.Store) (err error) {
			c.early.marks[i], err = index.Early(c.ctx, s, c.ID)
			return err
		})
	}
	return works
}

type trip int

const (
	withRead    trip = iota // A0
	withPrepare             // A1
	withCommit              // A2
)

// writesLine decides which trips carry the line. A deletion sends it with the read, since its
// tombstone will name the places; early preparations need it before them (p is nil then). Otherwise
// it goes with the preparations or, on an ordered store with nothing to prepare, with the commit.
func (c *change) writesLine(t trip, p *plan) bool {
	switch {
	case t == withRead:
		return c.removes && c.leavesTraces() || c.isExpected()
	case !c.needsLine(p):
		return false
	case c.removes:
		// The line of A0 does not name the places that are counted with the commit.
		return t == withCommit && (len(c.lines) == 0 || c.movesCounted(p))
	case c.Db.Ordered && !p.created && c.History == 0 && !p.enters():
		return t == withCommit
	}
	return t == withPrepare && !p.prepared
}

// prepare is A1. It reports whether A2 is done as well.
func (c *change) prepare(p *plan) (done bool, err error) {
	p.prepared = c.useEarly(p)
	c.noteStreaks(p)
	if c.needsLine(p) {
		if err := c.Db.Journal.Ready(c.ctx); err != nil {
			return false, err
		}
		c.remember(p)
	}
	if c.removes {
		return false, nil
	}
	c.chain(p)
	var works []func(kv.Store) error
	if c.writesLine(withPrepare, p) {
		works = append(works, func(s kv.Store) error { return c.note(kv.Chained(s, p.chain), c.lineOf(p)) })
	}
	works = append(works, c.each(p, plug.Index.Prepare)...)
	if p.created && p.rec.Version != 0 && c.HasPlain() {
		known, err := c.countsOfDead(p)
		if err != nil {
			return false, err
		}
		works = append(works, func(s kv.Store) error { return c.dropOld(s, known) })
	}
	if c.History > 0 {
		works = append(works, func(s kv.Store) error { return c.keepRevision(s, p) })
	}
	if c.late {
		works = append(works, func(s kv.Store) error { return c.LookAgain(c.ctx, s) })
	}
	if len(works) == 0 {
		return false, nil
	}
	var found []kv.Result
	if c.Peek {
		works = append(works, func(s kv.Store) (err error) { found, err = c.peekAt(s, p); return err })
	}
	record, commits := len(works), p.chain != 0
	if commits {
		c.setMarks(p)
		op := c.Store(p.rec, p.env)
		op.Chain = p.chain
		works = append(works, func(s kv.Store) error { return c.writeOnce(s, p, op) })
		works = append(works, c.each(p, plug.Index.Beside)...)
	}
	errs := kv.Together(c.ctx, c.s, works...)
	c.unchain(p)
	switch {
	case isThere(found):
		return false, c.beaten(found)
	case !commits || errors.Is(errs[record], kv.ErrSkipped):
		return false, mostTelling(errs[:record])
	case errors.Is(errs[record], errAgain):
		return false, kv.Unclear(mostTelling(errs[:record]))
	case errs[record] != nil:
		return false, errs[record]
	}
	c.finish(p, errs)
	return true, nil
}

// On an ordered store, A1 and A2 are one trip if the line and each new entry are one op. These ops
// and the record are a chain: the record is not written if one of them fails. Then A1 continues,
// and A2 follows as usual.

func (c *change) chain(p *plan) {
	if !p.created && !p.enters() {
		return // There is nothing to prepare, and A2 writes the line.
	}
	clears := p.created && p.rec.Version != 0 && c.HasPlain()
	if !c.Db.Ordered || c.Rest != nil || c.History > 0 || c.late || c.early.line || clears || c.isLate() {
		return
	}
	for i, mv := range p.moves {
		if mv == nil {
			continue
		}
		if index, can := c.indexes[i].(plug.Chaining); !can || !index.Chains(mv) {
			return
		}
	}
	p.chain = c.nonce>>chainBits | 1
	for _, mv := range p.moves {
		if mv != nil {
			mv.Chain = p.chain
		}
	}
}

// Only the few chains of one trip must differ.
const chainBits = 44

func (c *change) unchain(p *plan) {
	p.chain = 0
	for _, mv := range p.moves {
		if mv != nil {
			mv.Chain = 0
		}
	}
}

// useEarly hands the early preparations to the moves of p.
func (c *change) useEarly(p *plan) (prepared bool) {
	prepared = c.early.line && !p.created
	for i, mv := range p.moves {
		if mv == nil {
			continue
		}
		if mark := c.early.marks[i]; mark != nil {
			mv.Kept = mark
		} else {
			prepared = false
		}
	}
	return prepared
}

func (c *change) noteStreaks(p *plan) {
	if c.removes || c.touches || !p.rec.Envelope.Live() {
		return
	}
	for i, index := range c.indexes {
		if _, can := index.(plug.Early); can {
			c.streaks[i].Note(p.moves[i] != nil && len(p.moves[i].Entered()) > 0)
		}
	}
}

// mostTelling prefers a taken value to a lost race.
func mostTelling(errs []error) error {
	var lost error
	for _, err := range errs {
		if err = lostIfRaced(err); errors.Is(err, core.ErrRaced) {
			lost = err
		} else if err != nil {
			return err
		}
	}
	return lost
}

func (c *change) remember(p *plan) {
	c.maxRev = max(c.maxRev, p.env.Rev)
	for _, t := range p.touched {
		c.touched = envelope.Merge(c.touched, t)
	}
}

// A record that is created again must not show the counters of the earlier one. So they are dropped
// before A2, by the versions read in a trip before the tombstone was last read.

// countsOfDead returns those, and reads again if need be.
func (c *change) countsOfDead(p *plan) (known []kv.Result, err error) {
	rec := p.rec
	for range core.MaxTries {
		if !anyCounted(c.Model, rec.Counts) {
			return rec.Counts, nil
		}
		if c.dead != nil && c.dead.Version == rec.Version && sameCounts(c.Model, c.dead.Counts, rec.Counts) {
			return c.dead.Counts, nil
		}
		c.dead = rec
		if rec, err = c.now(c.s); err != nil {
			return nil, err
		}
		if rec.Version != p.rec.Version {
			break
		}
	}
	return nil, core.ErrRaced
}

func (c *change) dropOld(s kv.Store, known []kv.Result) error {
	ops := c.Drops(c.ID, known)
	if err := s.Do(c.ctx, ops); err != nil && !errors.Is(err, kv.ErrUnclear) {
		return err
	}
	if len(core.Remaining(ops)) > 0 {
		return core.ErrRaced
	}
	return nil
}

func anyCounted(m *core.Model, results []kv.Result) bool {
	for i := range m.Counters {
		if m.Counters[i].Plain != nil && results[i].Err == nil {
			return true
		}
	}
	return false
}

func sameCounts(m *core.Model, a, b []kv.Result) bool {
	for i := range m.Counters {
		if m.Counters[i].Plain != nil && a[i].Version != b[i].Version {
			return false
		}
	}
	return true
}

// commit is A2 and the following steps.
func (c *change) commit(p *plan) error {
	c.setMarks(p)
	c.unnoted = false
	var works []func(kv.Store) error
	if c.writesLine(withCommit, p) {
		// It is the first op of its trip, so no crash leaves the record without its line.
		works = append(works, func(s kv.Store) error { return c.note(s, c.lineOf(p)) })
	}
	record := len(works)
	works = append(works, func(s kv.Store) error { return c.write(s, p) })
	works = append(works, c.each(p, plug.Index.Beside)...)
	if c.removes && c.History > 0 && !c.Forgets {
		// A deletion keeps no body, so it does not wait for this.
		works = append(works, func(s kv.Store) error { _ = c.keepRevision(s, p); return nil })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if errs[record] != nil {
		return errs[record]
	}
	c.finish(p, errs)
	return nil
}

// errs are those of the commit's trip.
func (c *change) finish(p *plan, errs []error) {
	c.Db.Recent.Drop(c.Key(c.ID))
	c.committed(p)
	// A deletion may have failed to write its line, but the remaining work is the same.
	if len(c.lines) > 0 || c.needsLine(p) {
		since, settled := c.Db.Now(), work.FirstError(errs...) == nil
		if c.Rest != nil && settled && !c.removes && !c.Handlers.Any() {
			c.Rest.add(c, p)
			return
		}
		p.unsettled = !settled
		c.surely(c.ctx, func(ctx context.Context) error { return c.after(ctx, p, since) })
	}
}

func (c *change) movesCounted(p *plan) bool {
	for i, index := range c.indexes {
		if p.moves[i] != nil && core.Counts(index) {
			return true
		}
	}
	return false
}

func (c *change) committed(p *plan) {
	for i, index := range c.indexes {
		if lists, ok := index.(plug.Listing); ok && p.moves[i] != nil {
			lists.Committed(p.moves[i])
		}
	}
}

// write commits the change. If the outcome is unclear, it reads the record, and repeats the op
// while nothing else has changed it and the line exists.
func (c *change) write(s kv.Store, p *plan) error {
	op := c.Store(p.rec, p.env)
	for range core.MaxTries {
		if err := c.writeOnce(s, p, op); !errors.Is(err, errAgain) {
			return err
		}
		if c.unnoted {
			break
		}
	}
	return kv.ErrUnclear
}

var errAgain = errors.New("again")

// ErrSkipped: the chain of op was broken. errAgain: undecided, may be repeated.
func (c *change) writeOnce(s kv.Store, p *plan, op kv.Op) error {
	_, err := kv.One(c.ctx, s, op)
	if errors.Is(err, kv.ErrSkipped) {
		return err
	}
	c.sent = true
	switch {
	case kv.Raced(err) && !c.unclear:
		return core.ErrRaced
	case kv.Raced(err), errors.Is(err, kv.ErrUnclear):
		return c.settle(s, p)
	case c.unclear && err != nil:
		// This attempt was not sent, but an earlier one may have been carried out.
		return kv.Unclear(err)
	}
	return err
}

// settle decides an unclear commit. nil: carried out; errAgain: undecided, may be repeated;
// ErrRaced: never carried out; ErrUnclear: nobody can know.
func (c *change) settle(s kv.Store, p *plan) error {
	c.unclear, c.creates = true, p.created
	now, err := c.now(s)
	if err != nil {
		return kv.Unclear(err)
	}
	did, sure := now.Envelope.HasTry(c.nonce, p.rec.Rev)
	switch {
	case did:
		return nil
	case now.Version == p.rec.Version:
		return errAgain
	case sure:
		return core.ErrRaced
	default:
		return kv.ErrUnclear
	}
}

// after is A4 and A5.
func (c *change) after(ctx context.Context, p *plan, since time.Time) error {
	wait := c.removeRest(ctx, p, since)
	if wait != nil && !work.Waits(wait) {
		return wait
	}
	// The handlers do not wait for removals that must wait.
	wait = work.FirstError(c.follow(ctx, since, p.created), wait)
	if wait == nil {
		c.complete()
		c.NoteDeleted(c.ID, p.env)
	}
	return wait
}

// removeRest does the pending removals. If they are overdue, or something written with the commit
// failed, it repairs the entries first.
func (c *change) removeRest(ctx context.Context, p *plan, since time.Time) (err error) {
	if p.removals == nil {
		p.removals = c.removals(p)
	}
	if p.unsettled || len(p.removals) > 0 && p.isOverdue(c.Db.Now().Sub(since)) {
		if err := c.Repair(ctx, c.Db.Store, c.ID, 0, p.touched, false); err != nil {
			return err
		}
		p.unsettled = false
	}
	p.removals, err = remove(ctx, c.Db.Store, p.removals)
	return err
}

func (c *change) removals(p *plan) []removal {
	all := []removal{}
	for i := range c.indexes {
		if p.moves[i] != nil {
			all = append(all, func(ctx context.Context, s kv.Store) error { return p.after(ctx, s, c, i) })
		}
	}
	return append(all, c.losses(p)...)
}

// finish carries out A4 and A5 of r in the background.
func finish(ctx context.Context, m *core.Model, r *Rest) {
	if len(r.all) == 0 {
		return
	}
	since := m.Db.Now()
	m.Db.Work.Large(ctx, m.Db.Upkeep(func(ctx context.Context) error {
		age := m.Db.Now().Sub(since)
		errs := make([]error, len(r.all))
		afterAll(ctx, m, m.Db.Store, r.all, errs)
		for i, err := range errs {
			if c, p := r.all[i].c, r.all[i].p; err != nil || p.isOverdue(age) {
				c.surely(ctx, func(ctx context.Context) error { return c.after(ctx, p, since) })
			} else {
				c.complete()
			}
		}
		return nil
	}))
}

// cleanUp removes, after the reply, the preparations of a change that did not commit.
func (c *change) cleanUp() {
	if len(c.lines)+len(c.touched) == 0 {
		return
	}
	since := c.Db.Now()
	repaired, doubt := false, false
	c.Uncleaned.Note(c.ID, c.maxRev)
	c.surely(c.ctx, func(ctx context.Context) error {
		if !repaired {
			if err := c.Repair(ctx, c.Db.Store, c.ID, c.maxRev, c.touched, false); err != nil {
				c.noteAgain(ctx)
				return err
			}
			c.Uncleaned.Forget(c.ID)
			// Preparations may have been counted if they existed for long.
			repaired, doubt = true, c.unclear || c.Db.Now().Sub(c.since) > times.Change/2
		}
		if err := c.undo(ctx, doubt); err != nil {
			return err
		}
		if c.unclear {
			// The change may have been made after all.
			if err := c.follow(ctx, since, c.creates); err != nil {
				return err
			}
		}
		c.complete()
		return nil
	})
}

// noteAgain writes a line that failed: this process may end before it can clean up.
func (c *change) noteAgain(ctx context.Context) {
	if !c.unnoted || len(c.touched) == 0 || len(c.lines) > core.MaxTries {
		return
	}
	c.ctx = ctx
	_ = c.note(c.Db.Store, journal.Line{Model: c.Name, ID: c.ID, Rev: c.maxRev, Touched: c.touched})
}

func (c *change) undo(ctx context.Context, doubt bool) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if core.Counts(index) && c.added != nil {
			works = append(works, func(s kv.Store) error {
				err := index.(plug.Listing).Undo(ctx, s, &c.added[i], core.PlacesOf(c.touched, index.Name()), doubt)
				return work.About(c.Name, index.Name(), err)
			})
		}
	}
	return work.FirstError(kv.Together(ctx, c.Db.Store, works...)...)
}
