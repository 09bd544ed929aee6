package kvmodel

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// notes are lines about changes that an index makes by itself, not as part of a
// change of a record. To repair, they look like those of a model.
type notes struct {
	finish func(ctx context.Context, s kv.Store, texts []string) error
}

var _ dataClass = notes{}

// isNote reports whether m is no model.
func isNote(m dataClass) bool {
	switch m.(type) {
	case notes, intents:
		return true
	}
	return false
}

// Finishes makes repair call finish with the texts of each note under name that a
// dead process has left. It is for the index classes of this module, which call it
// once, at start-up.
func (db *DB) Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error) {
	db.setModel(name, notes{finish})
}

// Note writes texts to the journal, for another process to finish what this one is
// about to do. After done, which is never nil, nothing is left to finish. Without texts
// it only makes sure that there is a journal.
func (db *DB) Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error) {
	if len(texts) == 0 {
		return func() {}, db.journal.Ready(ctx)
	}
	return db.writeLine(ctx, s, journal.Line{Model: name, Note: true, Touched: []envelope.Touched{{Index: name, Places: texts}}})
}

// writeLine writes l to the journal. After done, which is never nil, it is complete.
func (db *DB) writeLine(ctx context.Context, s kv.Store, l journal.Line) (done func(), err error) {
	var lines []*journal.Segment
	done = func() {
		for _, seg := range lines {
			db.journal.Done(seg)
		}
	}
	for range maxTries {
		if err := db.journal.Ready(ctx); err != nil {
			return done, err
		}
		seg, err := db.journal.Append(ctx, s, l)
		if seg != nil {
			lines = append(lines, seg)
		}
		if !errors.Is(err, journal.ErrNone) {
			return done, err
		}
	}
	return done, journal.ErrNone
}

// RepairLine finishes what l is about.
func (n notes) RepairLine(ctx context.Context, s kv.Store, l journal.Line) error {
	for _, t := range l.Touched {
		if err := n.finish(ctx, s, t.Places); err != nil {
			return err
		}
	}
	return nil
}

// Lacked returns none: notes are of no index.
func (notes) Lacked(context.Context) ([]string, error) { return nil, nil }

// Handles is false: nobody handles notes.
func (notes) Handles() bool { return false }

// Changed does nothing.
func (notes) Changed(context.Context, time.Duration, string, bool) error { return nil }

// Resume does nothing: a note says what an index has begun, which RepairLine finishes.
func (notes) Resume(context.Context, journal.Line) error { return nil }

// DeleteChildren does nothing: a note has none.
func (notes) DeleteChildren(context.Context, string) error { return nil }

// deleteOrphans does nothing: notes are in no list.
func (notes) deleteOrphans(context.Context, string, orphans) error { return nil }

func (notes) archive(context.Context, []string) error { return nil }
func (notes) beginBuild(context.Context) error        { return nil }
func (notes) distrust(context.Context) error          { return nil }
func (notes) forgetDue(context.Context) error         { return nil }

// accept does nothing: a note that is lost cannot be made again.
func (notes) accept(context.Context) error { return nil }

// met does nothing: a note has no shape.
func (notes) met(context.Context, string, string) error { return nil }

// definitions returns none: nothing is built of notes.
func (notes) definitions() []string { return nil }

func (notes) unbuiltIndexes() []string { return nil }
