package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	_ plug.Index    = (*core)(nil)
	_ plug.Meeter   = (*core)(nil)
	_ plug.Finisher = (*core)(nil)
)

// newCore returns the core of an index. It panics if spec is invalid.
func newCore(spec spec, by owners) *core {
	c := &core{spec: spec, owners: by, shape: spec.Shape.shape(), shards: max(spec.Shards, 1), sorted: sortedAtOnce}
	if c.shards > MaxLanes {
		panic(fmt.Sprintf("timeline: %d shards; there can be %d", c.shards, MaxLanes))
	}
	return c
}

// join plugs c into records, as index.
func (c *core) join(records plug.Model, index plug.Index, idText func(plug.Record) string) {
	records.Plug(index, func(host plug.Host) {
		c.host, c.idText = host, idText
		c.keys = ringKey.Family(host.Model(), c.spec.Name)
		c.process = newProcess(host.DB())
	})
}

// idTextOf returns a function that returns the text of a record's id.
func idTextOf[T any, K comparable](records *kvmodel.Records[T, K]) func(plug.Record) string {
	key := records.IDs()
	return plug.Untyped(func(rec *T) string { return key.Text(records.ID(rec)) })
}

// lanesOf returns the lanes of one owner.
func (c *core) lanesOf(owners ...string) []*lane {
	n := len(owners) * c.shards
	all, lanes := make([]*lane, n), make([]lane, n)
	for i := range all {
		lanes[i] = c.placed(owners[i/c.shards], i%c.shards)
		all[i] = &lanes[i]
	}
	return all
}

func (c *core) shard(owner string, i int) *lane {
	l := c.placed(owner, i)
	return &l
}

// placed is shard for who has a place for the lane.
func (c *core) placed(owner string, i int) lane {
	base := c.keys.Key(owner)
	if c.shards > 1 {
		base += "#" + strconv.Itoa(i)
	}
	l := makeLane(c.process, base, c.shape)
	l.laneName = laneName{owner, i}
	return l
}

// lane returns the lane of the record with this id in the rings of owner. A record always has the
// same shard, so that its entries compare.
func (c *core) lane(owner, id string) *lane { return c.shard(owner, c.shardOf(id)) }

// Name returns the index's name.
func (c *core) Name() string { return c.spec.Name }

// Def returns the index's definition. It includes the shape, since another shape stores entries
// elsewhere.
func (c *core) Def() string { return c.spec.Def + " " + c.shape.def() }

// Places returns the places of rec, one for each owner.
func (c *core) Places(rec plug.Record) []string {
	if c.spec.If != nil && !c.spec.If(rec) || !c.holds(rec) {
		return nil
	}
	places, value := c.owners.Texts(rec), ""
	if c.spec.Value != nil {
		value = digest(c.spec.Value(rec))
	}
	for i, owner := range places {
		places[i] = owner + "#" + value
	}
	return places
}

// Limit returns an error if rec has too many owners.
func (c *core) Limit(rec plug.Record) error {
	if c.spec.If != nil && !c.spec.If(rec) {
		return nil
	}
	return c.owners.Limit(rec)
}

// belongs reports whether rec belongs in the lane. It is a faster form of Places, for pages.
func (c *core) belongs(rec *plug.Seen, in laneName) bool {
	v := rec.Value
	if v == nil || c.spec.If != nil && !c.spec.If(v) || !c.holds(v) {
		return false
	}
	return c.owners.Has(v, in.owner) && c.shardOf(rec.ID) == in.shard
}

// holds reports whether rec has a value.
func (c *core) holds(rec plug.Record) bool {
	switch {
	case c.spec.Holds != nil:
		return c.spec.Holds(rec)
	case c.spec.Value != nil:
		return c.spec.Value(rec) != ""
	}
	return true
}

// Prepare takes the numbers for the record's stamps.
func (c *core) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	places := entered(m)
	switch {
	case len(places) == 0:
		return nil
	case m.Early != nil:
		m.Mark = m.Early
		return nil
	case !c.several:
		n, err := c.number(ctx, s, ownerOf(places[0]), m.ID)
		m.Mark = n.encode()
		return err
	}
	return c.prepareAll(ctx, s, m, places)
}

// prepareAll is Prepare for a record with possibly several owners.
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
	m.Mark = c.without(m.Mark, func(owner string) bool { return !stay.Has(owner) })
	for i, place := range places {
		m.Mark = appendMark(m.Mark, ownerOf(place), marks[i])
	}
	return nil
}

// number returns a mark with a new number.
func (c *core) number(ctx context.Context, s kv.Store, owner, id string) (mark, error) {
	c.noteBuilt(ctx)
	n, err := c.lane(owner, id).take(ctx, s)
	return mark{n, c.db.Now().UnixMilli()}, c.failure(err)
}

// noteBuilt notes, before the first number is taken, whether the timeline may still be built. In a
// transaction no build can come between a number and its commit.
func (c *core) noteBuilt(ctx context.Context) {
	if c.atomic || c.settled.Load() || c.unbuilt.Load() {
		return
	}
	if c.host.Ready(ctx) == nil {
		c.settled.Store(true)
	} else {
		c.unbuilt.Store(true)
	}
}

// entered returns the places where m needs a new entry.
func entered(m *plug.Move) []string {
	if len(m.Had) == 0 {
		return m.Gained
	}
	return plug.Without(m.Gained, m.Had)
}

// Beside adds the entries. A reader does not show one before the record has its stamp.
func (c *core) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	places, marks := entered(m), c.marksIn(m.Mark)
	if len(places) == 1 { // the usual case
		return c.enterAt(ctx, s, m.ID, places[0], marks)
	}
	return kv.Join(kv.Each(ctx, s, places, func(s kv.Store, _ int, place string) error { return c.enterAt(ctx, s, m.ID, place, marks) })...)
}

// enterAt adds the entry of the record id at place. marks are the record's.
func (c *core) enterAt(ctx context.Context, s kv.Store, id, place string, marks marks) error {
	owner := ownerOf(place)
	return c.enter(ctx, s, id, owner, marks.of(owner))
}

func (c *core) enter(ctx context.Context, s kv.Store, id, owner string, m mark) error {
	l := c.lane(owner, id)
	if err := l.publish(ctx, s, entry{m.stamp, m.at, []byte(id)}); err != nil {
		return c.failure(err)
	}
	l.tidy(ctx, s, m.stamp)
	return nil
}

// After moves the records up whose change a build missed. Otherwise it does nothing: an old entry
// stays until its ring has come around, and readers skip it since the record has another stamp.
func (c *core) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	if c.atomic {
		return nil
	}
	if len(moves) != 1 {
		return plug.EachAlone(ctx, s, moves, c.After)
	}
	m := moves[0]
	marks := c.marksIn(m.Mark)
	for _, place := range entered(m) {
		owner := ownerOf(place)
		if err := c.catchUp(ctx, s, m.ID, c.lane(owner, m.ID), marks.of(owner).stamp); err != nil {
			return err
		}
	}
	return nil
}

// catchUp moves the record id up in l if a build missed the change that gave it the number n there.
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

// Repair adds missing entries of rec. If a build may have missed the change of a dead process,
// Repair moves the record up.
func (c *core) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, _ []string) error {
	if len(rec.Places) == 0 {
		return nil
	}
	marks := c.marksIn(rec.Mark)
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

// repair is Repair in the lane l, where the record has the mark m.
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

// Meet notes owners whose rings a rebuild has read.
func (c *core) Meet(places []string) {
	c.met.mu.Lock()
	defer c.met.mu.Unlock()
	if c.met.all == nil {
		c.met.all = make(map[string]bool)
	}
	for _, place := range places {
		c.met.all[ownerOf(place)] = true
	}
}

// ringsAtOnce is the number of owners' rings that a check or the end of a rebuild reads in
// parallel.
const ringsAtOnce = 16

// Finish removes unreadable bytes from the rings. The records have their entries again by now.
func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	for some := range slices.Chunk(c.met.take(), ringsAtOnce) {
		var lanes []*lane
		for _, owner := range some {
			lanes = append(lanes, c.lanesOf(owner)...)
		}
		err := cmp.Or(kv.Each(ctx, s, lanes, func(s kv.Store, _ int, l *lane) error { return l.mend(ctx, s) })...)
		if err != nil {
			return c.failure(err)
		}
	}
	return nil
}

// Check reports the records of recs without an entry where they belong.
func (c *core) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	wrong, all := make([][]string, len(recs)), make(map[laneName]*checked)
	for i, rec := range recs {
		marks := c.marksIn(rec.Mark)
		for _, place := range rec.Places {
			owner := ownerOf(place)
			m := marks.of(owner)
			if m.stamp == 0 {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s.%s: %s has no stamp%s", c.host.Model(), c.spec.Name, rec.ID, of(owner)))
				continue
			}
			in := laneName{owner, c.shardOf(rec.ID)}
			if all[in] == nil {
				all[in] = &checked{lane: c.shard(owner, in.shard)}
			}
			all[in].add(i, stamped{m.stamp, rec.ID})
		}
	}
	lanes := slices.SortedFunc(maps.Keys(all), laneName.compare)
	for some := range slices.Chunk(lanes, ringsAtOnce) {
		err := cmp.Or(kv.Each(ctx, s, some, func(s kv.Store, _ int, in laneName) error {
			return all[in].each(ctx, s, func(i int, e stamped) {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s.%s: %s has the stamp %d%s but no entry", c.host.Model(), c.spec.Name, e.id, e.n, of(in.owner)))
			})
		})...)
		if err != nil {
			return nil, c.failure(err)
		}
	}
	return wrong, nil
}

// checked are the records that a check looks for in one lane.
type checked struct {
	*lane
	at   []int // indexes into all records
	recs []stamped
}

func (c *checked) add(at int, rec stamped) { c.at, c.recs = append(c.at, at), append(c.recs, rec) }

// each calls missing for each record without an entry.
func (c *checked) each(ctx context.Context, s kv.Store, missing func(at int, e stamped)) error {
	for from := 0; from < len(c.recs); from += atOnce {
		some := c.recs[from:min(from+atOnce, len(c.recs))]
		there, _, err := c.holdAll(ctx, s, some)
		for k := range there {
			if !there[k] {
				missing(c.at[from+k], some[k])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// of returns " of owner" for messages, or "" for a shared ring.
func of(owner string) string {
	if owner == "" {
		return ""
	}
	return " of " + owner
}

// unowned is the index of a shared timeline. The ring of a change is known before the record is.
type unowned struct{ *core }

var _ plug.Early = unowned{}

// Early takes the number for Prepare.
func (u unowned) Early(ctx context.Context, s kv.Store, id string) ([]byte, error) {
	m, err := u.number(ctx, s, "", id)
	return m.encode(), err
}

// keepWhile stores the result of change in rec, and repeats that until nothing changes.
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

// moveUp moves rec to a dawn of a lane if its number there is of an earlier era. A build that has
// yet to sort the record still does so.
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
				return c.withMark(rec.Mark, in.owner, m), ok && era(now.stamp) < era(dawn)
			})
		},
	)
	return cmp.Or(errs...)
}

// laneOf returns the lane of st.
func (c *core) laneOf(st standing) *lane { return c.shard(st.owner, st.shard) }
