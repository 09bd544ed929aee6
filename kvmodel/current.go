package kvmodel

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A process writes a model only while no other can take an index for whole that it does
// not know.
//
//	W1  it opens a journal under a new name, whose head names the indexes it keeps
//	W2  it takes those it does not know out of the built item, and
//	W3  waits until no reader uses them any more
//
// A build says so in the built item first, and then looks at the heads. So it finds the
// process, or is found by it. A process that has slept is taken for dead, and so looks
// at the built item once more, beside what it reads or prepares.

// goodFor is how long after such a look, or after the last tick without a gap, a change
// may still be sent. times.Change of it is for the change itself.
const goodFor = 2 * times.Change

// writable returns nil when the model may be written by the journal it has now: W1 to W3.
// On a store that one process holds alone, an index that was added since is built in the
// background from then on.
func (m *model) writable(ctx context.Context) error {
	if m.db.work.IsClosed() {
		return kv.Unavailable(errDBClosed)
	}
	if err := m.db.Writable(); err != nil {
		return err
	}
	name := built.Alone
	if !m.db.alone {
		if err := m.db.journal.Ready(ctx); err != nil {
			return err
		}
		name = m.db.journal.Process()
	}
	return m.built.Claim(ctx, name, func(missing []string) {
		if m.db.alone {
			m.buildMissing(missing)
		}
	})
}

// isCurrent reports whether a change that begins now needs no look at the built item.
func (m *model) isCurrent() bool {
	if m.db.alone {
		return true
	}
	looked, claimed := m.built.Looked(m.db.journal.Process())
	ticked, since := m.db.journal.Alive()
	recent := func(t time.Time) bool { return m.db.now().Sub(t) < goodFor-times.Change }
	return claimed && (recent(looked) || recent(ticked) && !looked.Before(since))
}

// lookAgain looks at the built item and the head of the journal, in a trip with others.
// If the process has to claim the model once more, the change has lost.
func (m *model) lookAgain(ctx context.Context, s kv.Store) error {
	process := m.db.journal.Process()
	if process == "" {
		return errLost
	}
	head, err := m.built.Check(ctx, s, journal.HeadKey(process))
	if err != nil {
		return err
	}
	if err := m.db.journal.Seen(process, head); errors.Is(err, journal.ErrNone) {
		return errLost
	} else if err != nil {
		return err
	}
	if _, claimed := m.built.Looked(process); !claimed {
		return errLost
	}
	return nil
}
