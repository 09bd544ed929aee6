package kvmodel

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// needsLine tells whether somebody must be able to find the change if it is
// left half done.
func (c *change[T]) needsLine(p *plan[T]) bool {
	return len(p.touched) > 0 || c.listens() || p.value == nil && len(c.counters) > 0 || p.created && c.db.atomic == nil && c.numbers == nil
}

// prepare is A1.
func (c *change[T]) prepare(p *plan[T]) error {
	works, err := c.announce(p, c.useEarly(p))
	if err != nil || c.removes {
		return err
	}
	works = append(works, c.each(p, plug.Index[T].Prepare)...)
	if c.history > 0 {
		works = append(works, func(s kv.Store) error { return c.keep(s, p) })
	}
	if len(works) == 0 {
		return nil
	}
	var found kv.Result
	if c.peek {
		works = append(works, func(s kv.Store) (err error) { found, err = c.lookAround(s, p); return err })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if found.Err == nil && found.Value != nil {
		if rec, err := c.decode(c.id, found); err == nil && rec.Envelope.Live() && c.next == nil {
			return c.giveUp(c.exists(rec))
		}
		return errLost
	}
	return c.prepared(errs)
}

// announce returns the work that writes the journal line of p, if it needs one
// and none is written yet.
func (c *change[T]) announce(p *plan[T], written bool) ([]func(kv.Store) error, error) {
	if !c.needsLine(p) {
		return nil, nil
	}
	if err := c.db.journal.ready(c.ctx); err != nil {
		return nil, c.giveUp(err)
	}
	c.remember(p)
	if written || c.removes {
		return nil, nil
	}
	return []func(kv.Store) error{func(s kv.Store) error { return c.note(s, c.lineOf(p)) }}, nil
}

// prepared returns what the errors of A1 mean to the change: a value that is
// taken counts more than a race that is lost.
func (c *change[T]) prepared(errs []error) error {
	var lost error
	for _, err := range errs {
		if err = lostIfConflict(err); errors.Is(err, errLost) {
			lost = err
		} else if err != nil {
			return c.giveUp(err)
		}
	}
	return lost
}

// lineOf returns the journal line of p.
func (c *change[T]) lineOf(p *plan[T]) line {
	return line{model: c.name, id: c.id, rev: p.env.Rev, created: p.created, touched: p.touched}
}

// note writes a journal line of the change. Where the journal is gone it opens
// another, but not inside a transaction, which starts over then.
func (c *change[T]) note(s kv.Store, l line) error {
	for range maxTries {
		seg, err := c.db.journal.note(c.ctx, s, l)
		if seg != nil {
			c.lines = append(c.lines, seg)
		}
		if !errors.Is(err, errGone) || c.db.atomic != nil {
			return err
		}
		if err := c.db.journal.ready(c.ctx); err != nil {
			return err
		}
	}
	return errGone
}

// lookAround reads the record beside A1, for a Create with an id that may be
// in use.
func (c *change[T]) lookAround(s kv.Store, p *plan[T]) (kv.Result, error) {
	if !c.peek || p.rec.Version != 0 {
		return kv.Result{}, nil
	}
	r, err := kv.One(c.ctx, s, kv.OpGet(c.key(c.id)))
	if errors.Is(err, kv.ErrNotFound) {
		return r, nil
	}
	return r, err
}

// exists returns the error of an edit that wanted the record absent.
func (c *change[T]) exists(rec *plug.Seen[T]) error {
	_, err := c.apply(rec.Value)
	if err == nil {
		err = kv.ErrExists
	}
	return err
}

// remember keeps what p prepares, for cleaning after a lost race.
func (c *change[T]) remember(p *plan[T]) {
	c.maxRev = max(c.maxRev, p.env.Rev)
	for _, t := range p.touched {
		c.touched = mergeTouched(c.touched, t)
	}
}

func mergeTouched(all []envelope.Touched, t envelope.Touched) []envelope.Touched {
	for i := range all {
		if all[i].Index == t.Index {
			all[i].Places = append(all[i].Places, without(t.Places, all[i].Places)...)
			return all
		}
	}
	return append(all, envelope.Touched{Index: t.Index, Places: slices.Clone(t.Places)})
}

// each returns, for every index that moves, the work of step.
func (c *change[T]) each(p *plan[T], step func(plug.Index[T], context.Context, kv.Store, *plug.Move) error) []func(kv.Store) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s kv.Store) error { return step(index, c.ctx, s, mv) })
		}
	}
	return works
}
