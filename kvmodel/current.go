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

// A process writes a model only while no other process can mark an index as complete that it does
// not know.
//
//	W1  it opens a journal under a new name, whose head names its indexes
//	W2  it removes the indexes it does not know from the built item, and
//	W3  waits until no reader uses them any more
//
// A build writes to the built item first and then reads the heads. So either the build finds the
// process, or the process finds the build. A process that has slept counts as dead, so it checks
// the built item again along with its reads or preparations.

// goodFor is how long after such a check, or after the last tick without a gap, a change may still
// be sent. It includes times.Change for the change itself.
const goodFor = 2 * times.Change

// writable returns nil when the model may be written with the current journal: W1 to W3. On a store
// held by one process, it then builds newly added indexes in the background.
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
			m.onMissing(missing)
		}
	})
}

// isCurrent reports whether a change that begins now can skip the check of the built item.
func (m *model) isCurrent() bool {
	if m.db.alone {
		return true
	}
	looked, claimed := m.built.Looked(m.db.journal.Process())
	ticked, since := m.db.journal.Alive()
	recent := func(t time.Time) bool { return m.db.now().Sub(t) < goodFor-times.Change }
	return claimed && (recent(looked) || recent(ticked) && !looked.Before(since))
}

// lookAgain checks the built item and the journal's head in a shared trip. If the process must
// claim the model again, the change has lost.
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
