package kvmodel

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// commit is A2 and the following steps.
func (c *change) commit(p *plan) error {
	c.setMarks(p)
	c.unnoted = false
	var works []func(kv.Store) error
	if c.writesLine(withCommit, p) {
		// It is the first op of its trip, so no crash leaves the record without its line.
		works = append(works, func(s kv.Store) error {
			err := c.note(s, c.lineOf(p))
			c.unnoted = err != nil
			return err
		})
	}
	record := len(works)
	works = append(works, func(s kv.Store) error { return c.write(s, p) })
	works = append(works, c.each(p, plug.Index.Beside)...)
	if c.removes && c.history > 0 && !c.forgets {
		// A deletion keeps no body, so it does not wait for this.
		works = append(works, func(s kv.Store) error { _ = c.keepRevision(s, p); return nil })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if errs[record] != nil {
		return errs[record]
	}
	c.db.recent.Drop(c.key(c.id))
	c.committed(p)
	// The line of a deletion, sent with the commit, may have failed; the remaining work is the
	// same.
	if len(c.lines) > 0 || c.needsLine(p) {
		since, settled := c.db.now(), work.FirstError(errs...) == nil
		if c.rest != nil && settled && !c.removes && !c.handlers.Any() {
			c.rest.add(c, p)
			return nil
		}
		p.unsettled = !settled
		c.surely(c.ctx, func(ctx context.Context) error { return c.after(ctx, p, since) })
	}
	return nil
}

// committed reports the commit of p to the indexes it moves.
func (c *change) committed(p *plan) {
	for i, index := range c.indexes {
		if committer, ok := index.(plug.Committer); ok && p.moves[i] != nil {
			committer.Committed(p.moves[i])
		}
	}
}

// movesCounted reports whether p moves the record in an index that counts with the commit. The line
// of a deletion, written before the record was read, does not name the place.
func (c *change) movesCounted(p *plan) bool {
	for i, index := range c.indexes {
		if p.moves[i] != nil && counts(index) {
			return true
		}
	}
	return false
}

// setMarks stores the marks of the indexes in the envelope.
func (c *change) setMarks(p *plan) {
	if p.value == nil {
		return
	}
	for i, mv := range p.moves {
		if mv != nil && mv.Mark != nil {
			p.env.SetMark(c.indexes[i].Name(), mv.Mark)
		}
	}
}

// write stores the record, the one step that commits the change. If the outcome is unclear, it
// reads the record, and repeats the op while nothing else has changed the record and the line of
// the change exists or precedes it.
func (c *change) write(s kv.Store, p *plan) error {
	op := c.store(p.rec, p.env)
	c.sent = true
	for range maxTries {
		_, err := kv.One(c.ctx, s, op)
		switch {
		case kv.Raced(err):
			err = c.whose(s, p)
		case errors.Is(err, kv.ErrUnclear):
			err = c.settle(s, p)
		case c.unclear && err != nil:
			// This attempt was not sent, but an earlier one may have been carried out.
			err = kv.Unclear(err)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		if c.unnoted {
			break
		}
	}
	return kv.ErrUnclear
}

var errAgain = errors.New("again")

// whose checks whether a commit was refused because an earlier, unanswered attempt had been carried
// out.
func (c *change) whose(s kv.Store, p *plan) error {
	if !c.unclear {
		return errLost
	}
	return c.settle(s, p)
}

// settle determines the outcome of an unclear commit. nil: it was carried out; errAgain: it is
// undecided and may be repeated; errLost: it was not carried out and never will be; ErrUnclear:
// nobody can know.
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
		return errLost
	default:
		return kv.ErrUnclear
	}
}

// after is A4 and A5. It is called until it returns nil, and repeats nothing: entries it has
// removed may have been purged since, and must not be entered again.
func (c *change) after(ctx context.Context, p *plan, since time.Time) error {
	wait := c.removeRest(ctx, p, since)
	if wait != nil && !work.Waits(wait) {
		return wait
	}
	// The handlers do not wait for removals that must wait.
	wait = work.FirstError(c.follow(ctx, since, p.created), wait)
	if wait == nil {
		c.complete()
		c.noteDeleted(c.id, p.env)
	}
	return wait
}

// follow does the last steps after the change, made at since: it calls the handlers, once, and
// deletes children.
func (c *change) follow(ctx context.Context, since time.Time, created bool) error {
	if !c.called {
		if err := c.Changed(ctx, c.db.now().Sub(since), c.id, created); err != nil {
			return err
		}
		c.called = true
	}
	if !c.removes {
		return nil
	}
	return c.DeleteChildren(ctx, c.id)
}

// removeRest does the pending removals of p. If something written with the commit failed, or the
// removals are overdue, it repairs the entries of the change first.
func (c *change) removeRest(ctx context.Context, p *plan, since time.Time) (err error) {
	if p.removals == nil {
		p.removals = c.removals(p)
	}
	if p.unsettled || len(p.removals) > 0 && p.isOverdue(c.db.now().Sub(since)) {
		if err := c.repair(ctx, c.db.store, c.id, 0, p.touched, false); err != nil {
			return err
		}
		p.unsettled = false
	}
	p.removals, err = remove(ctx, c.db.store, p.removals)
	return err
}

// removal is a part of A4.
type removal func(context.Context, kv.Store) error

// removals returns the parts of A4. The result is not nil.
func (c *change) removals(p *plan) []removal {
	all := []removal{}
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			all = append(all, func(ctx context.Context, s kv.Store) error {
				return work.About(c.name, index.Name(), index.After(ctx, s, mv))
			})
		}
	}
	return append(all, c.losses(p)...)
}

// losses returns the parts of A4 that remove the counters and history of a deleted record.
func (c *change) losses(p *plan) (all []removal) {
	if p.value != nil {
		return nil
	}
	all = append(all, func(ctx context.Context, s kv.Store) error { return c.dropCounters(ctx, s, c.id, p.rec.Counts) })
	if c.forgets {
		all = append(all, func(ctx context.Context, s kv.Store) error { return c.dropHistory(ctx, s, c.id) })
	}
	return all
}

// remove carries out all. It returns the removals that failed, and the first error.
func remove(ctx context.Context, s kv.Store, all []removal) (left []removal, err error) {
	errs := kv.Each(ctx, s, all, func(s kv.Store, _ int, r removal) error { return r(ctx, s) })
	left = []removal{}
	for i, err := range errs {
		if err != nil {
			left = append(left, all[i])
		}
	}
	return left, work.FirstError(errs...)
}
