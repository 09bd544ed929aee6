package keytree

import (
	"slices"
	"sort"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// edit is a change of one member's entries in the leaf where point belongs. It
// removes those that its record, in state known, has outlived, and adds put if
// that is not nil.
type edit struct {
	point point
	id    string
	known State
	put   *entry
	err   error // why it was not carried out, once its owner has ended

	// Guarded by the mutex of the queues:
	queue *queue // where it waits
	seen  int    // the queue's writes when the node was read
	done  bool   // some write included it
}

func idsOf(entries []entry) []string {
	return kv.Texts(entries, func(e entry) string { return e.id })
}

// with returns l after e, or l itself if nothing changes.
//
// If there is an entry with put's score already, it gets the greater version of
// the two. So a member has one entry at a position, and a remove that knows an old
// version never removes what a newer one needs.
func (l *leaf) with(o *order, e *edit) *leaf {
	next := *l
	next.entries = make([]entry, 0, len(l.entries)+1)
	changed, found := false, false
	for _, old := range l.entries {
		switch {
		case old.id != e.id:
		case e.put != nil && old.score == e.put.score:
			found = true
			changed = changed || old.ver < e.put.ver
			old.ver = max(old.ver, e.put.ver)
		case e.known.outlived(old):
			changed = true
			continue
		}
		next.entries = append(next.entries, old)
	}
	if e.put != nil && !found {
		changed = true
		next.entries = slices.Insert(next.entries, next.search(o, e.point), *e.put)
	}
	if !changed {
		return l
	}
	return &next
}

// search returns how many entries are below p.
func (l *leaf) search(o *order, p point) int {
	return sort.Search(len(l.entries), func(i int) bool {
		e := l.entries[i]
		if e.score != p.score {
			return e.score > p.score
		}
		return o.point(e.score, e.id).compare(p) >= 0
	})
}

// full reports whether l should be split, if its name allows it.
func (l *leaf) full(limit int) bool { return len(l.entries) > limit || l.bytes() > softBytes }

// live returns the number of members in l.
func (l *leaf) live() int { return len(l.entries) - len(l.doubles()) }

// doubles returns the entries of members that have a newer one in l.
func (l *leaf) doubles() []entry {
	var doubles []entry
	newest := make(map[string]entry, len(l.entries))
	for _, e := range l.entries {
		old, twice := newest[e.id]
		if twice && old.ver > e.ver {
			old, e = e, old
		}
		if twice {
			doubles = append(doubles, old)
		}
		newest[e.id] = e
	}
	return doubles
}

// newest returns the entries of l, in order, one for each member.
func (l *leaf) newest() []entry {
	doubles := l.doubles()
	if len(doubles) == 0 {
		return l.entries
	}
	return slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool { return slices.Contains(doubles, e) })
}
