package keytree

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Listing is one page. Next and Prev are positions, nil at the ends. Total and the ranks of Part
// are set only with Want.Placed.
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
	r.take(p.hash[:])
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
	r.eachLeaf(r.known, Between{}.stretch(down), func(name string, l *leaf) bool {
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

// Scan calls f with the ids of all entries, from the lowest score up, some thousands at a time. A
// member may be passed twice, or without being in the ranking. Scan may miss one whose score falls
// meanwhile.
func (t *Tree) Scan(ctx context.Context, s kv.Store, f func(ids []string) error) error {
	return t.query(ctx, s, func(r *reading) error { return r.scan(ctx, s, scanAtOnce, f) })
}
