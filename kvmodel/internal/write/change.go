// Package write changes records and their indexes.
//
// change.go runs a change and plan.go computes it. Then short.go commits it on stores with
// transactions, and long.go on stores that change one key at a time. steps.go has the steps of
// both.
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

// A change goes through these steps, lettered as in docs/internals/write-path.md. The process may
// die at every trip between two of them.
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

	// removes: the edit is a deletion.
	removes bool

	// touches: the edit changes only the record's expiry, which does not count as a version or an
	// update.
	touches bool

	// Rest collects the changes of one call: with transactions the planned ones, which commit
	// together, otherwise the committed ones. nil: alone.
	Rest *Rest

	// Only, if not nil, reports whether to change the record as read.
	Only func(rec *plug.Seen) bool

	// next returns another id for a new record whose id is already taken; nil if the id is given.
	next func(ctx context.Context) (id string, err error)

	// Apply returns the new record: nil to delete it, old itself if nothing changes. It may be
	// called again with a newer old, which is nil if the record is absent.
	Apply func(old plug.Record) (plug.Record, error)
}

// change is an edit in progress.
type change struct {
	*core.Model
	indexes []plug.Index // of the model when the change began
	streaks []*core.Streak
	Edit
	ctx   context.Context
	s     kv.Store
	nonce uint64

	lines   []*journal.Segment // segments of its journal lines
	touched []envelope.Touched // places prepared by any try
	added   []plug.Added       // by index: entries added with the commits of all tries
	dead    *plug.Seen         // the record when last seen deleted, with its counters
	maxRev  uint64             // of all tries: removing their entries requires a higher rev
	sent    bool               // a commit was sent
	unclear bool               // a commit was sent and not answered
	unnoted bool               // the last line may be missing
	creates bool               // that was the commit of a new record
	early   early              // of this try
	late    bool               // this try must check the built item
	began   time.Time          // start of this try
	since   time.Time          // start of the first
	called  bool               // the handlers were called for this change
}

// plan is the plan of one try.
type plan struct {
	rec     *plug.Seen  // as read
	value   plug.Record // the new value; nil: deleted
	env     *envelope.Envelope
	moves   []*plug.Move // by index; nil if nothing moves
	touched []envelope.Touched
	created bool
	number  int64 // of the revision, with a history

	prepared bool   // early: A1 has nothing left to prepare
	chain    uint64 // of A1 and A2 if they are one trip; otherwise 0

	unsettled bool      // something written with the commit has failed
	removals  []removal // pending removals of A4; nil: none begun
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

// maxLost is the number of lost races after which a change is an ErrConflict.
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

// unsent returns the error of a change whose commit was not sent: the preparations are unclear, but
// not the change.
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

// maxLost returns the number of races the change may lose. Changes that need the next number all
// compete for the same one.
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

// try is one pass from A0 to the reply.
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

// known returns the record from the cache, or as this process read it a moment ago.
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

// lostIfRaced returns errLost if err means that the record or a claim has changed.
func lostIfRaced(err error) error {
	var taken *core.TakenError
	if errors.As(err, &taken) || !kv.Raced(err) {
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

// needsLine reports whether others must be able to find the change of p if it stays unfinished.
func (c *change) needsLine(p *plan) bool {
	return len(p.touched) > 0 || c.Handlers.Any() || p.value == nil && (c.HasPlain() || c.Forgets || len(c.Children) > 0) || p.created && c.IsListed()
}

func (c *change) lineOf(p *plan) journal.Line {
	return journal.Line{Model: c.Name, ID: c.ID, Rev: p.env.Rev, Created: p.created, Touched: p.touched}
}

// note writes a journal line of the change.
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

// surely runs f after the reply until it succeeds.
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
