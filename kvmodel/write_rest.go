package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// rest is the remaining steps of changes that are made together: all of them on a store with
// transactions, otherwise A4 and A5, for which the changes share a goroutine.
type rest struct {
	all []left
}

// left is a change with remaining steps.
type left struct {
	c *change
	p *plan
}

func (r *rest) add(c *change, p *plan) { r.all = append(r.all, left{c, p}) }

// finish carries out A4 and A5 of r in the background. A change that fails there, must wait or is
// overdue continues alone.
func (m *model) finish(ctx context.Context, r *rest) {
	if len(r.all) == 0 {
		return
	}
	since := m.db.now()
	m.db.work.Large(ctx, m.db.upkeep(func(ctx context.Context) error {
		age := m.db.now().Sub(since)
		errs := make([]error, len(r.all))
		afterAll(ctx, m, m.db.store, r.all, errs)
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

// afterAll is A4 of all. It sets errs for the changes that failed.
func afterAll(ctx context.Context, m *model, s kv.Store, all []left, errs []error) {
	kv.Each(ctx, s, all[0].c.indexes, func(s kv.Store, i int, index plug.Index) error {
		together, ok := index.(plug.Together)
		switch {
		case len(all) == 1:
			errs[0] = m.afterOne(ctx, s, index, all[0].p.moves[i], errs[0])
		case ok && together.AfterAll(ctx, s, movesOf(all, i)) == nil:
		default:
			kv.Each(ctx, s, all, func(s kv.Store, k int, l left) error {
				errs[k] = m.afterOne(ctx, s, index, l.p.moves[i], errs[k])
				return nil
			})
		}
		return nil
	})
}

// afterOne is A4 of a move in an index, which may be nil. It returns the first error: err, if not
// nil.
func (m *model) afterOne(ctx context.Context, s kv.Store, index plug.Index, mv *plug.Move, err error) error {
	if mv == nil {
		return err
	}
	return work.FirstError(err, work.About(m.name, index.Name(), index.After(ctx, s, mv)))
}

// movesOf returns the moves of all in the index at position i.
func movesOf(all []left, i int) (moves []*plug.Move) {
	for _, l := range all {
		if mv := l.p.moves[i]; mv != nil {
			moves = append(moves, mv)
		}
	}
	return moves
}
