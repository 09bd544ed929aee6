package kvmodel

import (
	"context"
	"sync"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// cleanUp removes, after the reply, the preparations of a change that did not commit. That also
// decides an unclear commit.
func (c *change) cleanUp() {
	if len(c.lines)+len(c.touched) == 0 {
		return
	}
	since := c.db.now()
	repaired, doubt := false, false
	c.uncleaned.note(c.id, c.maxRev)
	c.surely(c.ctx, func(ctx context.Context) error {
		if !repaired {
			if err := c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, false); err != nil {
				c.noteAgain(ctx)
				return err
			}
			c.uncleaned.forget(c.id)
			// Preparations may have been counted if they existed for long.
			repaired, doubt = true, c.unclear || c.db.now().Sub(c.since) > times.Change/2
		}
		if err := c.undo(ctx, doubt); err != nil {
			return err
		}
		if c.unclear {
			// The change may have been made after all.
			if err := c.follow(ctx, since, c.creates); err != nil {
				return err
			}
		}
		c.complete()
		return nil
	})
}

// noteAgain writes the line of a change that was prepared although its line failed: this process may
// end before it can clean up.
func (c *change) noteAgain(ctx context.Context) {
	if !c.unnoted || len(c.touched) == 0 || len(c.lines) > maxTries {
		return
	}
	c.ctx = ctx
	// If it fails, it is tried again with the next clean-up.
	_ = c.note(c.db.store, journal.Line{Model: c.name, ID: c.id, Rev: c.maxRev, Touched: c.touched})
}

// undo takes back everything the change counted with its commits. With doubt, one of these commits
// may have been carried out.
func (c *change) undo(ctx context.Context, doubt bool) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if counts(index) && c.added != nil {
			works = append(works, func(s kv.Store) error {
				err := index.(plug.Counting).Undo(ctx, s, &c.added[i], placesOf(c.touched, index.Name()), doubt)
				return work.About(c.name, index.Name(), err)
			})
		}
	}
	return work.FirstError(kv.Together(ctx, c.db.store, works...)...)
}

// uncleaned holds, by record, the highest rev of uncommitted entries of this process that may still
// exist. The next change of the record takes a higher rev, so that its entries replace them. A
// record may be forgotten: its next change is then like one of another process, which does not know
// of them.
type uncleaned struct {
	mu   sync.Mutex // never held during a trip
	revs map[string]*uncleanedRev
}

// maxUncleaned limits the remembered records.
const maxUncleaned = 1 << 13

// uncleanedRev is the highest such rev of one record.
type uncleanedRev struct {
	rev     uint64
	changes int // changes not cleaned up yet
}

func (u *uncleaned) note(id string, rev uint64) {
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

// makeRoom forgets records if there are too many. The caller holds mu.
func (u *uncleaned) makeRoom() {
	for id := range u.revs {
		if len(u.revs) < maxUncleaned {
			return
		}
		delete(u.revs, id)
	}
}

// forget records that one change of id is cleaned up.
func (u *uncleaned) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil && r.changes > 1 {
		r.changes--
		return
	}
	delete(u.revs, id)
}

// past returns the highest rev of entries of the record id that are not cleaned up.
func (u *uncleaned) past(id string) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil {
		return r.rev
	}
	return 0
}
