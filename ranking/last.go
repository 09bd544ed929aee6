package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Last returns the n records of which most was counted in so many periods together,
// up to that under way: Last(ctx, 7, 20) of a board per day are the first twenty of
// the last seven days. Two trips.
//
// What was counted of them is exact. They are chosen from the first 2n of each
// period, so that a record which is among these in none is not found, however
// steady. ErrInvalid if the board does not count by periods.
func (b *Board[T, K, S]) Last(ctx context.Context, periods, n int) ([]Place[T, S], error) {
	if b.per == Forever || b.scored {
		return nil, b.failure(fmt.Errorf("%w: it does not count by periods", kvmodel.ErrInvalid))
	}
	if err := b.host.Ready(ctx); err != nil {
		return nil, err
	}
	var times []time.Time
	for i := range min(periods, b.keep) {
		v := b.view
		v.at = b.per.add(b.when(), -i)
		if !v.gone() {
			times = append(times, v.at)
		}
	}
	ids, err := b.firstOf(ctx, times, 2*max(0, n))
	if err != nil || len(ids) == 0 {
		return nil, b.failure(err)
	}
	places, err := b.sums(ctx, times, ids)
	if err != nil {
		return nil, b.failure(err)
	}
	return places[:min(n, len(places))], nil
}

// firstOf returns the id texts of the n members that have most, by what the first n
// of the period of each of times have.
func (v view[T]) firstOf(ctx context.Context, times []time.Time, n int) ([]string, error) {
	lists := make([]keytree.Listing, len(times))
	works := make([]func(kv.Store) error, len(times))
	for i, at := range times {
		works[i] = func(s kv.Store) (err error) {
			lists[i], err = v.tree(v.by, at).Page(ctx, s, keytree.Between{}, true, nil, n, keytree.Want{Unverified: true})
			return err
		}
	}
	if err := errors.Join(kv.Together(ctx, v.host.Store(), works...)...); err != nil {
		return nil, err
	}
	sums := make(map[string]int64)
	var ids []string
	for _, l := range lists {
		for _, m := range l.Members {
			if _, there := sums[m.ID]; !there {
				ids = append(ids, m.ID)
			}
			sums[m.ID] += m.Score.Int()
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	return ids[:min(n, len(ids))], nil
}

// sums returns the records with ids that are on the board, by what was counted of
// them in the periods of times together.
func (b *Board[T, K, S]) sums(ctx context.Context, times []time.Time, ids []string) ([]Place[T, S], error) {
	var values []any
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { values, err = b.records(ctx, s, ids); return err },
	}
	counts := make([][]int64, len(times))
	for i, at := range times {
		works = append(works, func(s kv.Store) (err error) {
			counts[i], err = b.inPeriod(ctx, s, ids, at)
			return err
		})
	}
	if err := errors.Join(kv.Together(ctx, b.host.Store(), works...)...); err != nil {
		return nil, err
	}
	part := keytree.Part{}
	for i, id := range ids {
		sum := int64(0)
		for _, of := range counts {
			sum += max(0, of[i])
		}
		if values[i] != nil && sum > 0 {
			part.Members = append(part.Members, keytree.Member{ID: id, Score: keytree.FromInt(sum), Value: values[i]})
		}
	}
	slices.SortStableFunc(part.Members, func(a, b keytree.Member) int { return cmp.Compare(b.Score, a.Score) })
	return b.places(part), nil
}
