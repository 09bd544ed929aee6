package kvmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Numbering is a row of items under the keys 1, 2, 3, ... without a counter:
// the next one is made by adding the key after the last, and whoever finds it
// taken goes one further. There is no gap, because n+1 is tried only after n
// was seen.
type Numbering struct {
	// Key returns the key of number n.
	Key func(n int64) string

	// Hint is the key of a number that is known to exist, for processes that
	// know of none; "" if there is no such key. With it a search goes for the
	// fewest gets, and without for the fewest trips.
	Hint string

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
// what it knows in growing steps, and then between the last found and the first
// missing. If what it knew is gone, since a store lost it or it was told too
// early, it begins at the first; but if the number under the hint's key is gone,
// the store has lost a part of the row, and the error is an ErrLost.
func (q *Numbering) Last(ctx context.Context, s kv.Store) (int64, error) {
	hint, kept := q.hint.Load(), false
	if hint == 0 && q.Hint != "" {
		var err error
		if hint, err = q.keptHint(ctx, s); err != nil {
			return 0, err
		}
		kept = hint > 0
	}
	low, begin := hint, hint
	for round := 0; ; round++ {
		numbers := q.steps(begin, round)
		if round == 0 && hint > 0 {
			numbers = append([]int64{hint}, numbers...)
		}
		found, missing, err := q.probe(ctx, s, numbers)
		switch {
		case err != nil:
			return 0, err
		case missing == hint && kept:
			return 0, fmt.Errorf("%w: %s says that number %d exists, and it does not", kv.ErrLost, q.Hint, hint)
		case missing == hint && hint > 0:
			q.hint.CompareAndSwap(hint, 0)
			return q.Last(ctx, s)
		}
		low = max(low, found)
		if missing > 0 {
			return q.between(ctx, s, begin, low, missing)
		}
	}
}

// keptHint returns the number under the hint's key, 0 if there is none.
func (q *Numbering) keptHint(ctx context.Context, s kv.Store) (int64, error) {
	r, err := kv.One(ctx, s, kv.OpGet(q.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := kv.ParseNumber(r.Value)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, q.Hint, err)
	}
	return n, nil
}

// steps returns the numbers above low to look for in one trip of the search for
// one that is missing.
func (q *Numbering) steps(low int64, round int) []int64 {
	var steps []int64
	switch {
	case q.Hint == "":
		for far := int64(1); far <= 8; far *= 2 {
			steps = append(steps, low+far<<(4*round))
		}
	case round == 0:
		steps = []int64{low + 1}
	default:
		steps = []int64{low + 1<<(20*round-10), low + 1<<(20*round)}
	}
	return steps
}

// between returns the last number in use, which is at least low and less than
// high, in a search that began at begin.
func (q *Numbering) between(ctx context.Context, s kv.Store, begin, low, high int64) (int64, error) {
	for high-low > 1 {
		found, missing, err := q.probe(ctx, s, q.cuts(begin, low, high))
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

// cuts returns the numbers between low and high to look for in one trip.
func (q *Numbering) cuts(begin, low, high int64) []int64 {
	if q.Hint != "" && high-begin <= 1<<10 {
		// Most often it is not far from where the search began.
		near := int64(math.Sqrt(float64(max(low-begin, 1)) * float64(high-begin)))
		return []int64{min(max(begin+near, low+1), high-1)}
	}
	if q.Hint != "" {
		return []int64{low + (high-low)/2}
	}
	var cuts []int64
	width := max((high-low)/8, 1)
	for n := low + width; n < high; n += width {
		cuts = append(cuts, n)
	}
	return cuts
}

// probe looks for the rising numbers in one trip. It returns the last before
// the first that is missing, and the first missing one, each 0 if there is
// none.
func (q *Numbering) probe(ctx context.Context, s kv.Store, numbers []int64) (found, missing int64, err error) {
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = q.Key(n)
	}
	results, err := kv.GetAll(ctx, s, keys...)
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
//
// With a hint's key it costs one trip where this process made the last number,
// and about as many as there are others at it at the same time where not.
func (q *Numbering) Add(ctx context.Context, s kv.Store, value []byte) (int64, error) {
	if n := q.hint.Load() + 1; q.Hint != "" && n > 1 {
		if err := q.add(ctx, s, n, value); !errors.Is(err, kv.ErrExists) {
			return n, err
		}
		q.Known(n)
	}
	n, err := q.Last(ctx, s)
	if err != nil {
		return 0, err
	}
	for {
		n++
		if err := q.add(ctx, s, n, value); !errors.Is(err, kv.ErrExists) {
			return n, err
		}
		q.Known(n)
	}
}

// hintEvery is how many numbers the hint's key may be behind, if all goes well.
const hintEvery = 16

// add stores value under n. Where that is unclear it looks, and while nothing
// is there it sends the same again.
func (q *Numbering) add(ctx context.Context, s kv.Store, n int64, value []byte) error {
	ops := []kv.Op{kv.OpAdd(q.Key(n), value)}
	if q.Hint != "" && n%hintEvery == 0 {
		// That it is written in vain, or by somebody slow over a newer one, only
		// makes a search longer.
		ops = append(ops, kv.OpSet(q.Hint, strconv.AppendInt(nil, n-1, 10)))
	}
	var err error
	for range 3 {
		// What became of each op stands in its result.
		_ = s.Do(ctx, ops)
		if err = ops[0].Err(); !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		r, look := kv.One(ctx, s, kv.OpGet(q.Key(n)))
		if look == nil && bytes.HasPrefix(r.Value, value) {
			return nil
		}
		if look == nil {
			return kv.ErrExists
		}
	}
	return err
}
