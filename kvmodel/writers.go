package kvmodel

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// Origin is what a process says of itself in its journal: where it runs, of which release it
// is, and since when it runs.
type Origin = journal.Origin

// releaseBytes is how long the name of a release can be.
const releaseBytes = 64

// originOf returns what this process, which is of that release, says of itself.
func originOf(release string, now time.Time) (Origin, error) {
	if len(release) > releaseBytes {
		return Origin{}, fmt.Errorf("%w: the name of the release has %d bytes, and can have %d", ErrInvalid, len(release), releaseBytes)
	}
	host, _ := os.Hostname() // Without a name, the process id says something still.
	return Origin{Host: host, PID: os.Getpid(), Release: release, Since: now.Truncate(time.Second)}, nil
}

// Writer is a process that has a journal in the store: it writes, or died before it was
// done.
type Writer struct {
	Process string     // its name, made when it began to write
	Origin  Origin     // what it says of itself; zero: it is of a release that says nothing, or its head is damaged
	Own     bool       // it is this process
	Dead    bool       // it has ended: this one has the store alone, or has seen nothing be done about Lines for half a minute
	Tick    uint64     // rises every few seconds while it lives
	Lines   int        // changes that are not known to be complete
	Last    time.Time  // when the newest of these was made, by its clock; zero: they do not say
	Intents []Underway // among these
	Handles []string   // models whose changes it has handlers for
	Other   []string   // models that this process has with other indexes

	// Repaired is when another process has finished Lines, after this one had died. The
	// journal stays for an hour then. Zero: no one has, or not all of them.
	Repaired time.Time

	// Damaged is an ErrCorrupt if some of its journal cannot be read.
	Damaged error
}

// Called returns what people call the process: web-1 pid 4121 (release a3f19c2, since 3 h), or
// its name if it says nothing else.
func (w *Writer) Called(now time.Time) string { return w.Origin.Called(w.Process, now) }

// called is that of a process whose head was read.
func (db *DB) called(o journal.Other) string { return o.Origin().Called(o.Process, db.now()) }

// Writers returns the processes that have a journal, by name. A process that holds its store
// alone has none. It writes nothing.
func (db *DB) Writers(ctx context.Context) (all []Writer, err error) {
	others, err := journal.Others(ctx, db.store, func(string) bool { return false }, nil)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		w := Writer{Process: o.Process, Origin: o.Origin(), Own: db.journal.IsOwn(o.Process)}
		var shapes []string
		if w.Tick, shapes, w.Damaged = o.Head(); w.Damaged != nil && !wire.IsCorrupt(w.Damaged) {
			return nil, w.Damaged
		}
		j, err := journal.Read(ctx, db.store, o.Process)
		if err != nil {
			return nil, err
		}
		w.Lines, w.Last, w.Damaged = len(j.Lines), newest(j.Lines), wire.JoinCorrupt(w.Damaged, j.Damaged)
		// One that has nothing to do gives no sign, but may live.
		w.Dead = !w.Own && (db.held || w.Lines > 0 && db.repairer.IsDead(o.Process, w.Tick))
		if when, covered, err := journal.Repaired(ctx, db.store, o.Process); err != nil {
			return nil, err
		} else if covered == j.Bytes && covered > 0 {
			w.Repaired = when
		} else {
			w.Intents = db.intentsIn(j)
		}
		w.Handles, w.Other = db.told(shapes)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Writer) int { return strings.Compare(a.Process, b.Process) })
	return all, nil
}

// newest returns when the newest of the changes was made that lines are of.
func newest(lines []journal.Line) (last time.Time) {
	for _, l := range lines {
		at := time.Time{} // a deletion does not say
		if strings.HasPrefix(l.Model, intentLine) {
			at, _, _ = decodeIntent(l.ID)
		} else if l.Rev != journal.FenceAlways {
			at = time.UnixMilli(int64(l.Rev))
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// told returns what the shapes of a journal say: the models with handlers, and those that
// this DB has with other indexes.
func (db *DB) told(shapes []string) (handles, other []string) {
	mine := db.shapes()
	for _, shape := range shapes {
		if name, ok := strings.CutPrefix(shape, journal.Handling("")); ok {
			handles = append(handles, name)
			continue
		}
		name, _, _ := strings.Cut(shape, "=")
		if db.model(name) != nil && !slices.Contains(mine, shape) {
			other = append(other, name)
		}
	}
	return handles, other
}
