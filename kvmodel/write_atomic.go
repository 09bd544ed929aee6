package kvmodel

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// commitAtomic is A1 to A4 in one transaction, on a store that has them. A change
// that fails has prepared nothing, so there is nothing to clean up.
func (c *change) commitAtomic(p *plan) error {
	if c.leavesLine(p) {
		if err := c.db.journal.Ready(c.ctx); err != nil {
			return err
		}
	}
	if !c.db.alone {
		c.db.journal.Live() // A build that waits for this process should know that it lives.
	}
	c.sent = true
	err := c.db.atomic(c.ctx, func(s kv.Store) error {
		c.complete() // Nothing is left of the line of an earlier run.
		return c.allSteps(s, p)
	})
	c.db.recent.Drop(c.key(c.id))
	if err != nil && !errors.Is(err, kv.ErrUnclear) {
		c.complete()
		return err
	}
	c.noteDeleted(c.id, p.env)
	c.doTheRest(p)
	return err
}

// leavesLine reports whether there is something to do after the reply to p.
func (c *change) leavesLine(p *plan) bool {
	return c.handlers.Any() || p.value == nil && len(c.children) > 0
}

// doTheRest calls the handlers after the reply and deletes children, if there is a line
// that remembers to. The line counts as complete then.
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

// allSteps carries out p on s, which no one else changes at the same time.
func (c *change) allSteps(s kv.Store, p *plan) error {
	if !c.db.alone && c.db.now().Sub(c.began) > times.Change {
		return errLost // The process has slept before the transaction.
	}
	if c.late {
		if err := c.lookAgain(c.ctx, s); err != nil {
			return err
		}
	}
	if found, err := c.peekAt(s, p); err != nil {
		return err
	} else if isThere(found) {
		return c.beaten(found)
	}
	if err := work.FirstError(kv.Together(c.ctx, s, c.each(p, plug.Index.Prepare)...)...); err != nil {
		return lostIfRaced(err)
	}
	if c.history > 0 && (p.value != nil || !c.forgets) {
		if err := c.keepRevision(s, p); err != nil {
			return err
		}
	}
	c.setMarks(p)
	if _, err := kv.One(c.ctx, s, c.store(p.rec, p.env)); err != nil {
		return lostIfRaced(err)
	}
	if err := work.FirstError(kv.Together(c.ctx, s, c.each(p, plug.Index.Beside)...)...); err != nil {
		return err
	}
	if _, err := remove(c.ctx, s, c.removals(p)); err != nil {
		return err
	}
	if c.leavesLine(p) {
		return c.note(s, c.lineOf(p))
	}
	return nil
}
