package core

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
)

// ChildrenMark is in the tombstone of a record whose children are deleted with it.
const ChildrenMark = "children"

// A tombstone names the record's places. An hour after A4, when no request can still enter
// something there, they are cleaned again and dropped from it.

const forgottenAtOnce = 500

var MaxDeletions = 4096

// deletions are the tombstones to clean a second time, oldest first.
type deletions struct {
	most int // MaxDeletions

	mu  sync.Mutex
	all []Deletion
}

type Deletion struct {
	ID   string
	seen time.Time
}

func (d *deletions) Add(id string, now time.Time) (over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, Deletion{id, now})
	return len(d.all) > d.most
}

func (d *deletions) Due(before time.Time) (some []Deletion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(some) < forgottenAtOnce && len(d.all) > 0 && (len(d.all) > d.most || d.all[0].seen.Before(before)) {
		some, d.all = append(some, d.all[0]), d.all[1:]
	}
	return some
}

func (m *Model) NoteDeleted(id string, env *envelope.Envelope) {
	if env == nil || !env.Deleted || len(env.Lost) == 0 && !m.Forgets {
		return
	}
	if m.Deletions.Add(id, m.Db.Now()) {
		m.Cleans.Set()
	}
}

// Cascade is a deletion with children left to delete.
type Cascade struct {
	Model, ID string // of the deleted record
	Deleted   int    // so far, by this process
}

type cascades struct {
	mu  sync.Mutex
	all []cascade
}

type cascade struct {
	Cascade
	tried time.Time // last
}

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

func (c *cascades) Keep(since time.Time, isNamed func(model, id string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(one cascade) bool { return one.tried.Before(since) && !isNamed(one.Model, one.ID) })
}

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

func (c *cascades) Now() (all []Cascade) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		all = append(all, one.Cascade)
	}
	slices.SortFunc(all, func(a, b Cascade) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}

// uncleaned holds, by record, the highest rev of uncommitted entries of this process. The next
// change takes a higher one, to replace them. A forgotten record is like one of another process.
type uncleaned struct {
	mu   sync.Mutex
	revs map[string]*uncleanedRev
}

const maxUncleaned = 1 << 13

type uncleanedRev struct {
	rev     uint64
	changes int // not cleaned up yet
}

func (u *uncleaned) Note(id string, rev uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.revs == nil {
		u.revs = make(map[string]*uncleanedRev)
	}
	if u.revs[id] == nil {
		u.makeRoom()
		u.revs[id] = new(uncleanedRev)
	}
	r := u.revs[id]
	r.rev, r.changes = max(r.rev, rev), r.changes+1
}

func (u *uncleaned) makeRoom() {
	for id := range u.revs {
		if len(u.revs) < maxUncleaned {
			return
		}
		delete(u.revs, id)
	}
}

func (u *uncleaned) Forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil && r.changes > 1 {
		r.changes--
		return
	}
	delete(u.revs, id)
}

func (u *uncleaned) Past(id string) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil {
		return r.rev
	}
	return 0
}
