package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A build enters the records of a model in a timeline that was added to it, in the
// order of the field:
//
//  1. It begins an era in the lane of each record. What changes from now on is
//     numbered above the dawn.
//  2. It reads all records and sorts them by lane and field, as many as it keeps in
//     memory. It numbers them below the dawn, in each lane from the newest to the
//     oldest. If there are more, it does so again.
//
// A change that took its number before the era and committed too late to be sorted is
// moved to the dawn by its own process, or by the one that repairs its line.
//
// A build that was interrupted is done over in the same era: each record gets the same
// number again, or a near one if others have changed since.
type build[T any] struct {
	*core[T]
	dawn int64
	last *standing // that was numbered
	lane *lane     // of last
	next int64     // the number that was given to it
}

var _ plug.Builder = (*core[struct{}])(nil)

// enteredAtOnce is how many records a build enters in one trip.
const enteredAtOnce = 100

// Build makes the timeline hold every record. It reads all records once, and once more
// for every sortedAtOnce of them, and writes each once. Of the entries it makes only
// those that the rings show.
func (c *core[T]) Build(ctx context.Context, ended int64, _ plug.Steps) error {
	b := &build[T]{core: c, dawn: dawn(ended + 1)}
	err := c.host.Each(ctx, func(recs []*plug.Seen[T]) error { return b.begin(ctx, recs) })
	for more := true; more && err == nil; {
		more, err = b.enterSome(ctx)
	}
	return c.failure(err)
}

// begin begins the era in the lanes of recs.
func (b *build[T]) begin(ctx context.Context, recs []*plug.Seen[T]) error {
	return cmp.Or(kv.Each(ctx, b.db.Store(), recs, func(s kv.Store, _ int, rec *plug.Seen[T]) error {
		if l, _ := b.stand(rec); l != nil {
			return l.begin(ctx, s, era(b.dawn))
		}
		return nil
	})...)
}

// enterSome enters the next records in order. more reports that there may be others.
func (b *build[T]) enterSome(ctx context.Context) (more bool, err error) {
	some, err := b.foremost(ctx, func(rec *plug.Seen[T], st standing) bool {
		return decodeMark(rec.Mark).stamp <= b.dawn && (b.last == nil || b.last.compare(st) < 0)
	})
	if err != nil {
		return false, err
	}
	for chunk := range slices.Chunk(some, min(enteredAtOnce, b.sorted)) {
		if err := b.enter(ctx, chunk); err != nil {
			return false, err
		}
	}
	return len(some) == b.sorted, nil
}

// A numbered record is one with the entry that a build gives it.
type numberedRecord struct {
	standing
	lane *lane
	mark mark
}

// enter gives the records of some, the next in order, their numbers and entries.
func (b *build[T]) enter(ctx context.Context, some []standing) error {
	seen, err := b.host.See(ctx, b.db.Store(), kv.Texts(some, func(st standing) string { return st.id })...)
	if err != nil {
		return err
	}
	// Some may have come to another lane.
	if err := b.begin(ctx, seen); err != nil {
		return err
	}
	all := b.number(some)
	works := b.publish(ctx, all)
	for i, r := range all {
		works = append(works, func(s kv.Store) error { return b.keep(ctx, s, seen[i], r) })
	}
	return cmp.Or(kv.Together(ctx, b.db.Store(), works...)...)
}

// number gives each of some the next number in its lane.
func (b *build[T]) number(some []standing) []numberedRecord {
	all := make([]numberedRecord, len(some))
	for i, st := range some {
		if b.last == nil || b.last.laneName != st.laneName {
			b.lane, b.next = b.shard(st.owner, st.shard), b.dawn
		}
		b.next--
		all[i], b.last = numberedRecord{st, b.lane, mark{b.next, st.at}}, &some[i]
	}
	return all
}

// publish returns the work that adds the entries of all that their rings show, one
// append to each segment.
func (b *build[T]) publish(ctx context.Context, all []numberedRecord) (works []func(kv.Store) error) {
	for len(all) > 0 {
		l, g := all[0].lane, all[0].lane.shape()
		block, end, data := g.block(all[0].mark.stamp), 0, []byte(nil)
		for ; end < len(all) && all[end].lane == l && g.block(all[end].mark.stamp) == block; end++ {
			if r := all[end]; r.mark.stamp >= g.oldest(b.dawn) {
				data = entry{r.mark.stamp, r.mark.at, []byte(r.id)}.encode(data)
			}
		}
		if all = all[end:]; len(data) > 0 {
			a, i := addition{key: l.key(g, g.segment(block)), data: data}, g.segment(block)
			works = append(works, func(s kv.Store) error {
				return a.put(ctx, s, func() error { return l.trim(ctx, s, i, lastStamp) })
			})
		}
	}
	return works
}

// keep stores r's number in the record, which was just seen, unless the record stands
// somewhere else by now.
func (b *build[T]) keep(ctx context.Context, s kv.Store, rec *plug.Seen[T], r numberedRecord) error {
	return b.keepWhile(ctx, s, rec, r.mark, func(rec *plug.Seen[T]) bool {
		st, ok := b.standing(rec)
		stamp := decodeMark(rec.Mark).stamp
		return ok && st == r.standing && stamp <= b.dawn && stamp != r.mark.stamp
	})
}

// keepWhile stores m in rec as its mark, as long as fits holds for it.
func (c *core[T]) keepWhile(ctx context.Context, s kv.Store, rec *plug.Seen[T], m mark, fits func(*plug.Seen[T]) bool) error {
	for range pushTries {
		if !fits(rec) {
			return nil
		}
		err := c.host.Keep(ctx, s, rec, m.encode())
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		seen, err := c.host.See(ctx, s, rec.ID)
		if err != nil {
			return err
		}
		rec = seen[0]
	}
	return fmt.Errorf("%s: %w: no number kept after %d tries", rec.ID, kv.ErrConflict, pushTries)
}

// moveUp moves rec to a dawn if its number is of an earlier era. If a build is still to
// sort the record, it does so all the same.
func (c *core[T]) moveUp(ctx context.Context, s kv.Store, rec *plug.Seen[T], dawn int64) error {
	st, ok := c.standing(rec)
	if !ok || era(decodeMark(rec.Mark).stamp) >= era(dawn) {
		return nil
	}
	l, m := c.shard(st.owner, st.shard), mark{dawn, st.at}
	errs := kv.Together(ctx, s,
		func(s kv.Store) error { return l.publish(ctx, s, entry{m.stamp, m.at, []byte(rec.ID)}) },
		func(s kv.Store) error {
			return c.keepWhile(ctx, s, rec, m, func(rec *plug.Seen[T]) bool {
				now, ok := c.standing(rec)
				return ok && now.laneName == st.laneName && era(decodeMark(rec.Mark).stamp) < era(dawn)
			})
		},
	)
	return cmp.Or(errs...)
}
