package timeline

import (
	"cmp"
	"context"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A merge reads several lanes as one. Stamps of different lanes do not compare, so the latest of
// the lanes' next entries comes first, or the earliest on the way up.
type merge struct {
	store   kv.Store
	readers []*reader
	trips   int

	// what returns the subject of an entry. One entry per subject is enough.
	what   func(entry) string
	texts  strings.Builder
	n      int
	queues []queue
}

const segmentTrips = 7

// newMerge first reads n entries and some more. from is nil or has a cut for each lane.
func newMerge(s kv.Store, lanes []*lane, up bool, from []cut, n int) *merge {
	m := &merge{store: s, trips: segmentTrips, n: n, readers: make([]*reader, len(lanes))}
	readers := make([]reader, len(lanes))
	for i, l := range lanes {
		r := &readers[i]
		r.lane, r.up, m.readers[i] = l, up, r
		if from != nil {
			r.from = &from[i]
		}
		r.plan(l.aheadFor(int64(n), int64(len(lanes))))
	}
	return m
}

func (m *merge) show() {
	for _, r := range m.readers {
		r.shown = true
	}
}

// aheadFor returns how many stamps to read before the newest block for n entries of so many lanes.
// A block costs little more than an entry.
func (l *lane) aheadFor(n, lanes int64) int64 {
	if l.sparing {
		return n - 1
	}
	return max(4*n/lanes, min(defaultSegment, max(n+few, l.shape.width)))
}

const few = 4

func (m *merge) damage() error {
	var keys []string
	for _, r := range m.readers {
		for _, seg := range r.read {
			if isDamaged(seg.entries) {
				keys = append(keys, seg.key)
			}
		}
	}
	return damageOf(keys)
}

func (m *merge) subjectText(e entry) string {
	if m.texts.Cap() == 0 {
		m.texts.Grow(m.n * (len(e.body) + 1))
	}
	begin := m.texts.Len()
	m.texts.Write(e.body)
	return m.texts.String()[begin:]
}

func (m *merge) about(e entry) string {
	if m.what != nil {
		return m.what(e)
	}
	return m.subjectText(e)
}

func (m *merge) open(ctx context.Context) error {
	return m.each(ctx, m.readers, (*reader).open)
}

func (m *merge) each(ctx context.Context, readers []*reader, step func(*reader, context.Context, kv.Store) error) error {
	m.trips--
	if len(readers) == 1 {
		return step(readers[0], ctx, m.store)
	}
	return cmp.Or(kv.Each(ctx, m.store, readers, func(s kv.Store, _ int, r *reader) error { return step(r, ctx, s) })...)
}

// gather returns the next items, with n unknown subjects, or fewer if the lanes end or the trips
// are used up. It moves no cut.
func (m *merge) gather(ctx context.Context, n int, known func(what string) bool) ([]item, error) {
	for {
		items, short, enough := m.upcoming(n, known)
		if enough || len(short) == 0 || m.trips == 0 {
			return items, nil
		}
		if err := m.each(ctx, short, (*reader).more); err != nil {
			return nil, err
		}
	}
}

// upcoming is gather without reading. short are the readers that must read on.
func (m *merge) upcoming(n int, known func(string) bool) (items []item, short []*reader, enough bool) {
	m.queues = append(m.queues[:0], make([]queue, len(m.readers))...)
	queues := m.queues
	for i, r := range m.readers {
		queues[i].entries, queues[i].ended = r.visible()
		if len(queues[i].entries) == 0 && !queues[i].ended {
			short = append(short, r)
		}
	}
	items = make([]item, 0, n)
	fresh := make(map[string]bool, n)
	for len(short) == 0 {
		i := m.next(queues)
		if i < 0 {
			return items, nil, false
		}
		e := *queues[i].entries[0]
		what := m.about(e)
		if !fresh[what] && !known(what) {
			if len(fresh) == n {
				return items, nil, true
			}
			fresh[what] = true
		}
		items = append(items, item{e, what, m.readers[i]})
		if queues[i].entries = queues[i].entries[1:]; len(queues[i].entries) == 0 && !queues[i].ended {
			short = append(short, m.readers[i])
		}
	}
	return items, short, len(fresh) == n
}

type queue struct {
	entries []*entry
	ended   bool
}

func (m *merge) next(queues []queue) int {
	best := -1
	for i, q := range queues {
		if len(q.entries) > 0 && (best < 0 || m.precedes(q.entries[0], queues[best].entries[0])) {
			best = i
		}
	}
	return best
}

// precedes reports whether a, of a later lane than b, comes before b. Within a millisecond, the
// entry of the earlier lane is above, in both directions.
func (m *merge) precedes(a, b *entry) bool {
	if m.readers[0].up {
		return a.at <= b.at
	}
	return a.at > b.at
}

// above returns the items above a cut in each lane, lane by lane, newest first, as far as the trips
// suffice.
func (m *merge) above(ctx context.Context, cuts []cut) ([]item, error) {
	for {
		var found []item
		var short []*reader
		for i, r := range m.readers {
			entries, _ := r.visible()
			for _, e := range entries {
				if !cuts[i].isOver(*e) {
					found = append(found, item{*e, m.subjectText(*e), r})
				}
			}
			if reach, ended := r.reach(); !ended && reach > cuts[i].stamp {
				short = append(short, r)
			}
		}
		if len(short) == 0 || m.trips == 0 {
			return found, nil
		}
		if err := m.each(ctx, short, (*reader).more); err != nil {
			return nil, err
		}
	}
}

func (m *merge) stale() int { return int(m.readers[0].stale.Load()) }

func (m *merge) learnStale(n int) {
	// a page with few stale entries lowers the estimate only slowly
	m.readers[0].stale.Store(max(int64(n), m.readers[0].stale.Load()*9/10))
}

func (m *merge) newest() []cut {
	cuts := make([]cut, len(m.readers))
	for i, r := range m.readers {
		cuts[i] = cut{stamp: 1}
		if entries, _ := r.visible(); len(entries) > 0 {
			cuts[i] = over(*entries[0])
		}
	}
	return cuts
}

func (m *merge) ended() bool {
	for _, r := range m.readers {
		if entries, ended := r.visible(); len(entries) > 0 || !ended {
			return false
		}
	}
	return true
}

func (m *merge) skip() {
	for _, r := range m.readers {
		r.skip()
	}
}

func (m *merge) cuts() []cut {
	all := make([]cut, len(m.readers))
	for i, r := range m.readers {
		all[i] = *r.from
	}
	return all
}
