package memberlog

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An entry is written before its record commits. A process that dies in between may leave one that
// no record confirms and no journal line names. So entries of a tail enter a base only after
// confirmation by their records. Until then they count, and stay in the tail.

// certain maps entries to the entries that their records confirm instead.
type certain map[Entry]Entry

// fold returns the rows that a new segment needs. Uncertain ones stay late.
func (l *Logs) fold(rows []row, sure certain) []row {
	now := l.now()
	var needed []row
	for _, row := range rows {
		if e, ok := sure[row.Entry]; ok {
			row.Entry = e
		} else if l.open(&row, now) {
			needed = append(needed, row)
			continue
		}
		row.late = false
		if !row.forgettable(now, l.Limits.Grace) {
			needed = append(needed, row)
		}
	}
	return needed
}

// A removal needs no confirmation: it is written after the commit.
func (l *Logs) open(r *row, now int64) bool {
	return l.Confirm != nil && r.late && r.member(now)
}

const confirmAtOnce = 100

func (l *Logs) examine(ctx context.Context, s kv.Store, place string, rows []row) certain {
	var entries []Entry
	for i := range rows {
		if l.open(&rows[i], l.now()) {
			entries = append(entries, rows[i].Entry)
		}
	}
	sure := make(certain)
	for batch := range slices.Chunk(entries, confirmAtOnce) {
		says, err := l.Confirm(ctx, s, place, batch)
		if err != nil {
			continue
		}
		for i, e := range says {
			if e.Rev > 0 {
				sure[batch[i]] = e
			} else {
				l.Pending(place, batch[i])
			}
		}
	}
	return sure
}

// Pending remembers e. If it is still pending a minute later, the first read of the list calls Overdue.
func (l *Logs) Pending(place string, e Entry) { l.pending.add(place, e, l.Now()) }

// pending holds entries with the time when this process first saw them pending, all it knows of
// their age: see plug.Judge.
type pending struct {
	mu     sync.Mutex
	places map[string][]sighting
	n      int
}

type sighting struct {
	Entry
	since time.Time
}

const maxPending = 1 << 12

func (p *pending) add(place string, e Entry, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.places[place], func(s sighting) bool { return s.Entry == e }) {
		return
	}
	if p.places == nil || p.n == maxPending {
		// the next fold finds forgotten entries again
		p.places, p.n = make(map[string][]sighting), 0
	}
	p.places[place] = append(p.places[place], sighting{e, now})
	p.n++
}

func (p *pending) overdue(place string, now time.Time) (entries []Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.places[place]
	for len(all) > 0 && now.Sub(all[0].since) > times.Overdue {
		entries = append(entries, all[0].Entry)
		all = all[1:]
		p.n--
	}
	switch {
	case len(all) == 0:
		delete(p.places, place)
	case len(entries) > 0:
		p.places[place] = all
	}
	return entries
}

func (l *Logs) reportOverdue(place string) {
	for _, e := range l.pending.overdue(place, l.Now()) {
		l.Overdue(place, e)
	}
}
