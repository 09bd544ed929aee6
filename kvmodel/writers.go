package kvmodel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// Writer is a process that has a journal in the store: it writes, or died before it was
// done.
type Writer struct {
	Process string   // its name, made when it began to write
	Own     bool     // it is this process
	Tick    uint64   // rises every few seconds while it lives
	Lines   int      // changes that are not known to be complete
	Handles []string // models whose changes it has handlers for
	Other   []string // models that this process has with other indexes

	// Repaired is when another process has finished Lines, after this one had died. The
	// journal stays for an hour then. Zero: no one has, or not all of them.
	Repaired time.Time

	// Damaged is an ErrCorrupt if some of its journal cannot be read.
	Damaged error
}

// Writers returns the processes that have a journal, by name. A process that holds its store
// alone has none. It writes nothing.
func (db *DB) Writers(ctx context.Context) (all []Writer, err error) {
	others, err := journal.Others(ctx, db.store, func(string) bool { return false }, nil)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		w := Writer{Process: o.Process, Own: db.journal.IsOwn(o.Process)}
		var shapes []string
		if w.Tick, shapes, w.Damaged = o.Head(); w.Damaged != nil && !wire.IsCorrupt(w.Damaged) {
			return nil, w.Damaged
		}
		j, err := journal.Read(ctx, db.store, o.Process)
		if err != nil {
			return nil, err
		}
		w.Lines, w.Damaged = len(j.Lines), wire.JoinCorrupt(w.Damaged, j.Damaged)
		if when, covered, err := journal.Repaired(ctx, db.store, o.Process); err != nil {
			return nil, err
		} else if covered == j.Bytes {
			w.Repaired = when
		}
		w.Handles, w.Other = db.told(shapes)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Writer) int { return strings.Compare(a.Process, b.Process) })
	return all, nil
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
