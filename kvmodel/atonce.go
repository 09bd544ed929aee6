package kvmodel

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// commitAtOnce is A1 to A4 on a store that can do all of it at once.
func (c *change[T]) commitAtOnce(p *plan[T]) error {
	if c.listens() {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return err
		}
	}
	err := c.db.atomic(c.ctx, func(s kv.Store) error { return c.allSteps(s, p) })
	c.db.hand.drop(c.key(c.id))
	if err != nil && !errors.Is(err, kv.ErrUnclear) {
		c.complete()
		return err
	}
	if p.created && err == nil && c.numbers == nil {
		c.all.grew(p.chunk)
	}
	if len(c.lines) > 0 {
		since := c.db.now()
		c.db.Surely(func(ctx context.Context) error {
			if err := c.changedSince(ctx, since, c.id, p.created); err != nil {
				return err
			}
			c.complete()
			return nil
		})
	}
	return err
}

// allSteps carries out p on s, which nobody else changes meanwhile.
func (c *change[T]) allSteps(s kv.Store, p *plan[T]) error {
	if found, err := c.lookAround(s, p); err != nil {
		return err
	} else if found.Value != nil {
		rec, err := c.decode(c.id, found)
		if err == nil && rec.Envelope.Live() && c.next == nil {
			err = c.exists(rec)
		}
		return firstError([]error{err, errLost})
	}
	if err := firstError(kv.Together(c.ctx, s, c.each(p, plug.Index[T].Prepare)...)); err != nil {
		return lostIfConflict(err)
	}
	if c.history > 0 {
		if err := c.keep(s, p); err != nil {
			return err
		}
	}
	c.setMarks(p)
	if _, err := kv.One(c.ctx, s, c.store(p.rec, p.env)); err != nil {
		return lostIfConflict(err)
	}
	if err := firstError(kv.Together(c.ctx, s, c.each(p, plug.Index[T].Beside)...)); err != nil {
		return err
	}
	if err := c.removeOld(c.ctx, s, p); err != nil {
		return err
	}
	return c.leaveTraces(s, p)
}

// leaveTraces writes what finds the record later: its place in the
// enumeration, and the line that remembers to tell OnChange.
func (c *change[T]) leaveTraces(s kv.Store, p *plan[T]) (err error) {
	if p.created && c.numbers == nil {
		if p.chunk, err = c.all.add(c.ctx, s, []string{c.id}); err != nil {
			return err
		}
	}
	if c.listens() {
		return c.note(s, c.lineOf(p))
	}
	return nil
}
