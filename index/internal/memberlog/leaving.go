package memberlog

import (
	"sort"
	"strings"
	"sync"
)

// leaving is the entries that say a member is out, by changes of this process that
// have committed, and that no segment may have yet. Readers see them at once. They
// stay true forever, and count by their revs as those in a segment do, so one that
// is kept too long does no harm.
type leaving struct {
	mu         sync.Mutex
	young, old map[string]map[string]Entry // by place and id
	weight     int                         // how many were put among the young
}

// maxLeaving bounds how many entries are young. One is forgotten early only after
// as many others have come.
const maxLeaving = 1 << 14

// Leave makes e, which says that a member is out, count for readers of this process
// from now on, until Left says that it was written.
func (l *Logs) Leave(place string, e Entry) { l.leaving.put(place, e) }

// Left says that e was written to place's list.
func (l *Logs) Left(place string, e Entry) { l.leaving.drop(place, e) }

func (c *leaving) put(place string, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || c.weight >= maxLeaving {
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

// drop forgets what is said of e's member up to e's rev.
func (c *leaving) drop(place string, e Entry) {
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

// of returns the entries of place. It is called before a segment is read: an entry
// that is dropped during the read may not be in what was read.
func (c *leaving) of(place string) []row {
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

// leave makes those of gone count whose members are among rows, which are in order.
func leave(rows, gone []row) {
	for i := range gone {
		at, found := sort.Find(len(rows), func(at int) int { return gone[i].compare(&rows[at]) })
		if found && gone[i].counts(&rows[at].Entry) {
			rows[at].Entry = gone[i].Entry
		}
	}
}
