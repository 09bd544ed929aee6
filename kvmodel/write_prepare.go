package kvmodel

import (
	"errors"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// long is the path of a change on a store that changes one key at a time: memcached or Redis. The
// process may die, and others may interfere, between any two of its trips.
func (c *change) long(p *plan) error {
	if err := c.prepare(p); err != nil {
		return err
	}
	if c.isLate() {
		return errLost
	}
	return c.commit(p)
}

// prepare is A1.
func (c *change) prepare(p *plan) error {
	p.prepared = c.useEarly(p)
	c.noteStreaks(p)
	if c.needsLine(p) {
		if err := c.db.journal.Ready(c.ctx); err != nil {
			return err
		}
		c.remember(p)
	}
	if c.removes {
		return nil
	}
	var works []func(kv.Store) error
	if c.writesLine(withPrepare, p) {
		works = append(works, func(s kv.Store) error { return c.note(s, c.lineOf(p)) })
	}
	works = append(works, c.each(p, plug.Index.Prepare)...)
	if p.created && p.rec.Version != 0 && c.hasPlain() {
		known, err := c.countsOfDead(p)
		if err != nil {
			return err
		}
		works = append(works, func(s kv.Store) error { return c.dropOld(s, known) })
	}
	if c.history > 0 {
		works = append(works, func(s kv.Store) error { return c.keepRevision(s, p) })
	}
	if c.late {
		works = append(works, func(s kv.Store) error { return c.lookAgain(c.ctx, s) })
	}
	if len(works) == 0 {
		return nil
	}
	var found []kv.Result
	if c.peek {
		works = append(works, func(s kv.Store) (err error) { found, err = c.peekAt(s, p); return err })
	}
	errs := kv.Together(c.ctx, c.s, works...)
	if isThere(found) {
		return c.beaten(found)
	}
	return mostTelling(errs)
}

// mostTelling returns the error of A1 for the change: a taken value takes precedence over a lost
// race.
func mostTelling(errs []error) error {
	var lost error
	for _, err := range errs {
		if err = lostIfRaced(err); errors.Is(err, errLost) {
			lost = err
		} else if err != nil {
			return err
		}
	}
	return lost
}

// peekAt reads the record along with A1, for a Create with an id that may be in use, and its
// counters.
func (c *change) peekAt(s kv.Store, p *plan) ([]kv.Result, error) {
	if !c.peek || p.rec.Version != 0 {
		return nil, nil
	}
	families := c.keys[:1]
	if c.hasPlain() && c.db.atomic == nil {
		families = c.keys
	}
	return kv.GetEach(c.ctx, s, nil, families, []string{c.id})
}

// isThere reports whether peekAt found an item.
func isThere(found []kv.Result) bool { return len(found) > 0 && found[0].Err == nil }

// beaten returns the error of a Create whose id is in use, given the stored results. A Create that
// can take another id has only lost a race.
func (c *change) beaten(found []kv.Result) error {
	if c.next != nil {
		return errLost
	}
	rec, err := c.decodeOne(c.id, found[0])
	if err != nil {
		return err
	}
	if !rec.Envelope.Live() {
		rec.Counts = found[1:]
		c.dead = rec
		return errLost
	}
	if _, err := c.apply(rec.Value); err != nil {
		return err
	}
	return kv.ErrExists
}

// remember records the preparations of p, to be cleaned up if the change does not commit.
func (c *change) remember(p *plan) {
	c.maxRev = max(c.maxRev, p.env.Rev)
	for _, t := range p.touched {
		c.touched = envelope.Merge(c.touched, t)
	}
}

// A record that is created again must not show the counters of the earlier one, so they are dropped
// before A2: in A1, by the versions read in a trip before the tombstone was last read.

// countsOfDead returns the counters as read before the last read of the tombstone that p replaces.
// It reads again if need be.
func (c *change) countsOfDead(p *plan) (known []kv.Result, err error) {
	rec := p.rec
	for range maxTries {
		if !c.anyCounted(rec.Counts) {
			return rec.Counts, nil
		}
		if c.dead != nil && c.dead.Version == rec.Version && c.sameCounts(c.dead.Counts, rec.Counts) {
			return c.dead.Counts, nil
		}
		c.dead = rec
		if rec, err = c.now(c.s); err != nil {
			return nil, err
		}
		if rec.Version != p.rec.Version {
			break
		}
	}
	return nil, errLost
}

// dropOld drops the known counters and checks that there are no others.
func (c *change) dropOld(s kv.Store, known []kv.Result) error {
	ops := c.drops(c.id, known)
	if err := s.Do(c.ctx, ops); err != nil && !errors.Is(err, kv.ErrUnclear) {
		return err
	}
	if len(remaining(ops)) > 0 {
		return errLost
	}
	return nil
}

// anyCounted reports whether results contain a plain counter.
func (m *model) anyCounted(results []kv.Result) bool {
	for i := range m.counters {
		if m.counters[i].plain != nil && results[i].Err == nil {
			return true
		}
	}
	return false
}

// sameCounts reports whether the plain counters in a and b are equal.
func (m *model) sameCounts(a, b []kv.Result) bool {
	for i := range m.counters {
		if m.counters[i].plain != nil && a[i].Version != b[i].Version {
			return false
		}
	}
	return true
}
