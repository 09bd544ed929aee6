package core

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
)

// ChildrenMark is the mark in the tombstone of a record whose children are deleted with it. Its
// value is the time of the deletion in milliseconds since 1970. No index has this name. A tombstone
// that only keeps a change from committing has no such mark.
const ChildrenMark = "children"

// A tombstone names the places of the deleted record, so that an unfinished deletion can be cleaned
// up. An hour after A4, when no request that entered something there can still be running, the
// places are cleaned a second time and the tombstone is rewritten without them.

const forgottenAtOnce = 500

// MaxDeletions is the number of tombstones a model remembers to clean later. Beyond it the oldest
// are cleaned immediately. Tests use a smaller number.
var MaxDeletions = 4096

// deletions are the records this process has seen deleted and whose tombstones need the second
// cleaning, oldest first.
type deletions struct {
	most int // MaxDeletions

	mu  sync.Mutex // never held during a trip
	all []Deletion
}

type Deletion struct {
	ID   string
	seen time.Time
}

// Note adds id, and reports whether there are now more than most.
func (d *deletions) Note(id string, now time.Time) (over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, Deletion{id, now})
	return len(d.all) > d.most
}

// Due removes and returns a batch of the deletions seen before the given time or in excess of most.
func (d *deletions) Due(before time.Time) (some []Deletion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(some) < forgottenAtOnce && len(d.all) > 0 && (len(d.all) > d.most || d.all[0].seen.Before(before)) {
		some, d.all = append(some, d.all[0]), d.all[1:]
	}
	return some
}

// NoteDeleted schedules the second cleaning of the tombstone env, if there is anything to clean.
func (m *Model) NoteDeleted(id string, env *envelope.Envelope) {
	if env == nil || !env.Deleted || len(env.Lost) == 0 && !m.Forgets {
		return
	}
	if m.Deletions.Note(id, m.Db.Now()) {
		m.Cleans.Set()
	}
}

// Cascade is a deletion with children left to delete.
type Cascade struct {
	Model, ID string // of the deleted record; ID is the text of its id
	Deleted   int    // children deleted so far by this process
}

type cascades struct {
	mu  sync.Mutex
	all []cascade
}

type cascade struct {
	Cascade
	tried time.Time // time of the last attempt
}

// Count records n more deleted children.
func (c *cascades) Count(model, id string, n int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(model, id)
	if i < 0 {
		i, c.all = len(c.all), append(c.all, cascade{Cascade: Cascade{Model: model, ID: id}})
	}
	c.all[i].Deleted += n
	c.all[i].tried = now
}

// Keep forgets cascades not tried since the given time, unless isNamed.
func (c *cascades) Keep(since time.Time, isNamed func(model, id string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(one cascade) bool { return one.tried.Before(since) && !isNamed(one.Model, one.ID) })
}

// End records that all children are deleted.
func (c *cascades) End(model, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(model, id); i >= 0 {
		c.all = slices.Delete(c.all, i, i+1)
	}
}

func (c *cascades) index(model, id string) int {
	return slices.IndexFunc(c.all, func(one cascade) bool { return one.Model == model && one.ID == id })
}

// Now returns all cascades, sorted by model and id.
func (c *cascades) Now() (all []Cascade) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		all = append(all, one.Cascade)
	}
	slices.SortFunc(all, func(a, b Cascade) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}
