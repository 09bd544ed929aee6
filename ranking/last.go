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

// Last returns the n records with the highest totals over the last periods, up to
// the current one: on a board per day, Last(ctx, 7, 20) is the top twenty of the
// last seven days. Two trips.
//
// The totals are exact. The records are chosen from the first 2n of each period, so
// Last misses a record that is never among these, however steady it is. It returns
// ErrInvalid if the board does not count by periods.
func (b *Board[T, K, S]) Last(ctx context.Context, periods, n int) ([]Place[T, S], error) {
	if b.per == Forever || b.scored {
		return nil, b.failure(fmt.Errorf("%w: it does not count by periods", kvmodel.ErrInvalid))
	}
	if err := b.host.Ready(ctx); err != nil {
		return nil, err
	}
	var times []time.Time
	for i := range min(periods, b.keep) {
		p := b.part
		p.at = b.per.add(b.when(), -i)
		if !p.gone() {
			times = append(times, p.at)
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

// firstOf returns the id texts of the n members with the highest totals, as far as
// the first n of each of the periods show.
func (p part[T]) firstOf(ctx context.Context, times []time.Time, n int) ([]string, error) {
	lists := make([]keytree.Listing, len(times))
	errs := kv.Each(ctx, p.host.Store(), times, func(s kv.Store, i int, at time.Time) (err error) {
		lists[i], err = p.tree(p.by, at).Page(ctx, s, keytree.Between{}, true, nil, n, keytree.Want{Unverified: true})
		return err
	})
	if err := errors.Join(errs...); err != nil {
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

// sums returns the records with ids that are on the board, ranked by their totals
// over the periods of times.
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
	var found keytree.Part
	for i, id := range ids {
		sum := int64(0)
		for _, of := range counts {
			sum += max(0, of[i])
		}
		if values[i] != nil && sum > 0 {
			found.Members = append(found.Members, keytree.Member{ID: id, Score: keytree.FromInt(sum), Value: values[i]})
		}
	}
	slices.SortStableFunc(found.Members, func(a, b keytree.Member) int { return cmp.Compare(b.Score, a.Score) })
	return b.places(found), nil
}
