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

// A change goes through these steps; the letters are those of
// docs/internals/write-path.md, and every trip between two of them is a place where the
// process may die.
//
//	A0 read    the record as it is
//	A1 prepare one trip: the journal line and the new entries of every index
//	A2 commit  one trip: the record; what it says is the truth from here on
//	           reply
//	A4 after   the old entries of every index go
//	A5 done    the line counts as complete
//
// Each step is a file: write_read, write_plan, write_prepare, write_commit.
// write_change runs them, write_rest does the last two for many new records together,
// write_cleanup removes what a change that did not commit
// has prepared, and write_atomic does all of it on a store with transactions.

// edit is a change to be made to one record.
type edit struct {
	id string

	// fresh: the id is new or was given for a new record, so A0 is left out
	// and the record is taken for absent. peek: it is then read beside A1.
	fresh, peek bool

	// made: the id was made for the new record.
	made bool

	// removes: the edit is a deletion, so A1 has no entries to make, and the
	// line may be written earlier, beside A0, or later, beside A2.
	removes bool

	// touches: the edit changes nothing but the record's end, which counts neither as a
	// version nor as an update.
	touches bool

	// rest collects the changes of one call for many records: with transactions the planned ones,
	// which commit together, without them the committed ones. nil: the change is made alone.
	rest *rest

	// only, if not nil, reports whether the record as it was read is to be changed.
	only func(rec *plug.Seen) bool

	// next returns another id for a new record whose id has turned out to be
	// taken; nil if the id is given.
	next func(ctx context.Context) (id string, err error)

	// apply returns what the record is to become: nil to delete it, old itself
	// where nothing changes. It may be called again with a newer old, which is
	// nil if the record is absent.
	apply func(old plug.Record) (plug.Record, error)
}

// change is an edit under way.
type change struct {
	*model
	indexes []plug.Index // of the model when the change began
	streaks []*streak
	edit
	ctx   context.Context
	s     kv.Store
	nonce uint64

	lines   []*journal.Segment // of the journal lines written for it
	touched []envelope.Touched // the places some try has prepared
	added   []plug.Added       // by index: what all tries have added beside their commits
	dead    *plug.Seen         // the record as it was last seen deleted, with its counters
	maxRev  uint64             // of all tries: what removes their entries must have a higher rev
	sent    bool               // some commit was sent
	unclear bool               // some commit was sent and not answered
	unnoted bool               // the line beside the commit may not be there
	creates bool               // and that was one of a new record
	early   early              // of this try
	late    bool               // the process has to look at the built item in this try
	began   time.Time          // of this try
	since   time.Time          // of the first
	called  bool               // the handlers were called for this change
}

// plan is what one try is to do.
type plan struct {
	rec     *plug.Seen  // as read
	value   plug.Record // what it becomes; nil: deleted
	env     *envelope.Envelope
	moves   []*plug.Move // by index; nil where nothing moves
	touched []envelope.Touched
	created bool
	number  int64 // of the revision, on a model with a history

	unsettled bool      // something beside the commit has failed
	removals  []removal // of A4, that are not done yet; nil: none were begun
}

// early is what a change has prepared beside A0.
type early struct {
	marks map[int][]byte // by number of the index
	line  bool           // its journal line is written
}

// errLost says that the record has changed since the change read it.
var errLost = fmt.Errorf("lost a race: %w", kv.ErrConflict)

// lostIfRaced returns errLost for an answer that says that the record or a claim
// has changed.
func lostIfRaced(err error) error {
	var taken *TakenError
	if errors.As(err, &taken) || !kv.Raced(err) {
		return err
	}
	return errLost
}

// each returns, for every index that p moves, the work of step.
func (c *change) each(p *plan, step func(plug.Index, context.Context, kv.Store, *plug.Move) error) []func(kv.Store) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s kv.Store) error { return step(index, c.ctx, s, mv) })
		}
	}
	return works
}

// needsLine reports whether others must be able to find the change of p if it is
// left half done.
func (c *change) needsLine(p *plan) bool {
	return len(p.touched) > 0 || c.handlers.Any() || p.value == nil && (c.hasPlain() || c.forgets || len(c.children) > 0) || p.created && c.isListed()
}

// lineOf returns the journal line of p.
func (c *change) lineOf(p *plan) journal.Line {
	return journal.Line{Model: c.name, ID: c.id, Rev: p.env.Rev, Created: p.created, Touched: p.touched}
}

// note writes a journal line of the change. If the journal is gone it opens
// another, except inside a transaction, which then starts over.
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

// surely does f after the reply until it succeeds. If there is no room for it in memory, it
// is left to repair, by the line of the change.
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
