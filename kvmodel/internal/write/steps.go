package write

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Rest is the remaining steps of changes that are made together: all of them on a store with
// transactions, otherwise A4 and A5, for which the changes share a goroutine.
type Rest struct {
	all []left
}

type left struct {
	c *change
	p *plan
}

func (r *Rest) add(c *change, p *plan) { r.all = append(r.all, left{c, p}) }

// afterAll is A4 of all. It sets errs for the changes that failed.
func afterAll(ctx context.Context, m *core.Model, s kv.Store, all []left, errs []error) {
	kv.Each(ctx, s, all[0].c.indexes, func(s kv.Store, i int, index plug.Index) error {
		switch {
		case len(all) == 1:
			errs[0] = work.FirstError(errs[0], all[0].p.after(ctx, s, all[0].c, i))
		case index.After(ctx, s, movesOf(all, i)) == nil:
		default:
			kv.Each(ctx, s, all, func(s kv.Store, k int, l left) error {
				errs[k] = work.FirstError(errs[k], l.p.after(ctx, s, l.c, i))
				return nil
			})
		}
		return nil
	})
}

func (p *plan) after(ctx context.Context, s kv.Store, c *change, i int) error {
	if p.moves[i] == nil {
		return nil
	}
	return work.About(c.Name, c.indexes[i].Name(), c.indexes[i].After(ctx, s, p.moves[i:i+1]))
}

func movesOf(all []left, i int) (moves []*plug.Move) {
	for _, l := range all {
		if mv := l.p.moves[i]; mv != nil {
			moves = append(moves, mv)
		}
	}
	return moves
}

// peekAt reads the record along with A1, for a Create with an id that may be in use, and its
// counters.
func (c *change) peekAt(s kv.Store, p *plan) ([]kv.Result, error) {
	if !c.Peek || p.rec.Version != 0 {
		return nil, nil
	}
	families := c.Keys[:1]
	if c.HasPlain() && c.Db.Atomic == nil {
		families = c.Keys
	}
	return kv.GetEach(c.ctx, s, nil, families, []string{c.ID})
}

func isThere(found []kv.Result) bool { return len(found) > 0 && found[0].Err == nil }

// beaten returns the error of a Create whose id is in use, given the stored results.
func (c *change) beaten(found []kv.Result) error {
	if c.next != nil {
		return core.ErrRaced
	}
	rec, err := c.DecodeOne(c.ID, found[0])
	if err != nil {
		return err
	}
	if !rec.Envelope.Live() {
		rec.Counts = found[1:]
		c.dead = rec
		return core.ErrRaced
	}
	if _, err := c.Apply(rec.Value); err != nil {
		return err
	}
	return kv.ErrExists
}

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

func (c *change) follow(ctx context.Context, since time.Time, created bool) error {
	if !c.called {
		if err := c.Changed(ctx, c.Db.Now().Sub(since), c.ID, created); err != nil {
			return err
		}
		c.called = true
	}
	if !c.removes {
		return nil
	}
	return c.DeleteChildren(ctx, c.ID)
}

type removal func(context.Context, kv.Store) error

func (c *change) losses(p *plan) (all []removal) {
	if p.value != nil {
		return nil
	}
	all = append(all, func(ctx context.Context, s kv.Store) error { return c.DropCounters(ctx, s, c.ID, p.rec.Counts) })
	if c.Forgets {
		all = append(all, func(ctx context.Context, s kv.Store) error { return c.DropHistory(ctx, s, c.ID) })
	}
	return all
}

// remove returns the removals that failed, and the first error.
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

func (c *change) keepRevision(s kv.Store, p *plan) error {
	e := revisions.Entry{
		Of: envelope.Try{Rev: p.env.Rev, Nonce: c.nonce}, Number: p.number, At: c.Db.Now(),
		Model: p.env.Model, Kept: p.value != nil && len(p.env.Body) <= revisions.MaxBytes,
	}
	if tries := p.rec.Envelope.Tries(); len(tries) > 0 {
		e.Prev = tries[0]
	}
	if e.Kept {
		e.Body = p.env.Body
	}
	data := e.Encode(nil)
	c.trimSometimes(len(data))
	return revisions.Append(c.ctx, s, revisions.Key(c.Name, c.ID), data, func() error { return c.TrimHistory(c.ctx, s, c.ID) })
}

// trimSometimes trims the history more often if revisions of size bytes fill it faster.
func (c *change) trimSometimes(size int) {
	every := max(1, min(c.History/4, revisions.MaxBytes/4/size))
	if kv.Random()%uint64(every) != 0 {
		return
	}
	id := c.ID
	c.Db.Soon(func(ctx context.Context) error { return c.TrimHistory(ctx, c.Db.Store, id) })
}
