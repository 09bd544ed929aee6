package kvmodel

import (
	"errors"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// prepare is A1.
func (c *change[T]) prepare(p *plan[T]) error {
	written := c.useEarly(p)
	c.noteStreaks(p)
	works, err := c.announce(p, written)
	if err != nil || c.removes {
		return err
	}
	works = append(works, c.each(p, plug.Index[T].Prepare)...)
	if c.history > 0 {
		works = append(works, func(s kv.Store) error { return c.keepRevision(s, p) })
	}
	if len(works) == 0 {
		return nil
	}
	var found kv.Result
	if c.peek {
		works = append(works, func(s kv.Store) (err error) { found, err = c.peekAt(s, p); return err })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if found.Value != nil {
		return c.beaten(found)
	}
	return mostTelling(errs)
}

// announce returns the work that writes the journal line of p, if it needs one
// and none is written yet.
func (c *change[T]) announce(p *plan[T], written bool) ([]func(kv.Store) error, error) {
	if !c.needsLine(p) {
		return nil, nil
	}
	if err := c.db.journal.Ready(c.ctx); err != nil {
		return nil, err
	}
	c.remember(p)
	if written || c.removes {
		return nil, nil
	}
	return []func(kv.Store) error{func(s kv.Store) error { return c.note(s, c.lineOf(p)) }}, nil
}

// mostTelling returns what the errors of A1 mean to the change: a value that is
// taken counts more than a lost race.
func mostTelling(errs []error) error {
	var lost error
	for _, err := range errs {
		if err = lostIfRaced(err); errors.Is(err, errLost) {
			lost = err
		} else if err != nil {
			return err
		}
	}
	return lost
}

// peekAt reads the record beside A1, for a Create with an id that may be in use.
func (c *change[T]) peekAt(s kv.Store, p *plan[T]) (kv.Result, error) {
	if !c.peek || p.rec.Version != 0 {
		return kv.Result{}, nil
	}
	r, err := kv.One(c.ctx, s, kv.OpGet(c.key(c.id)))
	if errors.Is(err, kv.ErrNotFound) {
		return r, nil
	}
	return r, err
}

// beaten returns the error of a Create whose id turns out to be in use: found is
// what is stored there. A Create that can take another id has only lost a race.
func (c *change[T]) beaten(found kv.Result) error {
	if c.next != nil {
		return errLost
	}
	rec, err := c.decode(c.id, found)
	if err != nil {
		return err
	}
	if !rec.Envelope.Live() {
		return errLost
	}
	if _, err := c.apply(rec.Value); err != nil {
		return err
	}
	return kv.ErrExists
}

// remember keeps what p prepares, to be cleaned up if the change does not commit.
func (c *change[T]) remember(p *plan[T]) {
	c.maxRev = max(c.maxRev, p.env.Rev)
	for _, t := range p.touched {
		c.touched = mergeTouched(c.touched, t)
	}
}
