package timeline

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A merge goes through several lanes as if they were one. Stamps of two lanes
// do not compare, so of their next entries the one with the later time is the
// next, or with the earlier one on the way up. Within a lane the order is that
// of the stamps, whatever the times are.
type merge struct {
	store kv.Store
	views []*view
	trips int // that may still be made for segments

	// what tells what an entry is about; of two about the same, one is enough.
	what func(entry) string
}

// segmentTrips is how many trips one call makes for segments at most.
const segmentTrips = 7

// newMerge returns a merge of lanes. It reads n entries of them and some that
// may be stale at first. from is nil or has a cut for each lane.
func newMerge(s kv.Store, lanes []*lane, up bool, from []cut, n int) *merge {
	m := &merge{store: s, trips: segmentTrips, what: func(e entry) string { return string(e.body) }}
	ahead := max(4*int64(n)/int64(len(lanes)), defaultSegment)
	for i, l := range lanes {
		var c *cut
		if from != nil {
			c = &from[i]
		}
		m.views = append(m.views, l.newView(up, c, ahead))
	}
	return m
}

func (m *merge) open(ctx context.Context) error {
	return m.each(ctx, m.views, (*view).open)
}

// each runs step for each of views side by side.
func (m *merge) each(ctx context.Context, views []*view, step func(*view, context.Context, kv.Store) error) error {
	m.trips--
	works := make([]func(kv.Store) error, len(views))
	for i, v := range views {
		works[i] = func(s kv.Store) error { return step(v, ctx, s) }
	}
	for _, err := range kv.Together(ctx, m.store, works...) {
		if err != nil {
			return err
		}
	}
	return nil
}

// an item is an entry with the view that it is from.
type item struct {
	entry
	view *view
}

// gather returns the next items in order, about at most n things that are not
// known, and as many as that unless the lanes end. It moves no cut.
func (m *merge) gather(ctx context.Context, n int, known func(what string) bool) ([]item, error) {
	for {
		items, short, enough := m.upcoming(n, known)
		if enough || len(short) == 0 || m.trips == 0 {
			return items, nil
		}
		if err := m.each(ctx, short, (*view).more); err != nil {
			return nil, err
		}
	}
}

// upcoming is gather without reading anything. short are the views that have to
// read on before there can be more.
func (m *merge) upcoming(n int, known func(string) bool) (items []item, short []*view, enough bool) {
	queues := make([]queue, len(m.views))
	for i, v := range m.views {
		queues[i].entries, queues[i].ended = v.visible()
		if len(queues[i].entries) == 0 && !queues[i].ended {
			short = append(short, v)
		}
	}
	fresh := make(map[string]bool)
	for len(short) == 0 {
		i := m.next(queues)
		if i < 0 {
			return items, nil, false
		}
		e := queues[i].entries[0]
		if what := m.what(e); !fresh[what] && !known(what) {
			if len(fresh) == n {
				return items, nil, true
			}
			fresh[what] = true
		}
		items = append(items, item{e, m.views[i]})
		if queues[i].entries = queues[i].entries[1:]; len(queues[i].entries) == 0 && !queues[i].ended {
			short = append(short, m.views[i])
		}
	}
	return items, short, len(fresh) == n
}

// queue is what one lane still has.
type queue struct {
	entries []entry
	ended   bool
}

// next returns which of queues has the next entry, or -1.
func (m *merge) next(queues []queue) int {
	best := -1
	for i, q := range queues {
		if len(q.entries) > 0 && (best < 0 || m.precedes(q.entries[0], queues[best].entries[0])) {
			best = i
		}
	}
	return best
}

// precedes tells whether a, of a later lane than b, comes before it. Of two that
// were made in the same millisecond the one of the earlier lane stands above, so
// that the way up shows what the way down does.
func (m *merge) precedes(a, b entry) bool {
	if m.views[0].up {
		return a.at <= b.at
	}
	return a.at > b.at
}

// above returns the entries above a cut in each lane, lane by lane, the newest
// first. If there are more than the trips allow it returns the newest of them.
func (m *merge) above(ctx context.Context, cuts []cut) ([]entry, error) {
	for {
		var found []entry
		var short []*view
		for i, v := range m.views {
			entries, _ := v.visible()
			for _, e := range entries {
				if !cuts[i].isOver(e) {
					found = append(found, e)
				}
			}
			if reach, ended := v.reach(); !ended && reach > cuts[i].stamp {
				short = append(short, v)
			}
		}
		if len(short) == 0 || m.trips == 0 {
			return found, nil
		}
		if err := m.each(ctx, short, (*view).more); err != nil {
			return nil, err
		}
	}
}

// stale returns how many entries the last pages have passed for ten records.
func (m *merge) stale() int { return int(m.views[0].stale.Load()) }

// noteStale takes note of how many entries a page has passed for ten records.
func (m *merge) noteStale(n int) {
	// A page that was lucky does not make the next one optimistic at once.
	m.views[0].stale.Store(max(int64(n), m.views[0].stale.Load()*9/10))
}

// newest returns the cuts above the newest entry of each lane.
func (m *merge) newest() []cut {
	cuts := make([]cut, len(m.views))
	for i, v := range m.views {
		cuts[i] = cut{stamp: 1}
		if entries, _ := v.visible(); len(entries) > 0 {
			cuts[i] = over(entries[0])
		}
	}
	return cuts
}

// ended tells whether nothing is left on the way.
func (m *merge) ended() bool {
	for _, v := range m.views {
		if entries, ended := v.visible(); len(entries) > 0 || !ended {
			return false
		}
	}
	return true
}

// skip moves the cuts of lanes that show nothing to where they were read to.
func (m *merge) skip() {
	for _, v := range m.views {
		v.skip()
	}
}

// cuts returns where the lanes stand.
func (m *merge) cuts() []cut {
	all := make([]cut, len(m.views))
	for i, v := range m.views {
		all[i] = *v.from
	}
	return all
}
