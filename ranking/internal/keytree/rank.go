package keytree

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Ranks int

// Dense needs a tree with Config.Dense.
const (
	Single Ranks = iota // 1, 2, 3, 4
	Shared              // 1, 2, 2, 4
	Dense               // 1, 2, 2, 3
)

func (k Ranks) before(before tally) int {
	if k == Dense {
		return before.scores
	}
	return before.members
}

type Standing struct {
	Member
	Rank   int // from 1
	Before int // members with better ranks
	Total  int
}

// Standing returns the position of the member id, counted from the highest or the lowest, or
// ErrNotFound. It is as exact as the counts of routers: always in the outermost leaf, and
// everywhere after Refresh until the next write.
func (t *Tree) Standing(ctx context.Context, s kv.Store, id string, down bool, ranks Ranks) (Standing, error) {
	var out Standing
	var st State
	err := t.query(ctx, s, func(r *reading) error {
		if !st.In {
			return nil
		}
		at := r.point(st.Score, id)
		q := at
		if ranks != Single {
			q = edgeOf(st.Score, down)
		}
		before, all, err := r.standing(ctx, s, q, down)
		out = Standing{Member{id, st.Score, st.Value}, ranks.before(before) + 1, before.members, all.members}
		return err
	}, func(s kv.Store) (err error) { st, err = t.state(ctx, s, id); return err })
	if err == nil && out.ID == "" {
		err = fmt.Errorf("%w: not in the ranking", kv.ErrNotFound)
	}
	return out, err
}

// RankOf returns the rank that a member with score s has or would have, the first of them if equal
// scores have ranks of their own.
func (t *Tree) RankOf(ctx context.Context, s kv.Store, score Score, down bool, ranks Ranks) (int, error) {
	var before tally
	err := t.query(ctx, s, func(r *reading) error {
		q := edgeOf(score, down)
		r.aims = r.bits(q)
		return r.answer(ctx, s, r.beyond(q, down, &before))
	})
	return ranks.before(before) + 1, err
}

func (t *Tree) state(ctx context.Context, s kv.Store, id string) (State, error) {
	states, err := t.Truth.States(ctx, s, []string{id})
	if err != nil {
		return State{}, err
	}
	return states[0], states[0].Broken
}

func (r *reading) standing(ctx context.Context, s kv.Store, q point, down bool) (before, all tally, err error) {
	r.aims = r.bits(q)
	err = r.answer(ctx, s, both(r.beyond(q, down, &before), r.wholeTree(&all)))
	return before, all, err
}

func both(walks ...func(look) bool) func(look) bool {
	return func(l look) bool {
		all := true
		for _, walk := range walks {
			all = walk(l) && all
		}
		return all
	}
}

type Part struct {
	Members []Member
	Before  int

	run tally // before the first member's score
}

// Ranks returns the ranks of the members, from 1. of must be the Ranks of the query.
func (p Part) Ranks(of Ranks) []int {
	ranks := make([]int, len(p.Members))
	for i := range ranks {
		switch again := i > 0 && p.Members[i].Score.Equals(p.Members[i-1].Score); {
		case again && of != Single:
			ranks[i] = ranks[i-1]
		case i == 0 && of != Single:
			ranks[i] = of.before(p.run) + 1
		case of == Dense:
			ranks[i] = ranks[i-1] + 1
		default:
			ranks[i] = p.Before + 1 + i
		}
	}
	return ranks
}

// At returns up to n members starting at offset before. Without writers, consecutive parts contain
// each member exactly once. While counts are not exact or a change awaits tidying, a part may have
// a few more or fewer.
func (t *Tree) At(ctx context.Context, s kv.Store, before, n int, down bool, ranks Ranks, w Want) (Part, error) {
	part := Part{Before: before}
	if before < 0 || n <= 0 {
		return part, nil
	}
	n = min(n, unlimited)
	err := t.query(ctx, s, func(r *reading) error {
		var st stretch
		walk := both(r.skip(before, n+1, down, &st.from), r.skip(before+n, 1, down, &st.to))
		if before == 0 {
			// This walk does not ask for leaves, since nothing is skipped.
			walk = both(walk, r.reach(stretch{end(!down), end(down)}, n))
		}
		err := r.answer(ctx, s, walk)
		if err != nil || st.from == st.to {
			return err
		}
		found, err := t.list(ctx, s, r, st, unlimited, w)
		if part.Members = found.members; err == nil && ranks != Single {
			err = r.run(ctx, s, &part, down)
		}
		return err
	})
	return part, err
}

const unlimited = math.MaxInt32

func (r *reading) run(ctx context.Context, s kv.Store, part *Part, down bool) error {
	if len(part.Members) == 0 {
		return nil
	}
	q := edgeOf(part.Members[0].Score, down)
	r.aims = r.bits(q)
	return r.answer(ctx, s, r.beyond(q, down, &part.run))
}

// Around returns the member id with up to n members before it and n after it, or ErrNotFound.
func (t *Tree) Around(ctx context.Context, s kv.Store, id string, n int, down bool, ranks Ranks, w Want) (part Part, err error) {
	var st State
	err = t.query(ctx, s, func(r *reading) error {
		if !st.In {
			return nil
		}
		q := r.point(st.Score, id)
		before, _, err := r.standing(ctx, s, q, down)
		if err != nil {
			return err
		}
		front, behind, err := t.bothSides(ctx, s, r, q, n, down, w)
		if err != nil || len(behind) == 0 || behind[0].ID != id {
			return err
		}
		slices.Reverse(front)
		part = Part{Members: append(front, behind...), Before: before.members - len(front)}
		if ranks != Single {
			err = r.run(ctx, s, &part, down)
		}
		return err
	}, func(s kv.Store) (err error) { st, err = t.state(ctx, s, id); return err })
	if err == nil && len(part.Members) == 0 {
		err = fmt.Errorf("%w: not in the ranking", kv.ErrNotFound)
	}
	return part, err
}

// bothSides returns up to n members before q, nearest first, and the member at q with up to n after
// it.
func (t *Tree) bothSides(ctx context.Context, s kv.Store, r *reading, q point, n int, down bool, w Want) (front, behind []Member, err error) {
	from := q.beside(down)
	var sides [2]finding
	err = each(ctx, s, []stretch{{from, end(!down)}, {from, end(down)}}, func(s kv.Store, i int, st stretch) (err error) {
		sides[i], err = t.list(ctx, s, r, st, n+i, w)
		return err
	})
	return sides[0].members, sides[1].members, err
}

// Count returns the number of members in b, as exactly as Standing.
func (t *Tree) Count(ctx context.Context, s kv.Store, b Between) (int, error) {
	if b.empty() {
		return 0, nil
	}
	st := b.stretch(false)
	var all, below, above tally
	err := t.query(ctx, s, func(r *reading) error {
		walk := r.wholeTree(&all)
		if b.Low != nil {
			walk, r.aims = both(walk, r.beyond(st.from, false, &below)), r.bits(st.from)
		}
		if b.High != nil {
			walk, r.aims = both(walk, r.beyond(st.to, true, &above)), r.bits(st.to)
		}
		return r.answer(ctx, s, walk)
	})
	return max(0, all.members-below.members-above.members), err
}
