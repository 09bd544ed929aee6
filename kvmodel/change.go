package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A change goes through these steps; the letters are those of
// docs/write-path.md, and every trip between two of them is a place where the
// process may die.
//
//	A0 read    the record as it is
//	A1 prepare one trip: the journal line and the new entries of every index
//	A2 commit  one trip: the record; what it says is the truth from here on
//	           reply
//	A4 after   the old entries of every index go
//	A5 done    the line counts as complete
const (
	maxTries = 8  // of a step that others can disturb
	maxLost  = 16 // races of one change, before ErrConflict
	maxAge   = 10 * time.Second
)

// edit is a change that somebody wants of one record.
type edit[T any] struct {
	id string

	// fresh: the id is new or was given for a new record, so A0 is left out
	// and the record is taken for absent. peek: it is then read beside A1.
	fresh, peek bool

	// removes: the edit is a deletion, so A1 has no entries to make, and the
	// line may be written earlier, beside A0, or later, beside A2.
	removes bool

	// next returns another id for a new record whose id has turned out to be
	// taken; nil if the id is given.
	next func(ctx context.Context) (id string, err error)

	// apply returns what the record is to become: nil to delete it, old itself
	// where nothing changes. It may be called again with a newer old, which is
	// nil if the record is absent.
	apply func(old *T) (*T, error)
}

// errLost: the record has changed since the change read it.
var errLost = fmt.Errorf("lost a race: %w", kv.ErrConflict)

// change carries out e and returns what the record has become.
func (m *model[T]) change(ctx context.Context, s kv.Store, e edit[T]) (*T, error) {
	if len(e.id) > MaxID {
		return nil, m.failure(e.id, fmt.Errorf("%w: an id of %d bytes, at most %d", kv.ErrTooLarge, len(e.id), MaxID))
	}
	if err := m.writable(ctx); err != nil {
		return nil, m.failure(e.id, err)
	}
	c := &change[T]{model: m, edit: e, ctx: ctx, s: s, nonce: kv.Random(), since: m.db.now()}
	v, err := c.run()
	if err != nil {
		return nil, m.failure(e.id, err)
	}
	return v, nil
}

// change is an edit under way.
type change[T any] struct {
	*model[T]
	edit[T]
	ctx   context.Context
	s     kv.Store
	nonce uint64

	lines   []*segment         // of the journal lines written for it
	touched []envelope.Touched // the places some try has prepared
	maxRev  uint64             // of all tries: what removes their entries must stand above it
	unclear bool               // some commit was sent and not answered
	creates bool               // and that was one of a new record
	early   early              // of this try
	began   time.Time          // of this try
	since   time.Time          // of the first
	told    bool               // OnChange knows of it
}

func (c *change[T]) run() (*T, error) {
	for tries := 1; ; tries++ {
		v, err := c.try(tries == 1)
		if !errors.Is(err, errLost) {
			return v, err
		}
		c.db.hand.drop(c.key(c.id))
		c.db.lostRaces.Add(1)
		if tries == c.maxLost() || !kv.Sleep(c.ctx, kv.Jitter(time.Millisecond<<min(tries, 5))) {
			return nil, c.giveUp(fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, tries))
		}
		if c.next != nil {
			if err := c.moveOn(); err != nil {
				return nil, err
			}
		}
	}
}

// maxLost returns how many races the change may lose. Those that go for the next
// number all go for the same one.
func (c *change[T]) maxLost() int {
	if c.next != nil {
		return 16 * maxLost
	}
	return maxLost
}

// moveOn goes on with another id. What was prepared for this one is cleaned away
// in the background.
func (c *change[T]) moveOn() error {
	old := *c
	_ = old.giveUp(nil)
	c.nonce, c.lines, c.touched, c.maxRev, c.unclear = kv.Random(), nil, nil, 0, false
	id, err := c.next(c.ctx)
	c.id = id
	return err
}

// try is one pass from A0 to the reply.
func (c *change[T]) try(first bool) (*T, error) {
	c.began = c.db.now()
	rec, atHand, err := c.read(first)
	if err != nil {
		return nil, c.giveUp(err)
	}
	if c.next != nil && rec.Version != 0 {
		return nil, errLost // Somebody else has the number.
	}
	p, err := c.plan(rec)
	if atHand && (err != nil || p == nil) {
		// What ends the change without a commit must not rest on an old copy.
		if rec, err = c.seeOne(c.ctx, c.s, c.id); err != nil {
			return nil, c.giveUp(err)
		}
		p, err = c.plan(rec)
	}
	if err != nil {
		return nil, c.giveUp(err)
	}
	if p == nil {
		return rec.Value, c.giveUp(nil)
	}
	if c.db.atomic != nil {
		return p.value, c.commitAtOnce(p)
	}
	if err := c.prepare(p); err != nil {
		return nil, err
	}
	if c.db.now().Sub(c.began) > maxAge {
		return nil, errLost
	}
	return p.value, c.commit(p)
}

// read is A0. For a deletion it also writes the line, which
// cannot name the places yet: the tombstone will.
func (c *change[T]) read(first bool) (rec *plug.Seen[T], atHand bool, err error) {
	c.early = early{}
	if first && c.fresh {
		return &plug.Seen[T]{ID: c.id}, false, nil
	}
	if first {
		if results, ok := c.db.hand.take(c.key(c.id), c.db.now()); ok {
			if rec, err := c.decodeCounted(c.id, results); err == nil {
				return rec, true, nil
			}
		}
	}
	works := []func(kv.Store) error{func(s kv.Store) (err error) { rec, err = c.seeOne(c.ctx, s, c.id); return err }}
	if c.removes && c.db.atomic == nil && c.leavesTraces() {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return nil, false, err
		}
		works = append(works, func(s kv.Store) error { return c.note(s, line{model: c.name, id: c.id, rev: fenceAlways}) })
	}
	if ahead := c.readEarly(); len(ahead) > 0 {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return nil, false, err
		}
		works = append(works, ahead...)
	}
	return rec, false, firstError(kv.Together(c.ctx, c.s, works...))
}

// leavesTraces tells whether a record of the model is known anywhere but under
// its own key.
func (c *change[T]) leavesTraces() bool {
	return len(c.indexes)+len(c.counters) > 0 || c.listens()
}

// lostIfConflict returns errLost for an answer that says that the record or a
// claim has changed.
func lostIfConflict(err error) error {
	var taken *TakenError
	if errors.As(err, &taken) {
		return err
	}
	if errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrExists) || errors.Is(err, kv.ErrNotFound) {
		return errLost
	}
	return err
}
