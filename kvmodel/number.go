package kvmodel

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
)

// Numbering is a row of items under the keys 1, 2, 3, ... without a counter:
// the next one is made by adding the key after the last, and whoever finds it
// taken goes one further. There is no gap, because n+1 is tried only after n
// was seen.
type Numbering struct {
	// Key returns the key of number n.
	Key func(n int64) string

	hint atomic.Int64 // a number known to exist
}

// Known tells the numbering that n exists, which shortens the next search.
func (q *Numbering) Known(n int64) {
	for {
		old := q.hint.Load()
		if n <= old || q.hint.CompareAndSwap(old, n) {
			return
		}
	}
}

// Last returns the largest number in use, 0 if there is none. It looks up from
// what it knows in doubling steps, several keys a trip, and then between the
// last found and the first missing. If what it knew is gone, since a store lost
// it or it was told too early, it begins at the first.
func (q *Numbering) Last(ctx context.Context, s Store) (int64, error) {
	hint := q.hint.Load()
	low := hint
	for step := int64(1); ; step *= 16 {
		numbers := []int64{low + step, low + 2*step, low + 4*step, low + 8*step}
		if low == hint && hint > 0 {
			numbers = append([]int64{hint}, numbers...)
		}
		found, missing, err := q.probe(ctx, s, numbers)
		if err != nil {
			return 0, err
		}
		if missing == hint && hint > 0 {
			q.hint.CompareAndSwap(hint, 0)
			return q.Last(ctx, s)
		}
		low = max(low, found)
		if missing > 0 {
			return q.between(ctx, s, low, missing)
		}
	}
}

// between returns the last number in use, which is at least low and less than
// high.
func (q *Numbering) between(ctx context.Context, s Store, low, high int64) (int64, error) {
	for high-low > 1 {
		var probes []int64
		width := max((high-low)/8, 1)
		for n := low + width; n < high; n += width {
			probes = append(probes, n)
		}
		found, missing, err := q.probe(ctx, s, probes)
		if err != nil {
			return 0, err
		}
		low = max(low, found)
		if missing > 0 {
			high = missing
		}
	}
	q.Known(low)
	return low, nil
}

// probe looks for the rising numbers in one trip. It returns the last before
// the first that is missing, and the first missing one, each 0 if there is
// none.
func (q *Numbering) probe(ctx context.Context, s Store, numbers []int64) (found, missing int64, err error) {
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = q.Key(n)
	}
	results, err := GetAll(ctx, s, keys...)
	if err != nil {
		return 0, 0, err
	}
	for i, n := range numbers {
		if results[i].Err != nil {
			return found, n, nil
		}
		found = n
	}
	return found, 0, nil
}

// Add stores value under the number after the last and returns it. Inside a
// transaction the number may still come to nothing, so it is the caller who
// tells Known of it. After an ErrUnclear it looks whether the value is there, so
// value should be one that nobody else writes.
func (q *Numbering) Add(ctx context.Context, s Store, value []byte) (int64, error) {
	n, err := q.Last(ctx, s)
	if err != nil {
		return 0, err
	}
	for {
		n++
		if err := q.add(ctx, s, n, value); !errors.Is(err, ErrExists) {
			return n, err
		}
		q.Known(n)
	}
}

// add stores value under n. Where that is unclear it looks, and while nothing
// is there it sends the same again.
func (q *Numbering) add(ctx context.Context, s Store, n int64, value []byte) error {
	var err error
	for range 3 {
		_, err = One(ctx, s, OpAdd(q.Key(n), value))
		if !errors.Is(err, ErrUnclear) {
			return err
		}
		r, look := One(ctx, s, OpGet(q.Key(n)))
		if look == nil && bytes.HasPrefix(r.Value, value) {
			return nil
		}
		if look == nil {
			return ErrExists
		}
	}
	return err
}
