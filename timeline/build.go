package timeline

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A build enters the records of a model in a timeline that was added to it, in the
// order of the field:
//
//  1. It chooses an era and begins it in the lane of each record. What changes from now
//     on is numbered above the dawn.
//  2. It reads all records and sorts them by lane and field, as many as it keeps in
//     memory. It numbers them below the dawn, in each lane from the newest to the
//     oldest. If there are more, it does so again.
//
// A change that took its number before the era and committed too late to be sorted is
// moved to the dawn by its own process, or by the one that repairs its line.
//
// A build that was interrupted goes on in the same era, after the last record that was
// noted. That is right however much time has passed. Up to that one, all have a number of
// the era: a build's, or one above the dawn if they have changed since, and those that are
// gone leave a gap. Below its number there are only numbers of records that come after it,
// and all these are numbered again in their order: no two keep the same one. A change that
// straddles the beginning of the era moves to the dawn whenever it commits. So does a
// record that has come to stand before the last one without a change of the timeline. And
// a lane that had no record when the era began has an order of its own.
type build[T any] struct {
	*core[T]
	reached
	steps plug.Steps
	lane  *lane    // of last
	late  []string // the ids of records that stand before last and were not numbered
}

// reached is how far a build has come.
type reached struct {
	dawn  int64     // of its era; 0: none was chosen
	begun bool      // the era, in the lanes of all records that were there
	last  *standing // that was numbered
	next  int64     // the number that was given to it
}

// encode returns r as the build notes it.
func (r reached) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(r.dawn))
	if !r.begun {
		return b
	}
	if b = append(b, 1); r.last == nil {
		return b
	}
	b = binary.AppendUvarint(b, uint64(r.next))
	b = wire.AppendTexts(b, []string{r.last.owner, r.last.order, r.last.id})
	return binary.AppendUvarint(b, uint64(r.last.shard))
}

// decodeReached returns what a build has noted: nothing if that is broken.
func decodeReached(b []byte) reached {
	from := wire.Reader{Rest: b}
	r := reached{dawn: int64(from.Number("dawn", lastStamp))}
	if r.begun = len(from.Rest) > 0; r.begun {
		from.Byte()
	}
	if len(from.Rest) > 0 {
		r.next, r.last = int64(from.Number("stamp", uint64(r.dawn))), new(standing)
		r.last.owner, r.last.order, r.last.id = from.Text("owner"), from.Text("order"), from.Name("id")
		r.last.shard = int(from.Number("shard", MaxLanes-1))
	}
	if from.Err != nil || len(from.Rest) > 0 || r.dawn != dawn(era(r.dawn)) {
		return reached{}
	}
	return r
}

var _ plug.Builder = (*core[struct{}])(nil)

// enteredAtOnce is how many records a build enters in one trip.
const enteredAtOnce = 100

// Build makes the timeline hold every record. It reads all records once, and once more
// for every sortedAtOnce of them, and writes each once. Of the entries it makes only
// those that the rings show.
func (c *core[T]) Build(ctx context.Context, steps plug.Steps) error {
	b := &build[T]{core: c, steps: steps, reached: decodeReached(steps.From())}
	if b.last != nil {
		b.lane = c.shard(b.last.owner, b.last.shard)
	}
	err := b.choose(ctx)
	if err == nil {
		err = b.beginAll(ctx)
	}
	for more := true; more && err == nil; {
		more, err = b.enterSome(ctx)
	}
	return c.failure(err)
}

// choose chooses the era: one above those that the lanes are in. It is noted before any
// lane is in it, so that no other process chooses another one for this build.
func (b *build[T]) choose(ctx context.Context) error {
	if b.dawn != 0 {
		return nil
	}
	var last int64
	err := b.host.Each(ctx, func(recs []*plug.Seen[T]) error {
		return cmp.Or(kv.Each(ctx, b.db.Store(), recs, func(s kv.Store, _ int, rec *plug.Seen[T]) error {
			l, stamp := b.stand(rec)
			if l == nil {
				return nil
			}
			now, err := l.era(ctx, s)
			last = max(last, now, era(stamp))
			return err
		})...)
	})
	if err != nil {
		return err
	}
	b.dawn = dawn(last + 1)
	return b.steps.Reached(ctx, b.encode(), plug.Many)
}

// beginAll begins the era.
func (b *build[T]) beginAll(ctx context.Context) error {
	if b.begun {
		return nil
	}
	err := b.host.Each(ctx, func(recs []*plug.Seen[T]) error { return b.begin(ctx, recs) })
	if err != nil {
		return err
	}
	b.begun = true
	return b.steps.Reached(ctx, b.encode(), plug.Many)
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
	b.late = nil
	some, err := b.foremost(ctx, b.wants)
	if err != nil {
		return false, err
	}
	for chunk := range slices.Chunk(b.late, enteredAtOnce) {
		if err := b.moveUpAll(ctx, chunk); err != nil {
			return false, err
		}
	}
	for chunk := range slices.Chunk(some, min(enteredAtOnce, b.sorted)) {
		if err := b.enter(ctx, chunk); err != nil {
			return false, err
		}
		if err := b.steps.Reached(ctx, b.encode(), len(chunk)); err != nil {
			return false, err
		}
	}
	if len(some) < b.sorted {
		return false, nil
	}
	// The next sort reads all records again.
	return true, b.steps.Reached(ctx, b.encode(), plug.Many)
}

// wants reports whether b is to number the record at st after the last one.
func (b *build[T]) wants(st standing) bool {
	switch {
	case st.stamp > b.dawn:
		return false
	case b.last == nil || b.last.compare(st) < 0:
		return true
	case era(st.stamp) < era(b.dawn):
		b.late = append(b.late, st.id)
	}
	return false
}

// moveUpAll moves the old ones of the records with ids to the dawn.
func (b *build[T]) moveUpAll(ctx context.Context, ids []string) error {
	seen, err := b.host.See(ctx, b.db.Store(), ids...)
	if err != nil {
		return err
	}
	old, err := b.old(ctx, seen)
	if err != nil {
		return err
	}
	return cmp.Or(kv.Each(ctx, b.db.Store(), seen, func(s kv.Store, i int, rec *plug.Seen[T]) error {
		if !old[i] {
			return nil
		}
		return b.moveUp(ctx, s, rec, b.dawn)
	})...)
}

// old reports which of recs are in a lane that has old records. Where no record was when
// the era began, all have come by a change, and have their numbers. To begin the era there
// would hide them.
func (b *build[T]) old(ctx context.Context, recs []*plug.Seen[T]) ([]bool, error) {
	old := make([]bool, len(recs))
	errs := kv.Each(ctx, b.db.Store(), recs, func(s kv.Store, i int, rec *plug.Seen[T]) error {
		l, stamp := b.stand(rec)
		if l == nil {
			return nil
		}
		count, _, err := l.readCounter(ctx, s)
		if err != nil || count >= 0 && count < b.dawn && stamp != 0 && era(stamp) == era(count) {
			return err
		}
		old[i] = true
		if count >= b.dawn {
			return nil
		}
		return l.begin(ctx, s, era(b.dawn)) // The counter was lost.
	})
	return old, cmp.Or(errs...)
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
	old, err := b.old(ctx, seen)
	if err != nil {
		return err
	}
	var ours []numberedRecord
	var keeps []func(kv.Store) error
	for i, r := range b.number(some) {
		if old[i] {
			ours = append(ours, r)
			keeps = append(keeps, func(s kv.Store) error { return b.keep(ctx, s, seen[i], r) })
		}
	}
	return cmp.Or(kv.Together(ctx, b.db.Store(), append(b.publish(ctx, ours), keeps...)...)...)
}

// number gives each of some, which are in order, the next number in its lane.
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
			a, i := addition{key: l.key(g, g.segment(block)), data: seal(data)}, g.segment(block)
			works = append(works, func(s kv.Store) error {
				return a.put(ctx, s, func() error { return l.trim(ctx, s, i, lastStamp) })
			})
		}
	}
	return works
}

// keep stores r's number in the record, which was just seen, unless the record has moved
// somewhere else by now. One that only would stand somewhere else has not moved.
func (b *build[T]) keep(ctx context.Context, s kv.Store, rec *plug.Seen[T], r numberedRecord) error {
	return b.keepWhile(ctx, s, rec, r.mark, func(rec *plug.Seen[T]) bool {
		st, ok := b.standing(rec)
		stays := st.isAt(r.standing) || st.laneName == r.laneName && st.stamp == r.stamp
		return ok && stays && st.stamp <= b.dawn && st.stamp != r.mark.stamp
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
