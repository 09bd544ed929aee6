package kvmodel

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// short is the path of a change on a store with transactions: a file or memory. Nothing precedes
// the transaction, and only handlers and children follow it.
func (c *change) short(p *plan) error {
	if c.isLate() {
		return errLost
	}
	if c.rest != nil {
		c.rest.add(c, p)
		return nil
	}
	return c.commitAtomic(c.ctx, []left{{c, p}}, func([]error) {})
}

// commitAtomic is A1 to A4 of all changes in one transaction. Failed changes leave no preparations
// to clean up. If some changes prevent the commit, it calls fail with an error for each of them and
// nil for the others.
func (m *model) commitAtomic(ctx context.Context, all []left, fail func([]error)) error {
	if slices.ContainsFunc(all, func(l left) bool { return l.c.leavesLine(l.p) }) {
		if err := m.db.journal.Ready(ctx); err != nil {
			return err
		}
	}
	if !m.db.alone {
		m.db.journal.Live() // a build that waits for this process must see that it lives
	}
	for _, l := range all {
		l.c.sent = true
	}
	err := m.db.atomic(ctx, func(s kv.Store) error {
		for _, l := range all {
			l.c.complete() // the line of an earlier run is gone
		}
		errs := m.allSteps(ctx, s, all)
		if err := work.FirstError(errs...); err != nil {
			fail(errs)
			return err
		}
		fail(nil)
		return nil
	})
	for _, l := range all {
		m.db.recent.Drop(m.key(l.c.id))
		if err != nil && !errors.Is(err, kv.ErrUnclear) {
			l.c.complete()
			continue
		}
		m.noteDeleted(l.c.id, l.p.env)
		l.c.doTheRest(l.p)
	}
	return err
}

// leavesLine reports whether p needs work after the reply.
func (c *change) leavesLine(p *plan) bool {
	return c.handlers.Any() || p.value == nil && len(c.children) > 0
}

// doTheRest calls the handlers and deletes children after the reply, if there is a line for that.
// Then the line counts as complete.
func (c *change) doTheRest(p *plan) {
	if len(c.lines) == 0 {
		return
	}
	done, since := *c, c.db.now()
	c.lines = nil
	c.surely(c.ctx, func(ctx context.Context) error {
		if err := done.follow(ctx, since, p.created); err != nil {
			return err
		}
		done.complete()
		return nil
	})
}

// allSteps carries out all on s, where nobody else makes changes meanwhile. It returns an error for
// each, and stops after the first step with a failure.
func (m *model) allSteps(ctx context.Context, s kv.Store, all []left) []error {
	errs := make([]error, len(all))
	for _, step := range stepsOfAll {
		step(ctx, m, s, all, errs)
		if work.FirstError(errs...) != nil {
			break
		}
	}
	return errs
}

// stepsOfAll are the steps of a transaction. Each sets errs for the changes that failed.
var stepsOfAll = []func(ctx context.Context, m *model, s kv.Store, all []left, errs []error){
	eachDoes((*change).begin), prepareAll, eachDoes((*change).put), eachDoes((*change).besides), afterAll, eachDoes((*change).end),
}

// eachDoes returns a step that calls f for each change.
func eachDoes(f func(c *change, s kv.Store, p *plan) error) func(context.Context, *model, kv.Store, []left, []error) {
	return func(_ context.Context, _ *model, s kv.Store, all []left, errs []error) {
		for i, l := range all {
			errs[i] = f(l.c, s, l.p)
		}
	}
}

// begin checks that p can be carried out on s.
func (c *change) begin(s kv.Store, p *plan) error {
	if c.isLate() {
		return errLost // the process slept before the transaction
	}
	if c.late {
		if err := c.lookAgain(c.ctx, s); err != nil {
			return err
		}
	}
	found, err := c.peekAt(s, p)
	if err != nil || !isThere(found) {
		return err
	}
	return c.beaten(found)
}

// prepareAll prepares all in every index.
func prepareAll(ctx context.Context, _ *model, s kv.Store, all []left, errs []error) {
	for i, index := range all[0].c.indexes {
		if bulk, ok := index.(plug.Bulk); ok && allNew(all) {
			if err := bulk.PrepareAll(ctx, s, movesOf(all, i)); err != nil {
				copy(errs, slices.Repeat([]error{lostIfRaced(err)}, len(all)))
				return
			}
			continue
		}
		for k, l := range all {
			if mv := l.p.moves[i]; mv != nil {
				errs[k] = work.FirstError(errs[k], lostIfRaced(index.Prepare(ctx, s, mv)))
			}
		}
	}
}

// allNew reports whether all is several changes that each create a record.
func allNew(all []left) bool {
	return len(all) > 1 && !slices.ContainsFunc(all, func(l left) bool { return l.p.rec.Rev != 0 })
}

// put is A2 on s, for the record and its history.
func (c *change) put(s kv.Store, p *plan) error {
	if c.history > 0 && (p.value != nil || !c.forgets) {
		if err := c.keepRevision(s, p); err != nil {
			return err
		}
	}
	c.setMarks(p)
	_, err := kv.One(c.ctx, s, c.store(p.rec, p.env))
	return lostIfRaced(err)
}

// besides calls Beside of the indexes.
func (c *change) besides(s kv.Store, p *plan) error {
	return work.FirstError(kv.Together(c.ctx, s, c.each(p, plug.Index.Beside)...)...)
}

// end removes the counters and history of a deleted record from s, and writes the line of p if it
// needs work after the reply.
func (c *change) end(s kv.Store, p *plan) error {
	if _, err := remove(c.ctx, s, c.losses(p)); err != nil {
		return err
	}
	if c.leavesLine(p) {
		return c.note(s, c.lineOf(p))
	}
	return nil
}
