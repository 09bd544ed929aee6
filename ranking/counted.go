package ranking

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// counted is a board by a counter, or by what records say that have one. Its members
// have records of their own, which say where they stand; it brings them to what the
// counter says when the batch is written, and when the write path has changed what
// the board holds.
//
// To follow is always the same: read the member's record, then the counter and
// the model's record, then move the member there. Since the counter is read
// after the record and the record must not have changed when it is written, the
// last one to follow has seen the last count, whoever comes in whatever order.
type counted[T any] struct {
	*core[T]
	counter kvmodel.Counter
	batch   Batch
	window  *window
}

var (
	_ plug.Index[struct{}] = (*counted[struct{}])(nil)
	_ kvmodel.Follower     = (*counted[struct{}])(nil)
)

func newCounted[T, S any](c *core[T], spec Spec[T, S]) *counted[T] {
	f := &counted[T]{core: c, counter: spec.Counter, batch: spec.Batch}
	f.window = &window{write: f.followAll}
	c.catchUp = f.followThere
	return f
}

// Prepare refuses a record that cannot have a place. The board follows when the
// record has committed.
func (f *counted[T]) Prepare(_ context.Context, _ kv.Store, m *plug.Move) error {
	for _, text := range m.Gained {
		p, err := f.at(text)
		if err == nil {
			err = f.failure(p.err())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Beside follows where the record is being entered anew, and does not change.
func (f *counted[T]) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if m.Rev != m.Base {
		return nil
	}
	return f.followAt(ctx, s, m.Is, m.ID)
}

// After follows on the boards that the record has left, and on that where it is.
func (f *counted[T]) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	return f.followAt(ctx, s, append(m.Lost[:len(m.Lost):len(m.Lost)], m.Gained...), m.ID)
}

// Repair follows on the boards of places.
func (f *counted[T]) Repair(ctx context.Context, s kv.Store, rec *plug.Seen[T], places []string) error {
	return f.followAt(ctx, s, places, rec.ID)
}

// Check reports nothing: a board by a counter may lag.
func (f *counted[T]) Check(context.Context, kv.Store, *plug.Seen[T]) ([]string, error) {
	return nil, nil
}

func (f *counted[T]) followAt(ctx context.Context, s kv.Store, places []string, id string) error {
	return f.eachPlace(ctx, s, f.boards(places), func(s kv.Store, p place) error {
		due := new(keytree.Due)
		if err := f.follow(ctx, s, p.by, id, f.host.DB().Now(), due); err != nil {
			return err
		}
		return f.settle(ctx, s, due)
	})
}

// boards returns one of places for each board that they are in.
func (f *counted[T]) boards(places []string) []string {
	var once []string
	seen := make(map[string]bool)
	for _, text := range places {
		if p, err := parsePlace(text); err != nil || !seen[p.by] {
			seen[p.by] = true
			once = append(once, text)
		}
	}
	return once
}

// followThere follows for ids on the board of by in the period of at.
func (f *counted[T]) followThere(ctx context.Context, by string, at time.Time, ids []string) error {
	for some := range slices.Chunk(ids, followAtOnce) {
		due := new(keytree.Due)
		works := make([]func(kv.Store) error, len(some))
		for i, id := range some {
			works[i] = func(s kv.Store) error { return f.follow(ctx, s, by, id, at, due) }
		}
		err := errors.Join(kv.Together(ctx, f.host.Store(), works...)...)
		f.reports.add(due)
		if err != nil {
			return err
		}
	}
	return nil
}

// followAtOnce is how many members are followed side by side.
const followAtOnce = 500

// follow brings the member id of the board of by to where it belongs.
func (f *counted[T]) follow(ctx context.Context, s kv.Store, by, id string, at time.Time, due *keytree.Due) error {
	t := f.tree(by, at)
	return t.Set(ctx, s, t.own, id, func(ctx context.Context, s kv.Store, _ keytree.State) (keytree.Score, bool, error) {
		rec, count, err := f.look(ctx, s, id, at)
		if err != nil {
			return 0, false, err
		}
		now := stateIn(by, rec.Places, rec.Rev)
		if f.scored {
			return now.Score, now.In, nil
		}
		return keytree.FromInt(count), now.In && count >= 0, nil
	}, due)
}

// look reads the record id and what was counted of it, where the board goes by
// that.
func (f *counted[T]) look(ctx context.Context, s kv.Store, id string, at time.Time) (*plug.Seen[T], int64, error) {
	var recs []*plug.Seen[T]
	var count int64
	if f.scored {
		recs, err := f.host.See(ctx, s, id)
		if err != nil {
			return nil, 0, err
		}
		return recs[0], 0, nil
	}
	errs := kv.Together(ctx, s,
		func(s kv.Store) (err error) { recs, err = f.host.See(ctx, s, id); return err },
		func(s kv.Store) (err error) { count, err = f.count(ctx, s, id, at); return err },
	)
	if err := errors.Join(errs...); err != nil {
		return nil, 0, err
	}
	return recs[0], count, nil
}

// count returns what was counted of id, in the period of at if there are
// periods; -1 if nothing was.
func (f *counted[T]) count(ctx context.Context, s kv.Store, id string, at time.Time) (int64, error) {
	if f.per == Forever {
		counts, err := f.counter.Counts(ctx, s, []string{id})
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	counts, err := f.inPeriod(ctx, s, []string{id}, at)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// inPeriod returns what was counted of ids in the period of at; -1 where nothing
// was.
func (c *core[T]) inPeriod(ctx context.Context, s kv.Store, ids []string, at time.Time) ([]int64, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = c.periodKey(id, at)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(ids))
	for i, r := range results {
		if r.Err != nil {
			counts[i] = -1
			continue
		}
		if counts[i], err = kv.ParseNumber(r.Value); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// countKey is the class of what was counted of a record in a period.
var countKey = kv.NewClass("per", 4) // model, index, period, id text

func (c *core[T]) periodKey(id string, at time.Time) string {
	return countKey.KeyOfText([]string{c.host.Model(), c.name, c.per.name(at)}, id)
}

// Counting counts in the period under way.
func (f *counted[T]) Counting(ctx context.Context, s kv.Store, id string, delta int64) error {
	if f.per == Forever {
		return nil
	}
	now := f.host.DB().Now()
	key := f.periodKey(id, now)
	for {
		_, err := kv.One(ctx, s, kv.OpIncrement(key, delta))
		if !errors.Is(err, kv.ErrNotFound) {
			return f.failure(err)
		}
		ttl := min(f.per.add(now, f.keep).Sub(now), kv.MaxTTL)
		first := strconv.AppendInt(nil, max(0, delta), 10)
		_, err = kv.One(ctx, s, kv.OpAdd(key, first).For(ttl))
		if !errors.Is(err, kv.ErrExists) {
			return f.failure(err)
		}
	}
}

// Counted follows the counter now, later, or by chance not at all.
func (f *counted[T]) Counted(ctx context.Context, id string, _, count int64) error {
	db := f.host.DB()
	changed := []change{{id: id, at: f.per.begin(db.Now())}}
	switch f.batch {
	case Every:
		return f.followAll(ctx, changed)
	case Sampled:
		if chosen(interval(f.size(), count)) {
			db.Later(func(ctx context.Context) error { return f.followAll(ctx, changed) })
		}
	default:
		// What there is no room for comes with the record's next change.
		_ = f.window.add(changed[0], db)
	}
	return nil
}

// size returns about how many members the board has, as far as this process
// knows.
func (f *counted[T]) size() int {
	if f.many {
		return manyMembers
	}
	return f.tree("", f.host.DB().Now()).Size()
}

// manyMembers stands for the size of boards that are one for each value.
const manyMembers = 1 << 16

// flush follows what was gathered.
func (f *counted[T]) flush(ctx context.Context) error { return f.window.flush(ctx) }

// followAll follows for many records side by side, and then reports once for all
// of them. What fails is gathered again.
func (f *counted[T]) followAll(ctx context.Context, changed []change) error {
	s := f.host.Store()
	due := new(keytree.Due)
	works := make([]func(kv.Store) error, len(changed))
	for i, c := range changed {
		works[i] = func(s kv.Store) error { return f.followOne(ctx, s, c, due) }
	}
	errs := kv.Together(ctx, s, works...)
	var failed []error
	for i, err := range errs {
		if err != nil {
			f.window.keep(changed[i], f.host.DB())
			failed = append(failed, err)
		}
	}
	f.reports.add(due)
	return f.failure(errors.Join(failed...))
}

// followOne finds out on which board a record belongs, and follows there.
func (f *counted[T]) followOne(ctx context.Context, s kv.Store, c change, due *keytree.Due) error {
	at := c.at
	if f.per == Forever {
		at = f.host.DB().Now()
	}
	if !f.many {
		return f.follow(ctx, s, "", c.id, at, due)
	}
	recs, err := f.host.See(ctx, s, c.id)
	if err != nil || len(recs[0].Places) == 0 {
		return err
	}
	p, err := f.at(recs[0].Places[0])
	if err != nil {
		return err
	}
	return f.follow(ctx, s, p.by, c.id, at, due)
}
