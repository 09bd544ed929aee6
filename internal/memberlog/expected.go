package memberlog

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// expected holds entries of committed changes of this process that may not be in a segment yet. Its
// readers see them at once.
type expected struct {
	mu         sync.Mutex
	young, old map[string]map[string]Entry // by place and id
	weight     int                         // entries put into young
}

const maxExpected = 1 << 14

// Expect makes e visible to readers of this process until Written.
func (l *Logs) Expect(place string, e Entry) { l.expected.put(place, e) }

// Written ends Expect: e, or its replacement, is in place's list.
func (l *Logs) Written(place string, e Entry) { l.expected.drop(place, e) }

func (c *expected) put(place string, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || c.weight >= maxExpected {
		c.young, c.old, c.weight = make(map[string]map[string]Entry), c.young, 0
	}
	if c.young[place] == nil {
		c.young[strings.Clone(place)] = make(map[string]Entry)
	}
	if known, ok := c.young[place][e.ID]; !ok || e.counts(&known) {
		e.ID = strings.Clone(e.ID)
		c.young[place][e.ID] = e
	}
	c.weight++
}

func (c *expected) drop(place string, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, generation := range []map[string]map[string]Entry{c.young, c.old} {
		if known, ok := generation[place][e.ID]; ok && known.Rev <= e.Rev {
			delete(generation[place], e.ID)
		}
		if len(generation[place]) == 0 {
			delete(generation, place)
		}
	}
}

// of must be called before a segment is read: an entry dropped during the read may not be in the
// result.
func (c *expected) of(place string) []row {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rows []row
	for _, generation := range []map[string]map[string]Entry{c.young, c.old} {
		for _, e := range generation[place] {
			rows = append(rows, row{Entry: e, hash: hashOf(e.ID)})
		}
	}
	return rows
}

// expect merges own into the sorted rows of p's segment.
func (p *part) expect(rows, own []row) []row {
	if len(own) > 0 {
		rows = slices.Clone(rows) // may be shared
	}
	for i := range own {
		at, found := sort.Find(len(rows), func(at int) int { return own[i].compare(&rows[at]) })
		switch {
		case found && own[i].counts(&rows[at].Entry):
			own[i].late = rows[at].late
			rows[at].Entry = own[i].Entry
		case !found && own[i].In && p.from <= own[i].hash && own[i].hash <= p.last():
			rows = slices.Insert(rows, at, own[i])
		}
	}
	return rows
}
