package kvmodel

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/intent"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

const releaseBytes = 64

func originOf(release string, now time.Time) (journal.Origin, error) {
	if len(release) > releaseBytes {
		return journal.Origin{}, fmt.Errorf("%w: the name of the release has %d bytes, at most %d", ErrInvalid, len(release), releaseBytes)
	}
	host, _ := os.Hostname() // without a name the process id still helps
	return journal.Origin{Host: host, PID: os.Getpid(), Release: release, Since: now.Truncate(time.Second)}, nil
}

// Writer is a process with a journal in the store: it writes, or died before it was done.
type Writer struct {
	Process string     // random name, chosen when it began to write
	Host    string     // "" and no time in Since: unknown, its head is damaged
	PID     int        // process id
	Release string     // see [Release]
	Since   time.Time  // it began to write then
	Own     bool       // this process
	Dead    bool       // it has ended: this process has the store alone, or has seen no progress on Lines for half a minute
	Tick    uint64     // rises every few seconds while it lives
	Lines   int        // changes not known to be complete
	Last    time.Time  // time of the newest of these, on its clock; zero: unknown
	Intents []Underway // the intents among these
	Handles []string   // models with handlers for changes
	Other   []string   // models that this process has with other indexes

	// Repaired is when another process finished Lines after this one died; zero: not all are.
	Repaired time.Time

	// Damaged is an ErrCorrupt if a part of its journal cannot be read.
	Damaged error
}

// Called returns the process in readable form: web-1 pid 4121 (release a3f19c2, since 3 h), or its
// name if nothing else is known.
func (w *Writer) Called(now time.Time) string {
	origin := journal.Origin{Host: w.Host, PID: w.PID, Release: w.Release, Since: w.Since}
	return origin.Called(w.Process, now)
}

// Writers returns the processes with a journal, by name, and writes nothing. A process that holds
// its store alone has none.
func (db *DB) Writers(ctx context.Context) (all []Writer, err error) {
	others, err := journal.Others(ctx, db.core.Store, func(string) bool { return false }, nil)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		w := Writer{
			Process: o.Process, Host: o.Origin.Host, PID: o.Origin.PID, Release: o.Origin.Release, Since: o.Origin.Since,
			Own: db.core.Journal.IsOwn(o.Process), Tick: o.Tick,
		}
		j, err := journal.Read(ctx, db.core.Store, o.Process)
		if err != nil {
			return nil, err
		}
		w.Lines, w.Last, w.Damaged = len(j.Lines), newest(j.Lines), wire.JoinCorrupt(o.Damaged, j.Damaged)
		// an idle process gives no sign, but may live
		w.Dead = !w.Own && (db.held || w.Lines > 0 && db.core.Repairer.IsDead(o.Process, w.Tick))
		if when, covered, err := journal.Repaired(ctx, db.core.Store, o.Process); err != nil {
			return nil, err
		} else if covered == j.Bytes && covered > 0 {
			w.Repaired = when
		} else {
			w.Intents = db.intentsIn(j)
		}
		w.Handles, w.Other = db.told(o.Shapes)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Writer) int { return strings.Compare(a.Process, b.Process) })
	return all, nil
}

func newest(lines []journal.Line) (last time.Time) {
	for _, l := range lines {
		at := time.Time{} // a deletion has no time
		if strings.HasPrefix(l.Model, intent.LineName) {
			at, _, _ = intent.Decode(l.ID)
		} else if l.Rev != journal.FenceAlways {
			at = time.UnixMilli(int64(l.Rev))
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// told returns the models with handlers in shapes, and those this DB has with other indexes.
func (db *DB) told(shapes []string) (handles, other []string) {
	mine := db.shapes()
	for _, shape := range shapes {
		if name, ok := strings.CutPrefix(shape, journal.Handling("")); ok {
			handles = append(handles, name)
			continue
		}
		name, _, _ := strings.Cut(shape, "=")
		if db.owner(name) != nil && !slices.Contains(mine, shape) {
			other = append(other, name)
		}
	}
	return handles, other
}
