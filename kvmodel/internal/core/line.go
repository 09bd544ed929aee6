package core

import (
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func NoteOf(name string) (model string, is bool) {
	rest, is := strings.CutPrefix(name, "rank:")
	model, _, _ = strings.Cut(rest, ":")
	return model, is
}

func (db *DB) Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error) {
	if len(texts) == 0 {
		return func() {}, db.Journal.Ready(ctx)
	}
	w, err := db.WriteLine(ctx, s, journal.Line{Model: name, Touched: []envelope.Touched{{Index: name, Places: texts}}})
	return w.Done, err
}

// Written is a line of this process, perhaps in several segments.
type Written struct {
	journal  *journal.Journal
	line     journal.Line
	segments []*journal.Segment
	Unclear  bool // unknown whether it is in one of them
}

func (w *Written) Secure(ctx context.Context, db *DB) error {
	if !w.Unclear {
		return nil
	}
	again, err := db.WriteLine(ctx, db.Store, w.line)
	w.segments = append(w.segments, again.segments...)
	w.Unclear = err != nil
	return err
}

// WriteLine writes l. The caller owes the result, which is never nil, one Done, Ended or End.
func (db *DB) WriteLine(ctx context.Context, s kv.Store, l journal.Line) (w *Written, err error) {
	w = &Written{journal: db.Journal, line: l}
	w.segments, err = db.Journal.Write(ctx, s, l, nil)
	return w, err
}

func (w *Written) Done() {
	for _, seg := range w.segments {
		w.journal.Done(seg)
	}
}

func (w *Written) Ended() {
	for _, seg := range w.segments {
		w.journal.Ended(seg, w.line)
	}
}

// End writes that the work must not be repeated. After an error call it again, unless it is an
// ErrNone: another process may have done the work.
func (w *Written) End(ctx context.Context) error {
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
