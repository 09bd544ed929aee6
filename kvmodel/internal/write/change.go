// Package write changes records and their indexes: change.go runs a change and plan.go computes it.
// short.go commits it on stores with transactions, long.go on stores that change one key at a time.
package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The steps are lettered as in docs/internals/write-path.md. The process may die at every trip
// between two of them.
//
//	A0 read    the current record
//	A1 prepare one trip: the journal line and the new entries of every index
//	A2 commit  one trip: the record, which is the truth from here on
//	           reply
//	A4 after   remove the old entries of every index
//	A5 done    the line counts as complete

// Edit is a requested change of one record.
type Edit struct {
	ID string

	// Fresh: the record is taken for absent without A0. Peek: it is then read along with A1.
	Fresh, Peek bool

	Made bool

	removes bool

	// touches: only the expiry changes, which counts neither as a version nor as an update.
	touches bool

	// Rest, unless nil, collects the changes of one call: planned ones, to commit together, with
	// transactions; otherwise committed ones.
	Rest *Rest

	// Only, unless nil, is asked whether to change the record as read.
	Only func(rec *plug.Seen) bool

	// next returns another id if the number is taken.
	next func(ctx context.Context) (id string, err error)

	// Apply returns the new record: nil to delete it, old itself if nothing changes. It may be
	// called again with a newer old; nil: absent.
	Apply func(old plug.Record) (plug.Record, error)
}

type change struct {
	*core.Model
	indexes []plug.Index
	streaks []*core.Streak
	Edit
	ctx   context.Context
	s     kv.Store
	nonce uint64

	lines   []*journal.Segment
	touched []envelope.Touched // by any try
	added   []plug.Added       // by index: added with the commits of all tries
	dead    *plug.Seen         // the record when last seen deleted
	maxRev  uint64             // of all tries: removing their entries requires a higher rev
	sent    bool               // a commit was sent
	unclear bool               // a commit was sent and not answered
	unnoted bool               // the last line may be missing
	creates bool               // the unclear commit is of a new record
	early   early
	late    bool      // this try must check the built item
	began   time.Time // of this try
	since   time.Time // of the first
	called  bool      // the handlers
}

type plan struct {
	rec     *plug.Seen  // as read
	value   plug.Record // nil: deleted
	env     *envelope.Envelope
	moves   []*plug.Move // by index
	touched []envelope.Touched
	created bool
	number  int64 // of the revision

	prepared bool   // A1 has nothing left to do
	chain    uint64 // of A1 and A2 in one trip; else 0

	unsettled bool      // something written with the commit has failed
	removals  []removal // of A4; nil: none begun
}

func Change(ctx context.Context, m *core.Model, s kv.Store, e Edit) (plug.Record, error) {
	if len(e.ID) > plug.MaxID {
		return nil, m.Failure(e.ID, plug.TooLong("an id", e.ID, plug.MaxID))
	}
	has := m.Plugged.Load()
	c := &change{Model: m, indexes: has.Indexes, streaks: has.Streaks, Edit: e, ctx: ctx, s: s, nonce: kv.Random(), since: m.Db.Now()}
	v, err := c.run()
	if err != nil {
		return nil, m.Failure(e.ID, err)
	}
	return v, nil
}

const maxLost = 16

var errUnchanged = errors.New("unchanged")

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

// unsent returns the error if no commit was sent: the preparations are unclear, but not the change.
func (c *change) unsent(err error) error {
	if ended := kv.Ended(c.ctx); ended != nil {
		return fmt.Errorf("%w: %v", kv.Unavailable(ended), err)
	}
	return fmt.Errorf("%w: %v", kv.ErrUnavailable, err)
}

func (c *change) tryUntilDecided() (plug.Record, error) {
	for tries := 1; ; tries++ {
		v, err := c.try(tries == 1)
		if !errors.Is(err, core.ErrRaced) {
			return v, err
		}
		c.Db.Recent.Drop(c.Key(c.ID))
		c.Db.LostRaces.Add(1)
		if tries == c.maxLost() || !kv.Pause(c.ctx, c.s, kv.Jitter(time.Millisecond<<min(tries, 5))) {
			return nil, fmt.Errorf("%w: gave up after %d tries", kv.ErrConflict, tries)
		}
		if c.next != nil {
			if err := c.moveOn(); err != nil {
				return nil, err
			}
		}
	}
}

// All changes that need the next number compete for it.
func (c *change) maxLost() int {
	if c.next != nil {
		return 16 * maxLost
	}
	return maxLost
}

func (c *change) moveOn() error {
	old := *c
	old.cleanUp()
	c.nonce, c.lines, c.touched, c.added, c.dead, c.maxRev, c.unclear = kv.Random(), nil, nil, nil, nil, 0, false
	id, err := c.next(c.ctx)
	c.ID = id
	return err
}

// try is A0 to the reply.
func (c *change) try(first bool) (plug.Record, error) {
	if err := c.Writable(c.ctx); err != nil {
		return nil, err
	}
	c.began, c.late = c.Db.Now(), !c.IsCurrent()
	rec, known, err := c.read(first)
	if err != nil {
		return nil, err
	}
	if c.next != nil && rec.Version != 0 {
		return nil, core.ErrRaced // another record has the number
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
	if c.Db.Atomic != nil {
		return p.value, c.short(p)
	}
	return p.value, c.long(p)
}

func (c *change) isLate() bool {
	return !c.Db.Alone && c.Db.Now().Sub(c.began) > times.Change
}

// read is A0.
func (c *change) read(first bool) (rec *plug.Seen, known bool, err error) {
	c.early = early{}
	if first && c.Fresh {
		return &plug.Seen{ID: c.ID}, false, nil
	}
	if first && !c.late {
		if rec := c.known(); rec != nil {
			return rec, true, nil
		}
	}
	works := []func(kv.Store) error{func(s kv.Store) (err error) { rec, err = c.now(s); return err }}
	if c.late {
		works = append(works, func(s kv.Store) error { return c.LookAgain(c.ctx, s) })
		c.late = false
	}
	if c.Db.Atomic == nil {
		beside, err := c.besideRead()
		if err != nil {
			return nil, false, err
		}
		works = append(works, beside...)
	}
	return rec, false, work.FirstError(kv.Together(c.ctx, c.s, works...)...)
}

func (c *change) known() *plug.Seen {
	results, ok := kv.RecallEach(c.ctx, c.Shown(), c.Decoder, c.Keys, []string{c.ID})
	if !ok {
		results, ok = c.Db.Recent.Take(c.Key(c.ID), c.Db.Now())
	}
	if !ok {
		return nil
	}
	rec, err := c.DecodeCounted(c.ID, results)
	if err != nil {
		return nil
	}
	return rec
}

// now reads the record for a change. Damaged counters do not matter to it, and a deletion also
// removes unreadable records.
func (c *change) now(s kv.Store) (*plug.Seen, error) {
	rec, err := c.SeeOne(c.ctx, s, c.ID)
	if rec != nil && (rec.Value != nil || c.removes) {
		err = nil
	}
	return rec, err
}

func lostIfRaced(err error) error {
	if err == nil || !kv.Raced(err) {
		return err
	}
	if _, taken := errors.AsType[*core.TakenError](err); taken {
		return err
	}
	return core.ErrRaced
}

func (c *change) each(p *plan, step func(plug.Index, context.Context, kv.Store, *plug.Move) error) []func(kv.Store) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s kv.Store) error { return step(index, c.ctx, s, mv) })
		}
	}
	return works
}

// needsLine reports whether others must be able to find the change if it stays unfinished.
func (c *change) needsLine(p *plan) bool {
	return len(p.touched) > 0 || c.Handlers.Any() || p.value == nil && (c.HasPlain() || c.Forgets || len(c.Children) > 0) || p.created && c.IsListed()
}

func (c *change) lineOf(p *plan) journal.Line {
	return journal.Line{Model: c.Name, ID: c.ID, Rev: p.env.Rev, Created: p.created, Touched: p.touched}
}

func (c *change) note(s kv.Store, l journal.Line) (err error) {
	if c.Db.Atomic == nil {
		c.lines, err = c.Db.Journal.Write(c.ctx, s, l, c.lines)
	} else {
		var seg *journal.Segment
		if seg, err = c.Db.Journal.Append(c.ctx, s, l); seg != nil {
			c.lines = append(c.lines, seg)
		}
	}
	if errors.Is(err, journal.ErrNone) {
		err = core.ErrRaced
	}
	c.unnoted = err != nil
	return err
}

func (c *change) surely(ctx context.Context, f func(context.Context) error) {
	if err := c.Db.Surely(ctx, f); err != nil {
		c.Db.Journal.GiveUp()
	}
}

func (c *change) complete() {
	for _, seg := range c.lines {
		c.Db.Journal.Done(seg)
	}
	c.lines = nil
}
