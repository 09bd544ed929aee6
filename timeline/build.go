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
// order of the field. It goes through the lanes, and in each from the newest record to
// the oldest, so wherever it is interrupted, the records that it has entered stand
// above all others, in their order. The next build begins a new era and enters all of
// them again.
type build[T any] struct {
	*core[T]
	lane *lane
	last standing // the last that was numbered
	next int64    // the number of the next record in its lane
}

var _ plug.Builder = (*core[struct{}])(nil)

// enteredAtOnce is how many records a build enters in one trip.
const enteredAtOnce = 100

// Build makes the timeline hold every record. It reads all records once for every
// sortedAtOnce of them, and once more at its end; it writes each once. Of the entries
// it makes only those that the rings show.
func (c *core[T]) Build(ctx context.Context) error {
	b := &build[T]{core: c}
	var last *standing
	for {
		some, err := c.standingsAfter(ctx, last)
		if err != nil {
			return c.failure(err)
		}
		for chunk := range slices.Chunk(some, enteredAtOnce) {
			if err := b.enter(ctx, chunk); err != nil {
				return c.failure(err)
			}
		}
		if len(some) < c.sorted {
			return c.failure(c.host.Each(ctx, func(recs []*plug.Seen[T]) error { return c.catchUpAll(ctx, recs) }))
		}
		last = &b.last
	}
}

// A numbered record is one with the entry that a build gives it.
type numberedRecord struct {
	standing
	lane *lane
	mark mark
}

// enter gives the records of some, the next in order, their numbers and entries.
func (b *build[T]) enter(ctx context.Context, some []standing) error {
	all, err := b.number(ctx, some)
	if err != nil {
		return err
	}
	seen, err := b.host.See(ctx, b.db.Store(), kv.Texts(some, func(st standing) string { return st.id })...)
	if err != nil {
		return err
	}
	works := b.publish(ctx, all)
	for i, r := range all {
		works = append(works, func(s kv.Store) error { return b.keep(ctx, s, seen[i], r) })
	}
	return cmp.Or(kv.Together(ctx, b.db.Store(), works...)...)
}

// number gives each of some the next number in its lane. Each lane begins an era.
func (b *build[T]) number(ctx context.Context, some []standing) ([]numberedRecord, error) {
	var begun []*lane
	for i, st := range some {
		if i == 0 && b.lane != nil && st.inLaneOf(b.last) || i > 0 && st.inLaneOf(some[i-1]) {
			continue
		}
		begun = append(begun, b.shard(st.owner, st.shard))
	}
	dawns := make([]int64, len(begun))
	errs := kv.Each(ctx, b.db.Store(), begun, func(s kv.Store, i int, l *lane) (err error) {
		dawns[i], err = l.nextEra(ctx, s)
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	all := make([]numberedRecord, len(some))
	for i, st := range some {
		if b.lane == nil || !st.inLaneOf(b.last) {
			b.lane, b.next = begun[0], dawns[0]-1
			begun, dawns = begun[1:], dawns[1:]
		}
		all[i] = numberedRecord{st, b.lane, mark{b.next, st.at}}
		b.last, b.next = st, b.next-1
	}
	return all, nil
}

// publish returns the work that adds the entries of all that their rings show, one
// append to each segment.
func (b *build[T]) publish(ctx context.Context, all []numberedRecord) (works []func(kv.Store) error) {
	for len(all) > 0 {
		l, g := all[0].lane, all[0].lane.shape()
		block, end, data := g.block(all[0].mark.stamp), 0, []byte(nil)
		for ; end < len(all) && all[end].lane == l && g.block(all[end].mark.stamp) == block; end++ {
			if r := all[end]; r.mark.stamp >= g.oldest(dawn(era(r.mark.stamp))) {
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
		return ok && st == r.standing && era(decodeMark(rec.Mark).stamp) < era(r.mark.stamp)
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

// catchUpAll moves those of recs that a build has missed.
func (c *core[T]) catchUpAll(ctx context.Context, recs []*plug.Seen[T]) error {
	return cmp.Or(kv.Each(ctx, c.db.Store(), recs, func(s kv.Store, _ int, rec *plug.Seen[T]) error {
		return c.catchUp(ctx, s, rec)
	})...)
}

// catchUp moves rec to the dawn of its lane's era if its number is of an earlier one.
// A build has begun the era between the taking of the number and the commit of the
// change, and may have looked at the record before that.
func (c *core[T]) catchUp(ctx context.Context, s kv.Store, rec *plug.Seen[T]) error {
	l, stamp := c.stand(rec)
	if l == nil {
		return nil
	}
	behind, now, err := l.isBehind(ctx, s, stamp)
	if err != nil || !behind {
		return err
	}
	if now == 0 {
		if _, err := l.nextEra(ctx, s); err != nil {
			return err
		}
		now = era(l.top())
	}
	st, _ := c.standing(rec)
	m := mark{dawn(now), st.at}
	errs := kv.Together(ctx, s,
		func(s kv.Store) error { return l.publish(ctx, s, entry{m.stamp, m.at, []byte(rec.ID)}) },
		func(s kv.Store) error {
			return c.keepWhile(ctx, s, rec, m, func(rec *plug.Seen[T]) bool {
				at, stamp := c.stand(rec)
				return at != nil && at.base == l.base && (stamp == 0 || era(stamp) < now)
			})
		},
	)
	return cmp.Or(errs...)
}
