package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
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
//
// Each step is a file: write_read, write_plan, write_prepare, write_commit. write_change runs them,
// write_rest does the last two for many new records together, write_cleanup removes the
// preparations of a change that did not commit, and write_atomic does everything on a store with
// transactions.

// edit is a requested change of one record.
type edit struct {
	id string

	// fresh: the id is new or was given for a new record, so A0 is skipped and the record is taken
	// for absent. peek: the record is then read along with A1.
	fresh, peek bool

	// made: the id was generated for the new record.
	made bool

	// removes: the edit is a deletion. A1 has no entries to make, and the line may be written
	// earlier, with A0, or later, with A2.
	removes bool

	// touches: the edit changes only the record's expiry, which does not count as a version or an
	// update.
	touches bool

	// rest collects the changes of one call for many records: with transactions the planned ones,
	// which commit together, otherwise the committed ones. nil: the change is made alone.
	rest *rest

	// only, if not nil, reports whether to change the record as read.
	only func(rec *plug.Seen) bool

	// next returns another id for a new record whose id is already taken; nil if the id is given.
	next func(ctx context.Context) (id string, err error)

	// apply returns the new record: nil to delete it, old itself if nothing changes. It may be
	// called again with a newer old, which is nil if the record is absent.
	apply func(old plug.Record) (plug.Record, error)
}

// change is an edit in progress.
type change struct {
	*model
	indexes []plug.Index // of the model when the change began
	streaks []*streak
	edit
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
	unnoted bool               // the line written with the commit may be missing
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

	prepared bool // early: A1 has nothing left to prepare

	unsettled bool      // something written with the commit has failed
	removals  []removal // pending removals of A4; nil: none begun
}

// early holds the preparations a change made along with A0.
type early struct {
	marks map[int][]byte // by index position
	line  bool           // its journal line is written
}

// errLost: the record has changed since the change read it.
var errLost = fmt.Errorf("lost a race: %w", kv.ErrConflict)

// lostIfRaced returns errLost if err means that the record or a claim has changed.
func lostIfRaced(err error) error {
	var taken *TakenError
	if errors.As(err, &taken) || !kv.Raced(err) {
		return err
	}
	return errLost
}

// each returns step as a work for every index that p moves.
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
	return len(p.touched) > 0 || c.handlers.Any() || p.value == nil && (c.hasPlain() || c.forgets || len(c.children) > 0) || p.created && c.isListed()
}

func (c *change) lineOf(p *plan) journal.Line {
	return journal.Line{Model: c.name, ID: c.id, Rev: p.env.Rev, Created: p.created, Touched: p.touched}
}

// note writes a journal line of the change. If the journal is gone it opens another, except inside
// a transaction, which then starts over.
func (c *change) note(s kv.Store, l journal.Line) error {
	for range maxTries {
		seg, err := c.db.journal.Append(c.ctx, s, l)
		if seg != nil {
			c.lines = append(c.lines, seg)
		}
		if !errors.Is(err, journal.ErrNone) {
			return err
		}
		if c.db.atomic != nil {
			break
		}
		if err := c.db.journal.Ready(c.ctx); err != nil {
			return err
		}
	}
	return errLost
}

// surely runs f after the reply until it succeeds. If memory has no room for it, repair finishes
// the work through the line of the change.
func (c *change) surely(ctx context.Context, f func(context.Context) error) {
	if err := c.db.Surely(ctx, f); err != nil {
		c.db.journal.GiveUp()
	}
}

// complete is A5.
func (c *change) complete() {
	for _, seg := range c.lines {
		c.db.journal.Done(seg)
	}
	c.lines = nil
}
