package index

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Page returns up to n values, 1 to 1000, in the order of their numbers from cursor on, "" for the
// beginning, with the cursors of the adjacent pages. It skips values that a keep rejects; after ten
// times n it returns a short page with a Next. One trip, a few more if values are skipped, and one
// more at the end. The error may be an ErrBadCursor, or an ErrCorrupt with a page of all undamaged
// values.
func (s *Sequence[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	ctx, end := s.db.Begin(ctx, "Page")
	defer end()
	from, err := s.startOf(cursor, n)
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	return s.page(ctx, from, n, keep)
}

// LastPage returns the last n values, in the order of their numbers, with the cursor of those
// before them. It may be short like a Page, with a Prev.
func (s *Sequence[T]) LastPage(ctx context.Context, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	ctx, end := s.db.Begin(ctx, "LastPage")
	defer end()
	if _, err := s.startOf("", n); err != nil {
		return kvmodel.Listing[T]{}, err
	}
	last, err := s.Count(ctx)
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	return s.page(ctx, numberStart{last + 1, back}, n, keep)
}

type numberStart struct {
	n int64
	direction
}

func (s *Sequence[T]) cursorName() string { return "sequence " + s.name }

func (s *Sequence[T]) startOf(cursor string, n int) (numberStart, error) {
	d, b, err := parseCursor(s.cursorName(), cursor, n)
	if err != nil || b == nil {
		return numberStart{direction: d}, err
	}
	number, size := binary.Uvarint(b)
	if size <= 0 || size != len(b) || number > kv.MaxNumber {
		return numberStart{}, s.failure(kvmodel.ErrBadCursor)
	}
	return numberStart{int64(number), d}, nil
}

func (s *Sequence[T]) cursor(d direction, n int64) string {
	return encodeCursor(s.cursorName(), d, binary.AppendUvarint(nil, uint64(n)))
}

func (f numberStart) span(at int64, n int) Span {
	if f.direction == back {
		return Span{max(at-int64(n), 1), at - 1}
	}
	return Span{at + 1, at + int64(n)}
}

func (s *Sequence[T]) page(ctx context.Context, from numberStart, n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	var found []Numbered[T]
	var damaged []error
	at, ended := from.n, false
	for looked, ask := 0, n; ask > 0 && !ended; ask = plug.Ask(n, len(found), looked) {
		span := from.span(at, ask)
		if ended = span.Last < span.First; ended {
			break
		}
		values, err := s.numbered(ctx, span)
		if wire.IsCorrupt(err) {
			damaged = append(damaged, err)
		} else if err != nil {
			return kvmodel.Listing[T]{}, err
		}
		if from.direction == back {
			slices.Reverse(values)
		}
		for _, v := range values {
			if len(found) == n {
				break
			}
			at = v.N
			looked++
			if v.Value != nil && plug.Kept(v.Value, keep) {
				found = append(found, v)
			}
		}
		if ended, err = s.ends(ctx, from.direction, at, values); err != nil {
			return kvmodel.Listing[T]{}, err
		}
	}
	return s.listing(from, found, at, ended), kv.Join(damaged...)
}

func (s *Sequence[T]) ends(ctx context.Context, d direction, at int64, values []Numbered[T]) (bool, error) {
	if d == back {
		return at <= 1, nil
	}
	if !slices.ContainsFunc(values, func(v Numbered[T]) bool { return v.Value == nil }) {
		return false, nil
	}
	last, err := s.Count(ctx)
	return at >= last, err
}

func (s *Sequence[T]) listing(from numberStart, found []Numbered[T], at int64, ended bool) kvmodel.Listing[T] {
	l := kvmodel.Listing[T]{Items: make([]*T, len(found))}
	ahead, behind := "", ""
	if !ended {
		ahead = s.cursor(from.direction, at)
	}
	if first := from.n; first > 0 {
		if len(found) > 0 {
			first = found[0].N
		}
		behind = s.cursor(from.opposite(), first)
	}
	if from.direction == back {
		slices.Reverse(found)
	}
	for i, f := range found {
		l.Items[i] = f.Value
	}
	l.Next, l.Prev = from.inOrder(ahead, behind)
	return l
}
