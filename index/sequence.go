package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Sequence is the records of a model numbered 1, 2, 3, ... without a counter: a number belongs to
// the first change that adds it. There are no gaps, and no number is assigned twice. A deleted
// record leaves its number empty. So does a process that was repaired as dead: if it wakes, its
// change takes the next number.
type Sequence[T any] struct {
	db   plug.DB
	name string
	last func(ctx context.Context) (int64, error)
	load func(ctx context.Context, first, last int64) ([]*T, error) // nil for missing ones
	add  func(ctx context.Context, v *T) (int64, error)
}

// SequenceOf returns the records of a model with id,seq as a sequence.
func SequenceOf[T any, K comparable](records *kvmodel.Records[T, K]) *Sequence[T] {
	load := func(ctx context.Context, first, last int64) ([]*T, error) {
		var ids []K
		for n := first; n <= last; n++ {
			ids = append(ids, records.IDs().Number(n))
		}
		return records.GetMulti(ctx, ids)
	}
	add := func(ctx context.Context, v *T) (int64, error) {
		if err := records.Create(ctx, v); err != nil {
			return 0, err
		}
		return strconv.ParseInt(records.IDs().Text(records.ID(v)), 10, 64)
	}
	return &Sequence[T]{db: records.DB().Named(records.ModelName(), ""), name: records.ModelName(), last: records.Last, load: load, add: add}
}

func (s *Sequence[T]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sequence %s: %w", s.name, err)
}

// Add stores v under the next number, which it returns. One trip while nobody else adds.
func (s *Sequence[T]) Add(ctx context.Context, v *T) (int64, error) {
	ctx, end := s.db.Begin(ctx, "Add")
	defer end()
	n, err := s.add(ctx, v)
	return n, s.failure(err)
}

// Count returns the last number, 0 if nothing was added. It includes empty numbers. It takes one
// trip if this process added the last value, and at most 25 gets among a million values. If the
// store has lost some, Add and Count may return ErrLost until [kvmodel.Records.AcceptLoss].
func (s *Sequence[T]) Count(ctx context.Context) (int64, error) {
	ctx, end := s.db.Begin(ctx, "Count")
	defer end()
	n, err := s.last(ctx)
	return n, s.failure(err)
}

// Get returns the value with number n, or ErrNotFound. One trip.
func (s *Sequence[T]) Get(ctx context.Context, n int64) (*T, error) {
	ctx, end := s.db.Begin(ctx, "Get")
	defer end()
	if n < 1 {
		return nil, s.failure(fmt.Errorf("%w: number %d", kv.ErrNotFound, n))
	}
	values, err := s.load(ctx, n, n)
	if err == nil && values[0] == nil {
		err = fmt.Errorf("%w: number %d", kv.ErrNotFound, n)
	}
	if err != nil {
		return nil, s.failure(err)
	}
	return values[0], nil
}

// Numbered is a value of a sequence with its number.
type Numbered[T any] struct {
	N     int64
	Value *T
}

// Range returns the values with the numbers from first to last, 100 per trip, skipping empty
// numbers. It ends after an error, but reports damaged values only at the end.
func (s *Sequence[T]) Range(ctx context.Context, first, last int64) iter.Seq2[Numbered[T], error] {
	return func(yield func(Numbered[T], error) bool) {
		ctx, end := s.db.Begin(ctx, "Range")
		defer end()
		var damaged []error
		for first = max(first, 1); first <= last; first += loadAtOnce {
			values, err := s.numbered(ctx, Span{first, min(last, first+loadAtOnce-1)})
			if wire.IsCorrupt(err) {
				damaged = append(damaged, err)
			} else if err != nil {
				yield(Numbered[T]{}, err)
				return
			}
			for _, v := range values {
				if v.Value != nil && !yield(v, nil) {
					return
				}
			}
		}
		if err := kv.Join(damaged...); err != nil {
			yield(Numbered[T]{}, err)
		}
	}
}

// numbered returns the values of span, nil for empty numbers. An ErrCorrupt comes with the
// undamaged ones.
func (s *Sequence[T]) numbered(ctx context.Context, span Span) ([]Numbered[T], error) {
	values, err := s.load(ctx, span.First, span.Last)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, s.failure(err)
	}
	all := make([]Numbered[T], len(values))
	for i, v := range values {
		all[i] = Numbered[T]{span.First + int64(i), v}
	}
	return all, s.failure(err)
}

// Span is the numbers from First to Last.
type Span struct{ First, Last int64 }

// Split divides the numbers in use into at most n spans of about the same length, for workers that
// each take the Range of one.
func (s *Sequence[T]) Split(ctx context.Context, n int) ([]Span, error) {
	ctx, end := s.db.Begin(ctx, "Split")
	defer end()
	if n < 1 {
		return nil, s.failure(fmt.Errorf("%w: %d spans", kv.ErrBadOp, n))
	}
	last, err := s.Count(ctx)
	if err != nil {
		return nil, err
	}
	var spans []Span
	for i := range int64(n) {
		span := Span{last*i/int64(n) + 1, last * (i + 1) / int64(n)}
		if span.First <= span.Last {
			spans = append(spans, span)
		}
	}
	return spans, nil
}

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
