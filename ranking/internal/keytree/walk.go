package keytree

import (
	"slices"
	"strings"
)

// stretch is the part of the order between two points, without these, in the
// direction from the one to the other.
type stretch struct{ from, to point }

// up reports whether the stretch leads to higher scores.
func (st stretch) up() bool { return st.from.compare(st.to) < 0 }

// holds reports whether q lies in the stretch.
func (st stretch) holds(q point) bool {
	if st.up() {
		return st.from.compare(q) < 0 && q.compare(st.to) < 0
	}
	return st.to.compare(q) < 0 && q.compare(st.from) < 0
}

// leaves visits the leaves that can hold entries in st, in its direction, until
// visit returns false. It visits a node that look does not know with a nil leaf.
func (p *nodes) leaves(look look, st stretch, visit func(name string, l *leaf) bool) {
	low, high := p.bits(st.from), p.bits(st.to)
	if !st.up() {
		low, high = high, low
	}
	p.leavesIn(look, low, high, st.up(), visit)
}

// leavesIn is leaves from one sequence of bits to another, including both.
func (p *nodes) leavesIn(look look, low, high string, up bool, visit func(name string, l *leaf) bool) {
	var walk func(name string) bool
	walk = func(name string) bool {
		nd, ok := look(name)
		if !ok || nd.router == nil {
			return visit(name, nd.leaf)
		}
		for i := range 4 {
			if !up {
				i = 3 - i
			}
			next := childName(name, i)
			outside := next < low[:len(next)] || next > high[:len(next)]
			if outside || nd.router.slots[i].closed {
				continue
			}
			if !walk(next) {
				return false
			}
		}
		return true
	}
	walk("")
}

// entries returns the entries in st, in its direction, up to the first node that
// was not read, and reports whether these are all.
func (r *reading) entries(st stretch) (found []entry, all bool) {
	all = true
	r.leaves(r.known, st, func(_ string, l *leaf) bool {
		if l == nil {
			all = false
			return false
		}
		found = append(found, r.within(l, st)...)
		return true
	})
	return found, all
}

// within returns the entries of l in st, in its direction. Of two entries of one
// member, the newer may belong to a change that never happened. A query that does
// not check records takes it nevertheless.
func (r *reading) within(l *leaf, st stretch) []entry {
	entries := l.entries
	if r.trusting {
		entries = l.newest()
	}
	var found []entry
	for _, e := range entries {
		if st.holds(r.point(e.score, e.id)) {
			found = append(found, e)
		}
	}
	if !st.up() {
		slices.Reverse(found)
	}
	return found
}

// reach is a walk that needs n entries in st, or all there are.
func (r *reading) reach(st stretch, n int) func(look) bool {
	return func(look look) bool {
		met, complete := 0, true
		r.leaves(look, st, func(name string, l *leaf) bool {
			if l == nil {
				complete = false
				met += r.surely(name)
			} else {
				met += len(r.within(l, st))
			}
			return met < n
		})
		return complete
	}
}

// surely returns how many members there are at least below the node called name,
// which was not read and is not empty.
func (r *reading) surely(name string) int { return max(1, r.expected(name)-leafDrift) }

// expected returns how many members there are below the node called name, as far as
// is known.
func (r *reading) expected(name string) int {
	if name == "" {
		return 0
	}
	above := r.seen[parent(name)]
	if above.router == nil {
		above.router, _ = r.local.router(r.key(parent(name)))
	}
	if above.router == nil {
		return 0
	}
	return above.router.slots[child(parent(name), name)].count
}

// beyond is a walk that counts the members above q, or below it.
func (r *reading) beyond(q point, above bool, count *int) func(look) bool {
	bits := r.bits(q)
	return func(look look) bool {
		*count = 0
		for name := ""; ; {
			nd, ok := look(name)
			if !ok {
				return false
			}
			if nd.router == nil {
				*count += nd.leaf.beyond(&r.order, q, above)
				return true
			}
			at := child(name, bits)
			for i, s := range nd.router.slots {
				if i > at && above || i < at && !above {
					*count += s.count
				}
			}
			if nd.router.slots[at].closed {
				return true
			}
			name = childName(name, at)
		}
	}
}

// beyond returns the number of members of l above p, or below it.
func (l *leaf) beyond(o *order, p point, above bool) int {
	n := 0
	for _, e := range l.newest() {
		if c := o.point(e.score, e.id).compare(p); c > 0 && above || c < 0 && !above {
			n++
		}
	}
	return n
}

// total is a walk that counts all members.
func (r *reading) total(count *int) func(look) bool {
	return func(look look) bool {
		nd, ok := look("")
		switch {
		case !ok:
			return false
		case nd.router != nil:
			*count = nd.router.total()
		default:
			*count = len(nd.leaf.newest())
		}
		return true
	}
}

// skip is a walk that finds the point just before the member that has skipped
// members before it, from the highest down or from the lowest up. It asks for as
// many leaves as are likely to hold the next n members.
func (r *reading) skip(skipped, n int, down bool, at *point) func(look) bool {
	return func(look look) bool {
		left, name := skipped, ""
		for {
			nd, ok := look(name)
			if !ok {
				r.askFrom(look, name, left+n, down)
				return false
			}
			if nd.router == nil {
				*at = r.nth(nd.leaf, left, down)
				return true
			}
			next, ok := r.descend(name, nd.router, &left, down)
			if !ok {
				*at = end(down)
				return true
			}
			name = next
		}
	}
}

// askFrom looks at the leaves, from the node called name on, that are likely to hold
// n members.
func (r *reading) askFrom(look look, name string, n int, down bool) {
	low, high := name+strings.Repeat("0", maxBits-len(name)), strings.Repeat("1", maxBits)
	if down {
		low, high = strings.Repeat("0", maxBits), name+strings.Repeat("1", maxBits-len(name))
	}
	r.leavesIn(look, low, high, !down, func(name string, _ *leaf) bool {
		n -= r.surely(name)
		return n > 0
	})
}

// nth returns the point just before the entry of l that has n others before it.
func (r *reading) nth(l *leaf, n int, down bool) point {
	entries := l.newest()
	if n >= len(entries) {
		return end(down)
	}
	if down {
		n = len(entries) - 1 - n
	}
	return r.point(entries[n].score, entries[n].id).beside(down)
}

// end returns the point after all members in a direction.
func end(down bool) point {
	if down {
		return lowest
	}
	return highest
}

// descend returns the child of the router called name that holds the member with
// *left members of the router before it. It lowers *left by the members of the
// children before that one.
func (r *reading) descend(name string, above *router, left *int, down bool) (next string, ok bool) {
	for i := range 4 {
		if down {
			i = 3 - i
		}
		next := childName(name, i)
		count := r.holds(next, above.slots[i].count)
		if *left < count {
			return next, true
		}
		*left -= count
	}
	return "", false
}

// holds returns how many members there are below the node called name: what was read
// of them, and otherwise said, which the router above says.
func (r *reading) holds(name string, said int) int {
	nd := r.seen[name]
	switch {
	case nd.leaf != nil:
		return len(nd.leaf.newest())
	case nd.router == nil:
		return said
	}
	n := 0
	for i, below := range nd.router.slots {
		n += r.holds(childName(name, i), below.count)
	}
	return n
}
