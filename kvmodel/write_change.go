package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxLost is the number of lost races after which a change is an ErrConflict.
const maxLost = 16

// change carries out e and returns the new record.
func (m *model) change(ctx context.Context, s kv.Store, e edit) (plug.Record, error) {
	if len(e.id) > plug.MaxID {
		return nil, m.failure(e.id, plug.TooLong("an id", e.id, plug.MaxID))
	}
	has := m.plugged.Load()
	c := &change{model: m, indexes: has.indexes, streaks: has.streaks, edit: e, ctx: ctx, s: s, nonce: kv.Random(), since: m.db.now()}
	v, err := c.run()
	if err != nil {
		return nil, m.failure(e.id, err)
	}
	return v, nil
}

// errUnchanged: the record is already as the edit wants it.
var errUnchanged = errors.New("unchanged")

// run makes the change, and cleans up if it did not commit.
func (c *change) run() (plug.Record, error) {
	v, err := c.tryUntilDecided()
	if err != nil {
		c.cleanUp()
	}
	switch {
	case errors.Is(err, errUnchanged):
		err = nil
	case errors.Is(err, kv.ErrUnclear) && !c.sent:
		err = c.unsent(err)
	}
	return v, err
}

// unsent returns the error of a change whose commit was not sent: the preparations are unclear, but
// not the change.
func (c *change) unsent(err error) error {
	if ended := kv.Ended(c.ctx); ended != nil {
		return fmt.Errorf("%w: %v", kv.Unavailable(ended), err)
	}
	return fmt.Errorf("%w: %v", kv.ErrUnavailable, err)
}

// tryUntilDecided retries while the change loses races.
func (c *change) tryUntilDecided() (plug.Record, error) {
	for tries := 1; ; tries++ {
		v, err := c.try(tries == 1)
		if !errors.Is(err, errLost) {
			return v, err
		}
		c.db.recent.Drop(c.key(c.id))
		c.db.lostRaces.Add(1)
		if tries == c.maxLost() || !kv.Pause(c.ctx, c.s, kv.Jitter(time.Millisecond<<min(tries, 5))) {
			return nil, fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, tries)
		}
		if c.next != nil {
			if err := c.moveOn(); err != nil {
				return nil, err
			}
		}
	}
}

// maxLost returns the number of races the change may lose. Changes that need the next number all
// compete for the same one.
func (c *change) maxLost() int {
	if c.next != nil {
		return 16 * maxLost
	}
	return maxLost
}

// moveOn cleans up the preparations for the current id and takes another one.
func (c *change) moveOn() error {
	old := *c
	old.cleanUp()
	c.nonce, c.lines, c.touched, c.added, c.dead, c.maxRev, c.unclear = kv.Random(), nil, nil, nil, nil, 0, false
	id, err := c.next(c.ctx)
	c.id = id
	return err
}

// try is one pass from A0 to the reply.
func (c *change) try(first bool) (plug.Record, error) {
	if err := c.writable(c.ctx); err != nil {
		return nil, err
	}
	c.began, c.late = c.db.now(), !c.isCurrent()
	rec, known, err := c.read(first)
	if err != nil {
		return nil, err
	}
	if c.next != nil && rec.Version != 0 {
		return nil, errLost // another record has the number
	}
	p, err := c.plan(rec)
	if known && (err != nil || p == nil) {
		// A result without a commit must not depend on an outdated copy.
		if rec, err = c.now(c.s); err != nil {
			return nil, err
		}
		p, err = c.plan(rec)
	}
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return rec.Value, errUnchanged
	}
	if c.db.atomic != nil {
		return p.value, c.short(p)
	}
	return p.value, c.long(p)
}

// isLate reports whether this try has taken so long that it must not commit.
func (c *change) isLate() bool {
	return !c.db.alone && c.db.now().Sub(c.began) > times.Change
}
