package numbering

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = r.Key(n)
	}
	results, err := kv.GetAll(ctx, s, keys...)
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
