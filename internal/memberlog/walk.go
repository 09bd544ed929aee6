package memberlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Stretch struct {
	Members []Member
	Last    uint64 // last hash of the segment
	Left    int    // about how many members follow

	// Missed is an ErrLost if the segment is missing, and an ErrCorrupt if it is damaged; Members
	// then has the readable ones.
	Missed error
}

// Walk calls f with the members of place's list after from, one segment at a time. head is the
// answer to a get of the head. Walk returns every member acknowledged before that get once,
// even if others change the list meanwhile.
//
// It repairs nothing. At the end it returns the first Missed, or the error of the head, or an
// ErrLost if a loss was not accepted yet.
func (l *Logs) Walk(ctx context.Context, s kv.Store, place string, head kv.Result, from Position, f func(Stretch) error) error {
	w := &walk{Logs: l, ctx: ctx, s: s, place: place, f: f, at: from.Hash, from: from}
	if err := w.use(head); err != nil {
		return err
	}
	for stalled := 0; !w.ended; stalled++ {
		before := w.at
		if err := w.some(); err != nil {
			return err
		}
		if w.at != before {
			stalled = 0
		} else if stalled == maxTries {
			return l.failure(place, kv.ErrConflict)
		}
	}
	return w.missed
}

// ErrNoHead is an ErrLost.
var ErrNoHead = fmt.Errorf("%w: the head of the list is gone", kv.ErrLost)

var errPartLost = fmt.Errorf("%w: a part of the list", kv.ErrLost)

type walk struct {
	*Logs
	ctx    context.Context
	s      kv.Store
	place  string
	f      func(Stretch) error
	from   Position
	at     uint64
	ended  bool
	head   *head
	missed error
}

// Without a head, the first segment may hold members.
func (w *walk) use(got kv.Result) (err error) {
	w.head, err = w.decodeHead(w.place, got)
	switch {
	case wire.IsCorrupt(err), errors.Is(err, ErrNoHead):
		w.head, w.missed = noHead(), wire.JoinCorrupt(w.missed, w.failure(w.place, err))
	case err != nil:
		return w.failure(w.place, err)
	case w.head.lost != 0:
		w.missed = cmp.Or(w.missed, w.failure(w.place, errPartLost))
	}
	return nil
}

func (w *walk) some() error {
	first := w.head.find(w.at)
	parts := w.head.parts[first:min(first+readAtOnce, len(w.head.parts))]
	ops := make([]kv.Op, len(parts))
	for i := range parts {
		ops[i] = kv.OpGet(w.key(w.place, parts[i].name))
	}
	if err := w.s.Do(w.ctx, ops); err != nil {
		return w.failure(w.place, err)
	}
	for i := range parts {
		st, gone := w.stretch(first+i, &ops[i])
		if gone && w.head.stored {
			replaced, err := w.isReplaced(parts[i].name)
			if err != nil || replaced {
				return err
			}
			st.Missed = w.goneError(&ops[i], &parts[i])
		}
		w.missed = wire.JoinCorrupt(w.missed, st.Missed)
		if err := w.f(st); err != nil {
			return err
		}
		w.at, w.ended = st.Last+1, st.Last == math.MaxUint64
	}
	return nil
}

func (w *walk) isReplaced(n name) (bool, error) {
	got, err := kv.One(w.ctx, w.s, kv.OpGet(w.Key(w.place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return false, w.failure(w.place, err)
	}
	if err := w.use(got); err != nil {
		return false, err
	}
	return w.head.stored && w.head.indexOf(n) < 0, nil
}

func (w *walk) goneError(op *kv.Op, p *part) error {
	about := ""
	if p.members > 0 {
		about = fmt.Sprintf(", with %d members or more", p.members)
	}
	return fmt.Errorf("%w: %s, a segment of a list, is gone%s", kv.ErrLost, op.Key, about)
}

// stretch returns the result of a get of the part at at. gone: it is absent or retired.
func (w *walk) stretch(at int, op *kv.Op) (st Stretch, gone bool) {
	p := &w.head.parts[at]
	st.Last = p.last()
	for i := at + 1; i < len(w.head.parts); i++ {
		st.Left += int(w.head.seen[i].Load())
	}
	if absent(op) {
		return st, true
	}
	g, err := parseSegment(op.Result.Value)
	if g.retired {
		return st, true
	}
	var rows []row
	if st.Missed = wire.Corrupt(op.Key, err); err != nil {
		rows = readable(op.Result.Value)
	} else {
		rows = g.newest()
		w.notice(w.place, w.head, at, &g, rows)
	}
	now := w.now()
	// a segment that replaced several may begin with members already passed on
	st.Members = slices.DeleteFunc(between(rows, w.at, p.last()), func(r row) bool {
		return !r.member(now) || w.from.Compare(r.Position()) >= 0
	})
	return st, false
}
