package keytree

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Listing is one page. Total and the ranks of Part are set only with Want.Placed.
type Listing struct {
	Part
	Total      int
	Next, Prev []byte
}

// Page returns up to n members of b, from the highest down or from the lowest up, from a position
// on; nil is the beginning. A position from Prev returns the members before it, in the same order.
// ErrBadCursor: at is not a position.
func (t *Tree) Page(ctx context.Context, s kv.Store, b Between, down bool, at []byte, n int, w Want) (Listing, error) {
	from, back, err := decodePosition(at)
	if err != nil || b.empty() || n <= 0 {
		return Listing{}, err
	}
	st := b.stretch(down != back)
	if at != nil && st.holds(from) {
		st.from = from
	}
	var out Listing
	err = t.query(ctx, s, func(r *reading) error {
		atEdge := st.from == lowest || st.from == highest
		r.aim(st.from, t.knownEdge(), atEdge)
		found, err := t.list(ctx, s, r, st, n, w)
		if err != nil {
			return err
		}
		if atEdge {
			t.noteEdge(r, !st.ascends())
		}
		out = r.listing(found, st.from, at != nil, back)
		if w.Placed {
			return r.rank(ctx, s, &out, down)
		}
		return nil
	})
	return out, err
}

func (r *reading) rank(ctx context.Context, s kv.Store, l *Listing, down bool) error {
	if len(l.Members) == 0 {
		var all tally
		err := r.answer(ctx, s, r.wholeTree(&all))
		l.Total = all.members
		return err
	}
	before, all, err := r.standing(ctx, s, r.pointOf(l.Members[0]), down)
	if err != nil {
		return err
	}
	l.Before, l.Total = before.members, all.members
	return r.run(ctx, s, &l.Part, down)
}

func (r *reading) aim(from point, hint edge, atEdge bool) {
	switch {
	case !atEdge:
		r.aims = r.bits(from)
	case hint.epoch != r.epoch:
	case from == highest && hint.highest != "":
		r.hint = path(hint.highest)
	case from == lowest && hint.lowest != "":
		r.hint = path(hint.lowest)
	}
}

func (r *reading) listing(f finding, from point, hasStart, back bool) Listing {
	l := Listing{Part: Part{Members: f.members}}
	if f.more {
		l.Next = encodePosition(f.behind, back)
	}
	if len(f.members) > 0 {
		from = r.pointOf(f.members[0])
	}
	if hasStart {
		l.Prev = encodePosition(from, !back)
	}
	if back {
		slices.Reverse(l.Members)
		l.Next, l.Prev = l.Prev, l.Next
	}
	return l
}

const (
	backFlag = 1 << iota
	wordFlag
)

func encodePosition(p point, back bool) []byte {
	b := append(appendFlag(nil, back), byte(p.side+1))
	if p.score.word != "" {
		b[0] |= wordFlag
	}
	b = binary.BigEndian.AppendUint64(b, p.score.n)
	b = append(b, p.hash[:]...)
	if p.score.tie != 0 && p != after(p.score) {
		b = binary.BigEndian.AppendUint64(b, p.score.tie)
	}
	return append(b, p.score.word...)
}

func decodePosition(b []byte) (p point, back bool, err error) {
	if b == nil {
		return point{}, false, nil
	}
	r := readerOf(b)
	flags := r.Byte()
	back = flags&backFlag != 0
	p.side = int8(r.Byte()) - 1
	p.score = FromUint(r.Uint64())
	r.copyTo(p.hash[:])
	if flags&wordFlag != 0 {
		p.score.word, r.Rest = string(r.Rest), nil
	}
	switch edge := after(p.score); {
	case len(r.Rest) > 0:
		p.score.tie = r.Uint64()
	case p.hash == edge.hash && p.side == edge.side:
		p = edge
	}
	if r.end("position") != nil || p.side < -1 || p.side > 1 {
		return point{}, false, fmt.Errorf("%w: it does not belong to a ranking", kvmodel.ErrBadCursor)
	}
	return p, back, nil
}

const edgeEvery = time.Minute

func (r *reading) outermost(down bool) (found string) {
	r.eachLeaf(r.seen.get, Between{}.stretch(down), func(name string, l *leaf) bool {
		if l != nil && len(l.entries) > 0 {
			found = name
		}
		return l != nil && found == ""
	})
	return found
}

func (t *Tree) noteEdge(r *reading, down bool) {
	name := r.outermost(down)
	e := t.knownEdge()
	if e.epoch != r.epoch {
		e = edge{epoch: r.epoch}
	}
	at := &e.lowest
	if down {
		at = &e.highest
	}
	if name == *at || t.Later == nil || !e.noted.IsZero() && t.Now().Sub(e.noted) < edgeEvery {
		return
	}
	m := t.latest()
	if m == nil || m.epoch != r.epoch {
		return
	}
	// putEdge keeps the rest once it is stored: Later may drop the work.
	e.noted = t.Now()
	t.keepEdge(e)
	*at = name
	t.Later(func(ctx context.Context, s kv.Store) error { return t.putEdge(ctx, s, e, m) })
}

const scanAtOnce = 32 * entryLimit

// Scan calls f with the ids of all entries, some thousands at a time. A member may be passed twice,
// or without being in the ranking. Scan may miss one whose score falls meanwhile.
func (t *Tree) Scan(ctx context.Context, s kv.Store, f func(ids []string) error) error {
	return t.query(ctx, s, func(r *reading) error { return r.scan(ctx, s, scanAtOnce, f) })
}

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
	Rank   int
	Before int
	Total  int
}

// Standing returns the position of the member id, or ErrNotFound. It is as exact as the counts of
// routers: always in the outermost leaf, and everywhere after Refresh until the next write.
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

// Ranks takes the Ranks of the query.
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
			// without leaves
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

// Around returns the member id with up to n members on each side, or ErrNotFound.
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
