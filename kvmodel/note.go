package kvmodel

import (
	"context"
	"errors"
	"strings"
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

// noteOf reports whether name is that of the notes of a board of a model, and of which.
func noteOf(name string) (model string, is bool) {
	rest, is := strings.CutPrefix(name, "rank:")
	model, _, _ = strings.Cut(rest, ":")
	return model, is
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
	w, err := db.writeLine(ctx, s, journal.Line{Model: name, Touched: []envelope.Touched{{Index: name, Places: texts}}})
	return w.done, err
}

// written is a line of this process, which may be in several segments.
type written struct {
	journal  *journal.Journal
	line     journal.Line
	segments []*journal.Segment
	unclear  bool // whether it is in one of them
}

// secure writes the line once more if it is unclear whether it was written.
func (w *written) secure(ctx context.Context, db *DB) error {
	if !w.unclear {
		return nil
	}
	again, err := db.writeLine(ctx, db.store, w.line)
	w.segments = append(w.segments, again.segments...)
	w.unclear = err != nil
	return err
}

// writeLine writes l to the journal. Its writer owes what it returns, which is never nil, one
// call of done, ended or end.
func (db *DB) writeLine(ctx context.Context, s kv.Store, l journal.Line) (*written, error) {
	w := &written{journal: db.journal, line: l}
	for range maxTries {
		if err := db.journal.Ready(ctx); err != nil {
			return w, err
		}
		seg, err := db.journal.Append(ctx, s, l)
		if seg != nil {
			w.segments = append(w.segments, seg)
		}
		if !errors.Is(err, journal.ErrNone) {
			return w, err
		}
	}
	return w, journal.ErrNone
}

// done says that the line is complete: nothing of it is left to do.
func (w *written) done() {
	for _, seg := range w.segments {
		w.journal.Done(seg)
	}
}

// ended is done for what might be done twice, but should not.
func (w *written) ended() {
	for _, seg := range w.segments {
		w.journal.Ended(seg, w.line)
	}
}

// end is done for what must not be done again: it is written down. After an error call it once
// more, unless it is an ErrNone: another process may have done it.
func (w *written) end(ctx context.Context) error {
	var gone error
	for len(w.segments) > 0 {
		err := w.journal.End(ctx, w.segments[0], w.line)
		if errors.Is(err, journal.ErrNone) {
			gone = err
		} else if err != nil {
			return err
		}
		w.segments = w.segments[1:]
	}
	return gone
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
func (notes) Resume(context.Context, journal.Line) (bool, error) { return false, nil }

// DeleteChildren does nothing: a note has none.
func (notes) DeleteChildren(context.Context, string) error { return nil }

// deleteOrphans does nothing: notes are in no list.
func (notes) deleteOrphans(context.Context, string, orphans) error { return nil }

// forgetOrphans does nothing: notes are in no list.
func (notes) forgetOrphans(context.Context, string, string) error { return nil }

func (notes) archive(context.Context, []string) error { return nil }
func (notes) beginBuild(context.Context) error        { return nil }
func (notes) distrust(context.Context) error          { return nil }
func (notes) forgetDue(context.Context) error         { return nil }

// accept does nothing: a note that is lost cannot be made again.
func (notes) accept(context.Context) error { return nil }

// definitions returns none: nothing is built of notes.
func (notes) definitions() []string { return nil }

func (notes) unbuiltIndexes() []string { return nil }
