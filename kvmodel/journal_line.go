package kvmodel

import (
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// noteOf returns the model if name names the notes of one of its boards.
func noteOf(name string) (model string, is bool) {
	rest, is := strings.CutPrefix(name, "rank:")
	model, _, _ = strings.Cut(rest, ":")
	return model, is
}

// Note writes texts to the journal, so that another process can finish what this one is about to
// do: see plug.DB.
func (db *base) Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error) {
	if len(texts) == 0 {
		return func() {}, db.journal.Ready(ctx)
	}
	w, err := db.writeLine(ctx, s, journal.Line{Model: name, Touched: []envelope.Touched{{Index: name, Places: texts}}})
	return w.done, err
}

// written is a line of this process, perhaps in several segments.
type written struct {
	journal  *journal.Journal
	line     journal.Line
	segments []*journal.Segment
	unclear  bool // unknown whether it is in one of them
}

// secure writes the line again if it is unclear whether it was written.
func (w *written) secure(ctx context.Context, db *base) error {
	if !w.unclear {
		return nil
	}
	again, err := db.writeLine(ctx, db.store, w.line)
	w.segments = append(w.segments, again.segments...)
	w.unclear = err != nil
	return err
}

// writeLine writes l to the journal. The caller must call done, ended or end once on the result,
// which is never nil.
func (db *base) writeLine(ctx context.Context, s kv.Store, l journal.Line) (*written, error) {
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

// done marks the line as complete: nothing is left to do for it.
func (w *written) done() {
	for _, seg := range w.segments {
		w.journal.Done(seg)
	}
}

// ended is done for work that should not be repeated, though it may be.
func (w *written) ended() {
	for _, seg := range w.segments {
		w.journal.Ended(seg, w.line)
	}
}

// end is done for work that must not be repeated: it writes the end to the journal. After an error
// call it again, unless it is an ErrNone: another process may have done the work.
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
