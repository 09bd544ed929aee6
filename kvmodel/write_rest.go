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
		for i, err := range m.afterAll(ctx, r) {
			if c, p := r.all[i].c, r.all[i].p; err != nil || p.isOverdue(age) {
				c.surely(ctx, func(ctx context.Context) error { return c.after(ctx, p, since) })
			} else {
				c.complete()
			}
		}
		return nil
	}))
}

// afterAll is A4 of the changes that r is left of. It returns an error for each.
func (m *model) afterAll(ctx context.Context, r *rest) []error {
	errs := make([]error, len(r.all))
	kv.Each(ctx, m.db.store, r.all[0].c.indexes, func(s kv.Store, i int, index plug.Index) error {
		var moves []*plug.Move
		var of []int // the changes that they are of
		for k, left := range r.all {
			if mv := left.p.moves[i]; mv != nil {
				moves, of = append(moves, mv), append(of, k)
			}
		}
		if all, ok := index.(plug.Together); ok && all.AfterAll(ctx, s, moves) == nil {
			return nil
		}
		for k, err := range kv.Each(ctx, s, moves, func(s kv.Store, _ int, mv *plug.Move) error { return index.After(ctx, s, mv) }) {
			errs[of[k]] = work.FirstError(errs[of[k]], err)
		}
		return nil
	})
	return errs
}
