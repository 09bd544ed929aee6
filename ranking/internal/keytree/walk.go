package keytree

import (
	"slices"
	"strings"
)

// stretch is the part of the order between two points, exclusive, in the direction of to.
type stretch struct{ from, to point }

func (p point) only() stretch { return stretch{p.beside(false), p.beside(true)} }

func (st stretch) ascends() bool { return st.from.compare(st.to) < 0 }

func (st stretch) holds(q point) bool {
	if st.ascends() {
		return st.from.compare(q) < 0 && q.compare(st.to) < 0
	}
	return st.to.compare(q) < 0 && q.compare(st.from) < 0
}

// holds reports whether e is in st. Usually the scores decide, and the id must not be hashed.
func (r *reading) holds(st stretch, e *entry) bool {
	from, to := e.score.Compare(st.from.score), e.score.Compare(st.to.score)
	if from*to != 0 {
		return from*to < 0
	}
	return st.holds(r.point(e.score, e.id))
}

// eachLeaf visits the leaves that can hold entries in st, in its direction, until visit returns
// false. l is nil for a node unknown to look.
func (r *reading) eachLeaf(look look, st stretch, visit func(name string, l *leaf) bool) {
	low, high := r.bits(st.from), r.bits(st.to)
	if !st.ascends() {
		low, high = high, low
	}
	r.leavesIn(look, low, high, st.ascends(), visit)
}

func (r *reading) leavesIn(look look, low, high string, up bool, visit func(name string, l *leaf) bool) {
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
			if nd.router.slots[i].closed {
				continue
			}
			next := r.seen.childName(name, i)
			if next < low[:len(next)] || next > high[:len(next)] {
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

const usualPage = 24

// entries returns up to most entries in st, up to the first node that was not read, and whether
// these are all.
func (r *reading) entries(st stretch, most int) (found []entry, all bool) {
	all = true
	r.eachLeaf(r.seen.get, st, func(_ string, l *leaf) bool {
		if l == nil {
			all = false
			return false
		}
		found = slices.Grow(found, min(most-len(found), len(l.entries), usualPage))
		all = r.within(l, st, func(e *entry) bool {
			if len(found) < most {
				found = append(found, *e)
			}
			return len(found) < most
		})
		return all
	})
	return found, all
}

// within calls visit with the entries of l in st, until visit returns false. A trusting query uses
// only the newest entry of each member, even of a change that never happened.
func (r *reading) within(l *leaf, st stretch, visit func(*entry) bool) bool {
	entries, up := l.entries, st.ascends()
	if r.trusting && !l.settled {
		entries = newest(entries)
	}
	for i := range entries {
		if !up {
			i = len(entries) - 1 - i
		}
		if e := &entries[i]; r.holds(st, e) && !visit(e) {
			return false
		}
	}
	return true
}

func (r *reading) reach(st stretch, n int) func(look) bool {
	return func(look look) bool {
		met, complete := 0, true
		r.eachLeaf(look, st, func(name string, l *leaf) bool {
			if l == nil {
				complete = false
				met += r.surely(name)
			} else {
				r.within(l, st, func(*entry) bool { met++; return met < n })
			}
			return met < n
		})
		return complete
	}
}

func (r *reading) surely(name string) int { return max(1, r.expected(name)-r.drift(leafDrift)) }

// beyond counts the members above q, or below it. Scores are counted exactly only if q is not
// between members with equal scores.
func (r *reading) beyond(q point, above bool, count *tally) func(look) bool {
	bits, edge := r.bits(q), q == edgeOf(q.score, above)
	return func(look look) bool {
		*count = tally{}
		for name := ""; ; {
			if edge && r.code.hasWhole([]byte(name)) {
				return true // All members below have q's score.
			}
			nd, ok := look(name)
			if !ok {
				return false
			}
			if nd.router == nil {
				*count = count.plus(r.beyondIn(nd.leaf, q, above))
				return true
			}
			at := child(name, bits)
			*count = count.plus(r.some(name, nd.router, func(i int) bool { return i > at && above || i < at && !above }))
			if nd.router.slots[at].closed {
				return true
			}
			name = r.seen.childName(name, at)
		}
	}
}

func (r *reading) beyondIn(l *leaf, q point, above bool) tally {
	return r.tally(slices.DeleteFunc(slices.Clone(l.counted()), func(e entry) bool {
		c := r.point(e.score, e.id).compare(q)
		return c == 0 || c > 0 != above
	}))
}

func (r *reading) wholeTree(count *tally) func(look) bool {
	return func(look look) bool {
		nd, ok := look("")
		switch {
		case !ok:
			return false
		case nd.router != nil:
			*count = r.total("", nd.router)
		default:
			*count = r.live(nd.leaf)
		}
		return true
	}
}

// skip finds the point after the first skipped members. It asks for as many leaves as are likely to
// hold the next n members. It relies on the counts in routers, even if a leaf holds more or fewer.
// So the point depends only on stored data: the next page begins where one ends.
func (r *reading) skip(skipped, n int, down bool, at *point) func(look) bool {
	return func(look look) bool {
		left, complete := skipped, true
		if *at = end(!down); skipped == 0 {
			return true
		}
		*at = end(down)
		var walk func(name string) (ended bool)
		walk = func(name string) bool {
			nd, ok := look(name)
			switch {
			case !ok:
				r.askFrom(look, name, left+n, down)
				complete = false
				return true
			case nd.router == nil:
				return r.nth(nd.leaf, left, down, at)
			}
			for i := range 4 {
				if down {
					i = 3 - i
				}
				if count := nd.router.slots[i].members; left >= count {
					left -= count
				} else if walk(r.seen.childName(name, i)) {
					return true
				} else {
					left = 0 // The slot's count was too high.
				}
			}
			return false
		}
		walk("")
		return complete
	}
}

// askFrom asks for the leaves, from the node called name on, that are likely to hold n members.
func (r *reading) askFrom(look look, name string, n int, down bool) {
	most := r.code.maxBits()
	low, high := name+strings.Repeat("0", most-len(name)), strings.Repeat("1", most)
	if down {
		low, high = strings.Repeat("0", most), name+strings.Repeat("1", most-len(name))
	}
	r.leavesIn(look, low, high, !down, func(name string, _ *leaf) bool {
		n -= r.surely(name)
		return n > 0
	})
}

func (r *reading) nth(l *leaf, n int, down bool, at *point) bool {
	entries := l.counted()
	if n >= len(entries) {
		return false
	}
	if down {
		n = len(entries) - 1 - n
	}
	*at = r.point(entries[n].score, entries[n].id).beside(down)
	return true
}

func end(down bool) point {
	if down {
		return lowest
	}
	return highest
}
