// Package numbering numbers items without a counter.
package numbering

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Row is a row of items under the keys 1, 2, 3, ... without a counter: the next item is created by
// adding the first free key after the last. There are no gaps, because n+1 is tried only after n
// was seen.
type Row struct {
	Key func(n int64) string

	// Hint is the key of a number known to exist, for new processes.
	Hint string

	hint atomic.Int64 // known to exist
}

// Known records that n exists, to shorten the next search.
func (r *Row) Known(n int64) {
	for {
		old := r.hint.Load()
		if n <= old || r.hint.CompareAndSwap(old, n) {
			return
		}
	}
}

// LastKnown returns the largest number known to this process, or 0.
func (r *Row) LastKnown() int64 { return r.hint.Load() }

// Last returns the largest number in use, 0 if none. It searches upward from the known number in
// growing steps, then by bisection. If the known number is missing, it starts over at 1; if the
// stored hint's number is missing, it returns an ErrLost.
func (r *Row) Last(ctx context.Context, s kv.Store) (int64, error) {
	hint, kept := r.hint.Load(), false
	if hint == 0 {
		var err error
		if hint, err = r.keptHint(ctx, s); err != nil {
			return 0, err
		}
		kept = hint > 0
	}
	low, begin := hint, hint
	for round := 0; ; round++ {
		numbers := r.steps(begin, round)
		if round == 0 && hint > 0 {
			numbers = append([]int64{hint}, numbers...)
		}
		found, missing, err := r.probe(ctx, s, numbers)
		switch {
		case err != nil:
			return 0, err
		case missing == hint && kept:
			return 0, fmt.Errorf("%w: %s says that number %d exists, and it does not", kv.ErrLost, r.Hint, hint)
		case missing == hint && hint > 0:
			r.hint.CompareAndSwap(hint, 0)
			return r.Last(ctx, s)
		}
		low = max(low, found)
		if missing > 0 {
			return r.between(ctx, s, begin, low, missing)
		}
	}
}

// keptHint returns the stored hint. It only shortens the search, so a damaged one is 0.
func (r *Row) keptHint(ctx context.Context, s kv.Store) (int64, error) {
	got, err := kv.One(ctx, s, kv.OpGet(r.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := kv.ParseNumber(got.Value)
	if err != nil {
		return 0, nil
	}
	return n, nil
}

func (r *Row) steps(low int64, round int) []int64 {
	if round == 0 {
		return []int64{low + 1}
	}
	return []int64{low + 1<<(20*round-10), low + 1<<(20*round)}
}

func (r *Row) between(ctx context.Context, s kv.Store, begin, low, high int64) (int64, error) {
	for high-low > 1 {
		found, missing, err := r.probe(ctx, s, []int64{r.cut(begin, low, high)})
		if err != nil {
			return 0, err
		}
		low = max(low, found)
		if missing > 0 {
			high = missing
		}
	}
	r.Known(low)
	return low, nil
}

func (r *Row) cut(begin, low, high int64) int64 {
	if high-begin <= 1<<10 {
		// usually it is near the start of the search
		near := int64(math.Sqrt(float64(max(low-begin, 1)) * float64(high-begin)))
		return min(max(begin+near, low+1), high-1)
	}
	return low + (high-low)/2
}

// probe looks for increasing numbers in one trip. It returns the last before the first missing one,
// and that one, each 0 if none.
func (r *Row) probe(ctx context.Context, s kv.Store, numbers []int64) (found, missing int64, err error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(numbers, r.Key)...)
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

const hintEvery = 16

// Remind returns the op that stores the existing n as the hint, and whether it is due. A redundant
// or late op only makes a search longer.
func (r *Row) Remind(n int64) (op kv.Op, due bool) {
	return kv.OpSet(r.Hint, strconv.AppendInt(nil, n, 10)), n%hintEvery == 0
}

// If a store has lost a part of a row, Last may end at any gap.

const (
	reach    = 64 // consecutive numbers looked for above one
	nearest  = 2 * reach
	farthest = 1 << 20
	farReach = 8 // consecutive numbers looked for at nearest, twice nearest, ... and farthest
)

// Left returns the largest remaining number beyond the gaps, 0 if none. Above each number found, it
// looks in one trip for the next 64, and for eight each from 128, 256, ... to 2^20 further on,
// until none exists.
func (r *Row) Left(ctx context.Context, s kv.Store) (int64, error) {
	last, err := r.Last(ctx, s)
	if err != nil {
		return 0, err
	}
	return r.leftAbove(ctx, s, last)
}

func (r *Row) leftAbove(ctx context.Context, s kv.Store, last int64) (int64, error) {
	for {
		above, err := r.above(ctx, s, last)
		if err != nil {
			return 0, err
		}
		if above == 0 {
			r.Known(last)
			return last, nil
		}
		last = above
	}
}

func (r *Row) above(ctx context.Context, s kv.Store, n int64) (int64, error) {
	numbers := consecutive(n+1, reach)
	for far := int64(nearest); far <= farthest; far *= 2 {
		numbers = append(numbers, consecutive(n+far, farReach)...)
	}
	results, err := kv.GetAll(ctx, s, kv.Texts(numbers, r.Key)...)
	if err != nil {
		return 0, err
	}
	for i, result := range slices.Backward(results) {
		if result.Err == nil {
			return numbers[i], nil
		}
	}
	return 0, nil
}

func consecutive(first int64, n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = first + int64(i)
	}
	return all
}

// Accept acknowledges the loss of missing numbers. It returns the last assigned number, as far as
// the remaining ones show it: the result of Left, or the number hinted at or known, if one exists
// at most 64 before it or, as Left looks, after it. If that number is missing, Accept adds it with
// the value nothing, so that no lost number is assigned again.
func (r *Row) Accept(ctx context.Context, s kv.Store, nothing []byte) (int64, error) {
	named, err := r.keptHint(ctx, s)
	if err != nil {
		return 0, err
	}
	named = max(named, r.hint.Swap(0))
	if _, err := kv.One(ctx, s, kv.OpDelete(r.Hint)); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return 0, err
	}
	last, err := r.Left(ctx, s)
	if err == nil && named > last {
		last, err = r.near(ctx, s, last, named)
	}
	if err != nil || last == 0 {
		return 0, err
	}
	ops := []kv.Op{kv.OpAdd(r.Key(last), nothing), kv.OpSet(r.Hint, strconv.AppendInt(nil, last, 10))}
	_ = s.Do(ctx, ops)
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return 0, err
		}
	}
	r.Known(last)
	return last, nil
}

// A named number may come from a damaged item, so it counts only if one exists near it.
func (r *Row) near(ctx context.Context, s kv.Store, last, named int64) (int64, error) {
	for _, below := range []int64{named, max(named-reach, last)} {
		found, err := r.above(ctx, s, below)
		if err == nil && found > 0 {
			last, err = r.leftAbove(ctx, s, found)
			return max(last, named), err
		}
		if err != nil {
			return 0, err
		}
	}
	if named-last <= reach {
		return named, nil
	}
	return last, nil
}
