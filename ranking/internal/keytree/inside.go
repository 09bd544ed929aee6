package keytree

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// In a transaction nobody else changes the tree, and trips cost nothing. So edits need no queue,
// and a member moves with one write per leaf.

func inside(s kv.Store) bool { return kv.PowersOf(s).Inside }

func (p *nodes) editInside(ctx context.Context, s kv.Store, edits []*edit, due *reports) {
	for try := 0; len(edits) > 0; try++ {
		spots, err := p.find(ctx, s, edits)
		if err == nil && try == maxTries {
			err = fmt.Errorf("%w: gave up after %d tries", kv.ErrConflict, maxTries)
		}
		if err != nil {
			for _, e := range edits {
				e.err = err
			}
			return
		}
		var left []*edit
		for _, g := range groups(edits, spots) {
			left = append(left, p.enterInside(ctx, s, g, due)...)
		}
		edits = left
	}
}

// enterInside returns the edits that must be tried again.
func (p *nodes) enterInside(ctx context.Context, s kv.Store, g group, due *reports) (left []*edit) {
	next, took, err := p.enter(ctx, s, g.at, g.edits, due)
	again := err == nil || err == errRoom || again(err)
	for _, e := range g.edits {
		switch {
		case slices.Contains(took, e):
			e.absent = e.misses(next)
		case again:
			left = append(left, e)
		default:
			e.err = err
		}
	}
	return left
}

// moveInside changes the entries of moves before their records.
func (b *batch) moveInside(ctx context.Context, s kv.Store, moves []*move) {
	known := make(map[string]*State, len(moves))
	for _, m := range moves {
		known[m.id] = &m.new
	}
	_ = b.each(ctx, s, b.due, func(s kv.Store, p *nodes, due *reports) error {
		with := p.knowing(known)
		var edits []*edit
		var of []*move
		for _, m := range moves {
			for _, score := range m.touched {
				e := with.tidying(m.id, score, m.new)
				if m.new.In && m.new.Score == score {
					e.put = &entry{score, m.new.Ver, m.id, true}
				}
				edits, of = append(edits, e), append(of, m)
			}
		}
		with.edit(ctx, s, edits, nil, due)
		for i, e := range edits {
			of[i].err = cmp.Or(of[i].err, e.err)
		}
		return nil
	})
	moves = slices.DeleteFunc(moves, func(m *move) bool { return m.err != nil })
	if len(moves) == 0 {
		return
	}
	b.writeRecords(ctx, s, moves)
	for _, m := range moves {
		if m.err == nil {
			m.touched = nil
		}
	}
}
