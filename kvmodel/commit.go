package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// commit is A2 and what follows.
func (c *change[T]) commit(p *plan[T]) error {
	c.setMarks(p)
	works := append([]func(kv.Store) error{func(s kv.Store) error { return c.write(s, p) }}, c.each(p, plug.Index[T].Beside)...)
	if c.removes && len(c.lines) == 0 && c.needsLine(p) {
		works = append(works, func(s kv.Store) error { return c.note(s, c.lineOf(p)) })
	}
	if c.removes && c.history > 0 {
		// A deletion has nothing to keep, so it does not wait for this.
		works = append(works, func(s kv.Store) error { _ = c.keep(s, p); return nil })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if errs[0] != nil {
		return c.notCommitted(errs[0])
	}
	c.db.hand.drop(c.key(c.id))
	// A deletion's line, beside the commit, may have failed; what is to be done
	// is the same.
	if len(c.lines) > 0 || c.needsLine(p) {
		since, settled := c.db.now(), firstError(errs) == nil
		c.db.Surely(func(ctx context.Context) error { return c.after(ctx, p, settled, since) })
	}
	return nil
}

// setMarks puts into the envelope what the indexes want to keep in it.
func (c *change[T]) setMarks(p *plan[T]) {
	if p.value == nil {
		return
	}
	for i, mv := range p.moves {
		if mv != nil && mv.Mark != nil {
			p.env.SetMark(c.indexes[i].Name(), mv.Mark)
		}
	}
}

// write stores the record: the one step that makes the change true. Where that
// is unclear it looks, and sends the same again while nothing else came.
func (c *change[T]) write(s kv.Store, p *plan[T]) error {
	op := c.store(p.rec, p.env)
	for range maxTries {
		_, err := kv.One(c.ctx, s, op)
		switch {
		case errors.Is(err, kv.ErrConflict), errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrNotFound):
			err = c.whose(s, p)
		case errors.Is(err, kv.ErrUnclear):
			err = c.settle(s, p)
		case c.unclear && err != nil:
			// This one was not sent, but an earlier one may have been.
			err = fmt.Errorf("%w: %w", kv.ErrUnclear, err)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return kv.ErrUnclear
}

var errAgain = errors.New("again")

// whose finds out whether a refused commit was refused because an earlier send
// of it, thought lost, had been carried out.
func (c *change[T]) whose(s kv.Store, p *plan[T]) error {
	if !c.unclear {
		return errLost
	}
	return c.settle(s, p)
}

// settle finds out what became of an unclear commit: nil, it was carried out;
// errAgain, it is undecided and the same may be sent again; errLost, it was
// not and never will be; ErrUnclear, nobody can tell.
func (c *change[T]) settle(s kv.Store, p *plan[T]) error {
	c.unclear, c.creates = true, p.created
	now, err := c.seeOne(c.ctx, s, c.id)
	if err != nil {
		return fmt.Errorf("%w: %w", kv.ErrUnclear, err)
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

// notCommitted returns what the end of A2 without a commit means.
func (c *change[T]) notCommitted(err error) error {
	if errors.Is(err, errLost) {
		return err
	}
	return c.giveUp(err)
}

// giveUp ends the change with err. What it has prepared is cleaned away after
// the reply; an unclear commit is decided by that as well.
func (c *change[T]) giveUp(err error) error {
	if len(c.lines)+len(c.touched) == 0 {
		return err
	}
	since := c.db.now()
	c.db.Surely(func(ctx context.Context) error {
		doubt := plug.NoDoubt
		if c.unclear || c.db.now().Sub(c.since) > maxAge/2 {
			doubt = plug.Undone
		}
		if err := c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, doubt); err != nil {
			return err
		}
		if c.unclear {
			// The change may have been made after all.
			if err := c.changedSince(ctx, since, c.id, c.creates); err != nil {
				return err
			}
		}
		c.complete()
		return nil
	})
	return err
}

// after is A4 and A5. Where something beside the commit did not succeed, the
// entries of the change are repaired first.
func (c *change[T]) after(ctx context.Context, p *plan[T], settled bool, since time.Time) error {
	if !settled {
		if err := c.repair(ctx, c.db.store, c.id, 0, p.touched, plug.NoDoubt); err != nil {
			return err
		}
	}
	wait := c.removeOld(ctx, c.db.store, p)
	if wait != nil && !waits(wait) {
		return wait
	}
	// What has to wait keeps nobody from being told, once.
	if !c.told {
		if err := c.changedSince(ctx, since, c.id, p.created); err != nil {
			return err
		}
		c.told = true
	}
	if wait == nil {
		c.complete()
	}
	return wait
}

// removeOld is A4.
func (c *change[T]) removeOld(ctx context.Context, s kv.Store, p *plan[T]) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s kv.Store) error { return index.After(ctx, s, mv) })
		}
	}
	if p.value == nil {
		works = append(works, func(s kv.Store) error { return c.dropCounters(ctx, s, c.id) })
	}
	return firstError(kv.Together(ctx, s, works...))
}

// complete is A5.
func (c *change[T]) complete() {
	for _, seg := range c.lines {
		c.db.journal.done(seg)
	}
	c.lines = nil
}
