package kvmodel

import (
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// read is A0. It makes no trip for a new record, nor for one this process knows: then known is true
// and rec may be outdated.
func (c *change) read(first bool) (rec *plug.Seen, known bool, err error) {
	c.early = early{}
	if first && c.fresh {
		return &plug.Seen{ID: c.id}, false, nil
	}
	if first && !c.late {
		if rec := c.known(); rec != nil {
			return rec, true, nil
		}
	}
	works := []func(kv.Store) error{func(s kv.Store) (err error) { rec, err = c.now(s); return err }}
	if c.late {
		works = append(works, func(s kv.Store) error { return c.lookAgain(c.ctx, s) })
		c.late = false
	}
	if c.db.atomic == nil {
		beside, err := c.besideRead()
		if err != nil {
			return nil, false, err
		}
		works = append(works, beside...)
	}
	return rec, false, work.FirstError(kv.Together(c.ctx, c.s, works...)...)
}

// known returns the record from the cache, or as this process read it a moment ago. It is nil if
// there is neither, or if it cannot be read.
func (c *change) known() *plug.Seen {
	results, ok := kv.RecallEach(c.ctx, c.shown(), c.decoder, c.keys, []string{c.id})
	if !ok {
		results, ok = c.db.recent.Take(c.key(c.id), c.db.now())
	}
	if !ok {
		return nil
	}
	rec, err := c.decodeCounted(c.id, results)
	if err != nil {
		return nil
	}
	return rec
}

// now reads the record for a change. Damaged counters do not matter to it, and a deletion also
// removes unreadable records.
func (c *change) now(s kv.Store) (*plug.Seen, error) {
	rec, err := c.seeOne(c.ctx, s, c.id)
	if rec != nil && (rec.Value != nil || c.removes) {
		err = nil
	}
	return rec, err
}

// trip is a trip of a change that may carry its journal line.
type trip int

const (
	withRead    trip = iota // A0
	withPrepare             // A1
	withCommit              // A2
)

// writesLine decides which trips of the change carry its journal line. With the read, the plan and
// so the places are not known yet: that is for a deletion, whose tombstone will name them, and for
// the early preparations, which need a line before them. p is nil then. Otherwise the line goes with
// the preparations, or with the commit if there is nothing to prepare and the store keeps the order
// of the two.
func (c *change) writesLine(t trip, p *plan) bool {
	switch {
	case t == withRead:
		return c.removes && c.leavesTraces() || c.isExpected()
	case !c.needsLine(p):
		return false
	case c.removes:
		// The line of A0 does not name the places that are counted with the commit.
		return t == withCommit && (len(c.lines) == 0 || c.movesCounted(p))
	case c.db.ordered && !p.created && c.history == 0 && !p.enters():
		return t == withCommit
	}
	return t == withPrepare && !p.prepared
}

// besideRead returns the works sent along with A0: the line of a deletion, which cannot name the
// places yet (the tombstone will), or the early preparations of other changes.
func (c *change) besideRead() (works []func(kv.Store) error, err error) {
	switch {
	case !c.writesLine(withRead, nil):
		return nil, nil
	case c.removes:
		works = append(works, func(s kv.Store) error {
			return c.note(s, journal.Line{Model: c.name, ID: c.id, Rev: journal.FenceAlways})
		})
	default:
		works = c.prepareEarly()
	}
	return works, c.db.journal.Ready(c.ctx)
}

// leavesTraces reports whether records of the model leave traces outside their own key.
func (c *change) leavesTraces() bool {
	return len(c.indexes) > 0 || c.hasPlain() || c.forgets || len(c.children) > 0 || c.handlers.Any()
}
