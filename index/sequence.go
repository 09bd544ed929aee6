package index

import (
	"context"
	"fmt"
	"iter"
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
