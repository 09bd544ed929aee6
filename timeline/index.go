package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	_ plug.Index    = (*core)(nil)
	_ plug.Bulk     = (*core)(nil)
	_ plug.Meeter   = (*core)(nil)
	_ plug.Finisher = (*core)(nil)
)

func (c *core) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	places := m.Entered()
	early, isEarly := m.Kept.([]byte)
	switch {
	case len(places) == 0:
		return nil
	case isEarly:
		m.Mark = early
		return nil
	case !c.marks.several:
		n, err := c.number(ctx, s, ownerOf(places[0]), m.ID)
		m.Mark = n.encode()
		return err
	}
	return c.prepareAll(ctx, s, m, places)
}

func (c *core) prepareAll(ctx context.Context, s kv.Store, m *plug.Move, places []string) error {
	marks := make([]mark, len(places))
	errs := kv.Each(ctx, s, places, func(s kv.Store, i int, place string) (err error) {
		marks[i], err = c.number(ctx, s, ownerOf(place), m.ID)
		return err
	})
	if err := kv.Join(errs...); err != nil {
		return err
	}
	var stay wire.TextSet
	for _, place := range plug.Without(m.Is, places) {
		stay.Add(ownerOf(place))
	}
	m.Mark = c.marks.without(m.Mark, func(owner string) bool { return !stay.Has(owner) })
	for i, place := range places {
		m.Mark = appendMark(m.Mark, ownerOf(place), marks[i])
	}
	return nil
}

// EnterAll gives the records of each lane consecutive numbers, in the order of moves.
func (c *core) EnterAll(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	var lanes []laneName // in the order of their first records
	joining := make(map[laneName][]*plug.Move)
	for _, m := range moves {
		for _, place := range m.Gained {
			in := laneName{ownerOf(place), c.shardOf(m.ID)}
			if joining[in] == nil {
				lanes = append(lanes, in)
			}
			joining[in] = append(joining[in], m)
		}
	}
	for _, in := range lanes {
		if err := c.enterRun(ctx, s, c.shard(in.owner, in.shard), joining[in]); err != nil {
			return c.failure(err)
		}
	}
	return nil
}

func (c *core) enterRun(ctx context.Context, s kv.Store, l *lane, moves []*plug.Move) error {
	run, now := int64(len(moves)), c.db.Now().UnixMilli()
	last, err := l.take(ctx, s, run)
	if err != nil {
		return err
	}
	entries := make([]entry, run)
	for i, m := range moves {
		n := mark{last - run + 1 + int64(i), now}
		m.Mark = c.marks.with(m.Mark, l.owner, n)
		entries[i] = entry{n.stamp, n.at, []byte(m.ID)}
	}
	return l.add(ctx, s, entries...)
}

// unowned is the index of a shared timeline, where the ring of a change is known before the record.
type unowned struct{ *core }

var _ plug.Early = unowned{}

func (u unowned) Early(ctx context.Context, s kv.Store, id string) ([]byte, error) {
	m, err := u.number(ctx, s, "", id)
	return m.encode(), err
}

func (c *core) number(ctx context.Context, s kv.Store, owner, id string) (mark, error) {
	c.checkBuilt(ctx)
	n, err := c.lane(owner, id).take(ctx, s, 1)
	return mark{n, c.db.Now().UnixMilli()}, c.failure(err)
}

// checkBuilt remembers, before the first number is taken, whether the timeline may still be built. In a
// transaction, no build can come between a number and its commit.
func (c *core) checkBuilt(ctx context.Context) {
	if c.atomic || c.built.Load() || c.unbuilt.Load() {
		return
	}
	if c.host.Ready(ctx) == nil {
		c.built.Store(true)
	} else {
		c.unbuilt.Store(true)
	}
}

// Readers ignore an entry until the record has its stamp.
func (c *core) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	places, marks := m.Entered(), c.marks.all(m.Mark)
	if len(places) == 1 {
		return c.enterAt(ctx, s, m.ID, places[0], marks)
	}
	return kv.Join(kv.Each(ctx, s, places, func(s kv.Store, _ int, place string) error { return c.enterAt(ctx, s, m.ID, place, marks) })...)
}

func (c *core) enterAt(ctx context.Context, s kv.Store, id, place string, marks marks) error {
	owner := ownerOf(place)
	return c.enter(ctx, s, id, owner, marks.of(owner))
}

func (c *core) enter(ctx context.Context, s kv.Store, id, owner string, m mark) error {
	return c.failure(c.lane(owner, id).add(ctx, s, entry{m.stamp, m.at, []byte(id)}))
}

// After moves a record to the newest end if a build missed its change. Old entries stay until they are lapped.
func (c *core) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	if c.atomic {
		return nil
	}
	if len(moves) != 1 {
		return plug.EachAlone(ctx, s, moves, c.After)
	}
	m := moves[0]
	marks := c.marks.all(m.Mark)
	for _, place := range m.Entered() {
		owner := ownerOf(place)
		if err := c.catchUp(ctx, s, m.ID, c.lane(owner, m.ID), marks.of(owner).stamp); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) catchUp(ctx context.Context, s kv.Store, id string, l *lane, n int64) error {
	if !c.unbuilt.Load() && era(l.top()) == era(n) {
		return nil
	}
	now, err := l.era(ctx, s)
	if err != nil || era(n) == now {
		return c.failure(err)
	}
	recs, err := c.host.See(ctx, s, id)
	if err != nil {
		return err
	}
	return c.failure(c.moveUp(ctx, s, recs[0], l.laneName, dawn(now)))
}

// Repair moves rec up if a build may have missed the change of a dead process.
func (c *core) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, _ []string) error {
	marks := c.marks.all(rec.Mark)
	for _, place := range rec.Places {
		owner := ownerOf(place)
		if m := marks.of(owner); m.stamp != 0 {
			if err := c.repair(ctx, s, rec, c.lane(owner, rec.ID), m); err != nil {
				return c.failure(err)
			}
		}
	}
	return nil
}

func (c *core) repair(ctx context.Context, s kv.Store, rec *plug.Seen, l *lane, m mark) error {
	there, count, err := l.holds(ctx, s, m.stamp, rec.ID)
	switch {
	case err != nil:
		return err
	case rec.Doubt && era(m.stamp) < era(count):
		return c.moveUp(ctx, s, rec, l.laneName, dawn(era(count)))
	case there:
		return nil
	}
	return c.enter(ctx, s, rec.ID, l.owner, m)
}

// moveUp moves rec to a dawn of a lane if its number there is of an earlier era. A build may still
// sort it.
func (c *core) moveUp(ctx context.Context, s kv.Store, rec *plug.Seen, in laneName, dawn int64) error {
	st, ok := c.standingIn(rec, in)
	if !ok || era(st.stamp) >= era(dawn) {
		return nil
	}
	l, m := c.laneOf(st), mark{dawn, st.at}
	errs := kv.Together(ctx, s,
		func(s kv.Store) error { return l.publish(ctx, s, entry{m.stamp, m.at, []byte(rec.ID)}) },
		func(s kv.Store) error {
			return c.keepWhile(ctx, s, rec, func(rec *plug.Seen) ([]byte, bool) {
				now, ok := c.standingIn(rec, in)
				return c.marks.with(rec.Mark, in.owner, m), ok && era(now.stamp) < era(dawn)
			})
		},
	)
	return cmp.Or(errs...)
}

func (c *core) keepWhile(ctx context.Context, s kv.Store, rec *plug.Seen, change func(*plug.Seen) (kept []byte, changed bool)) error {
	for range pushTries {
		kept, changed := change(rec)
		if !changed {
			return nil
		}
		err := c.host.Keep(ctx, s, rec, kept)
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
