package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// rest is what is left to do after the replies of changes that have made new records
// together: A4 and A5. The changes share a goroutine.
type rest struct {
	all []left
}

// left is what one change leaves.
type left struct {
	c *change
	p *plan
}

func (r *rest) add(c *change, p *plan) { r.all = append(r.all, left{c, p}) }

// finish does in the background what is left. What fails, has to wait or is overdue goes on
// alone.
func (m *model) finish(ctx context.Context, r *rest) {
	if len(r.all) == 0 {
		return
	}
	since := m.db.now()
	m.db.work.Large(ctx, m.db.upkeep(func(ctx context.Context) error {
		age := m.db.now().Sub(since)
		for i, err := range m.afterAll(ctx, m.db.store, r.all) {
			if c, p := r.all[i].c, r.all[i].p; err != nil || p.isOverdue(age) {
				c.surely(ctx, func(ctx context.Context) error { return c.after(ctx, p, since) })
			} else {
				c.complete()
			}
		}
		return nil
	}))
}

// afterAll is A4 of all. It returns an error for each.
func (m *model) afterAll(ctx context.Context, s kv.Store, all []left) []error {
	errs := make([]error, len(all))
	kv.Each(ctx, s, all[0].c.indexes, func(s kv.Store, i int, index plug.Index) error {
		moves, of := movesOf(all, i)
		if index, ok := index.(plug.Together); ok && index.AfterAll(ctx, s, moves) == nil {
			return nil
		}
		for k, err := range kv.Each(ctx, s, moves, func(s kv.Store, _ int, mv *plug.Move) error { return index.After(ctx, s, mv) }) {
			errs[of[k]] = work.FirstError(errs[of[k]], work.About(m.name, index.Name(), err))
		}
		return nil
	})
	return errs
}

// movesOf returns the moves of all in the index with number i, and which of all they are of.
func movesOf(all []left, i int) (moves []*plug.Move, of []int) {
	for k, l := range all {
		if mv := l.p.moves[i]; mv != nil {
			moves, of = append(moves, mv), append(of, k)
		}
	}
	return moves, of
}
