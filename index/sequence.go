package index

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Sequence is a row of values that are numbered 1, 2, 3, ... without a counter:
// the next number is whoever's that adds it first. There is no gap and no number
// twice. A value does not change once it is added; where the values are records,
// they may, and those that are deleted leave their numbers empty.
type Sequence[T any] struct {
	name string
	last func(ctx context.Context) (int64, error)
	load func(ctx context.Context, first, last int64) ([]*T, error) // nil where there is none
	add  func(ctx context.Context, v *T) (int64, error)

	accept func(ctx context.Context) error
}

var (
	elementKey  = kv.NewClass("q", 2)  // name, number
	elementHint = kv.NewClass("qh", 1) // name
)

// NewSequence returns the sequence of that name in db, whose values codec turns
// into bytes.
func NewSequence[T any](db *kvmodel.DB, name string, codec kvmodel.Codec[T]) *Sequence[T] {
	e := &elements[T]{db: db, name: name, codec: codec, turn: make(chan struct{}, 1)}
	e.numbers = &numbering.Row{
		Key:  func(n int64) string { return elementKey.Key(name, strconv.FormatInt(n, 10)) },
		Hint: elementHint.Key(name),
	}
	last := func(ctx context.Context) (int64, error) { return e.numbers.Last(ctx, db.Store()) }
	return &Sequence[T]{name: name, last: last, load: e.load, add: e.add, accept: e.accept}
}

// SequenceOf returns the records, whose ids are given in order, as a sequence.
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
	return &Sequence[T]{name: records.ModelName(), last: records.Last, load: load, add: add, accept: records.AcceptLoss}
}

// elements are the values of a sequence that are no records: each is stored with
// a random number, by which its adder knows it again.
type elements[T any] struct {
	db      *kvmodel.DB
	name    string
	codec   kvmodel.Codec[T]
	numbers *numbering.Row
	turn    chan struct{} // holds a token while somebody of this process adds
}

const nonceBytes = 8

func (e *elements[T]) add(ctx context.Context, v *T) (int64, error) {
	var nonce [nonceBytes]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(nonce[:])
	value, err := e.codec.Append(nonce[:], v)
	if err != nil {
		return 0, err
	}
	// Side by side, all adders of a process but one would be in vain.
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", kv.ErrUnavailable, ctx.Err())
	}
	n, err := e.numbers.Add(ctx, e.db.Store(), value)
	if err != nil {
		return 0, err
	}
	e.numbers.Known(n)
	return n, nil
}

func (e *elements[T]) load(ctx context.Context, first, last int64) ([]*T, error) {
	var keys []string
	for n := first; n <= last; n++ {
		keys = append(keys, e.numbers.Key(n))
	}
	results, err := kv.GetAll(ctx, e.db.Store(), keys...)
	if err != nil {
		return nil, err
	}
	values := make([]*T, len(results))
	for i, r := range results {
		if r.Err == nil {
			if values[i], err = e.decode(r.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", keys[i], err)
			}
		}
	}
	return values, nil
}

func (e *elements[T]) decode(value []byte) (*T, error) {
	if len(value) < nonceBytes {
		return nil, fmt.Errorf("%w: a value of %d bytes", kvmodel.ErrCorrupt, len(value))
	}
	v := new(T)
	_, err := e.codec.Unmarshal(value[nonceBytes:], v)
	return v, err
}

func (e *elements[T]) accept(ctx context.Context) error {
	_, err := kv.One(ctx, e.db.Store(), kv.OpDelete(e.numbers.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

func (s *Sequence[T]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sequence %s: %w", s.name, err)
}

// Add stores v under the next number and returns that. One trip while nobody else
// adds.
func (s *Sequence[T]) Add(ctx context.Context, v *T) (int64, error) {
	n, err := s.add(ctx, v)
	return n, s.failure(err)
}

// Count returns the last number, which is how many values were added; 0 if none
// was. It takes one trip where this process added it, and at most 25 gets among
// a million.
func (s *Sequence[T]) Count(ctx context.Context) (int64, error) {
	n, err := s.last(ctx)
	return n, s.failure(err)
}

// Get returns the value with number n, or ErrNotFound. One trip.
func (s *Sequence[T]) Get(ctx context.Context, n int64) (*T, error) {
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

// Range returns the values with the numbers from first to last, 100 a trip,
// without those that are not there. After an error it ends.
func (s *Sequence[T]) Range(ctx context.Context, first, last int64) iter.Seq2[Numbered[T], error] {
	return func(yield func(Numbered[T], error) bool) {
		for first = max(first, 1); first <= last; first += loadAtOnce {
			values, err := s.load(ctx, first, min(last, first+loadAtOnce-1))
			if err != nil {
				yield(Numbered[T]{}, s.failure(err))
				return
			}
			for i, v := range values {
				if v != nil && !yield(Numbered[T]{first + int64(i), v}, nil) {
					return
				}
			}
		}
	}
}

// Span is the numbers from First to Last.
type Span struct{ First, Last int64 }

// Split divides the numbers in use into n spans of about the same length, fewer
// if there are fewer numbers: one for each of so many workers, which take Range
// of theirs. A worker that is stopped goes on by a Range from where it was.
func (s *Sequence[T]) Split(ctx context.Context, n int) ([]Span, error) {
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

// Page returns up to n values in the order of their numbers, from the place that
// cursor stands for, "" for the beginning, with the cursors of the pages around
// it. keep leaves out values; the page is filled up with others in up to four
// more trips. n is from 1 to 1000. One trip, and one more at the end. ErrBadCursor.
func (s *Sequence[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	from, err := s.numberOf(cursor, n)
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	return s.page(ctx, from, n, keep)
}

// Latest returns the last n values, in the order of their numbers, with the
// cursor of those before them.
func (s *Sequence[T]) Latest(ctx context.Context, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	if _, err := s.numberOf("", n); err != nil {
		return kvmodel.Listing[T]{}, err
	}
	last, err := s.Count(ctx)
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	return s.page(ctx, numberStart{last + 1, true}, n, keep)
}

// numberStart is where a page of a sequence begins: before or after a number,
// which is not on it.
type numberStart struct {
	n    int64
	back bool
}

func (s *Sequence[T]) numberOf(cursor string, n int) (numberStart, error) {
	if n < 1 || n > maxPage {
		return numberStart{}, s.failure(fmt.Errorf("%w: a page of %d, not of 1 to %d", kv.ErrBadOp, n, maxPage))
	}
	if cursor == "" {
		return numberStart{}, nil
	}
	place, err := kvmodel.ParseCursor("sequence "+s.name, cursor)
	if err != nil {
		return numberStart{}, err
	}
	if len(place) < 2 || place[0] != onward && place[0] != back {
		return numberStart{}, s.failure(kvmodel.ErrBadCursor)
	}
	number, size := binary.Uvarint(place[1:])
	if size != len(place)-1 || number > kv.MaxNumber {
		return numberStart{}, s.failure(kvmodel.ErrBadCursor)
	}
	return numberStart{int64(number), place[0] == back}, nil
}

func (s *Sequence[T]) cursor(direction byte, n int64) string {
	return kvmodel.Cursor("sequence "+s.name, binary.AppendUvarint([]byte{direction}, uint64(n)))
}

// page fills a page with values on one side of a number.
func (s *Sequence[T]) page(ctx context.Context, from numberStart, n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	var found []Numbered[T]
	at, ends := from.n, false
	for batch := 0; batch < maxBatches && len(found) < n && !ends; batch++ {
		first, last := at+1, at+int64(n)
		if from.back {
			first, last = max(at-int64(n), 1), at-1
		}
		if ends = last < first; ends {
			break
		}
		values, err := s.load(ctx, first, last)
		if err != nil {
			return kvmodel.Listing[T]{}, s.failure(err)
		}
		if from.back {
			slices.Reverse(values)
		}
		for i, v := range values {
			number := first + int64(i)
			if from.back {
				number = last - int64(i)
			}
			if len(found) < n {
				at = number
				if v != nil && kept(v, keep) {
					found = append(found, Numbered[T]{number, v})
				}
			}
		}
		if ends, err = s.ends(ctx, from.back, at, values); err != nil {
			return kvmodel.Listing[T]{}, err
		}
	}
	return s.listing(from, found, at, ends), nil
}

// ends tells whether nothing comes after the number at, by the values of a page
// that were read up to there. Where some are missing, it takes a look at the end.
func (s *Sequence[T]) ends(ctx context.Context, back bool, at int64, values []*T) (bool, error) {
	if back {
		return at <= 1, nil
	}
	if !slices.Contains(values, nil) {
		return false, nil
	}
	last, err := s.Count(ctx)
	return at >= last, err
}

func kept[T any](v *T, keep []func(*T) bool) bool {
	for _, keep := range keep {
		if !keep(v) {
			return false
		}
	}
	return true
}

func (s *Sequence[T]) listing(from numberStart, found []Numbered[T], at int64, ends bool) kvmodel.Listing[T] {
	var l kvmodel.Listing[T]
	ahead, behind := "", ""
	if !ends {
		ahead = s.cursor(directionOf(from.back), at)
	}
	if first := from.n; first > 0 {
		if len(found) > 0 {
			first = found[0].N
		}
		behind = s.cursor(directionOf(!from.back), first)
	}
	if from.back {
		slices.Reverse(found)
		ahead, behind = behind, ahead
	}
	for _, f := range found {
		l.Items = append(l.Items, f.Value)
	}
	l.Next, l.Prev = ahead, behind
	return l
}

// Accept takes the numbers that are there for all there ever were, after the
// store has lost the last of them: until then Add and Count are an ErrLost.
func (s *Sequence[T]) Accept(ctx context.Context) error { return s.failure(s.accept(ctx)) }
