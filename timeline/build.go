package timeline

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A build enters the records of a model in a new timeline, in the order of the field: see B0 to B5
// in docs/internals/timelines.md.
//
// An interrupted build continues in the same era, after the last record noted. Up to that record,
// all have a number of the era: from a build, or above the dawn if they changed since. Later
// records are numbered again in order, so no two keep the same number. A record moves to the dawn
// if its change straddles the beginning of the era, or if it has moved before the last one without
// a change in the timeline. A lane without records when the era began has an order of its own.
type build struct {
	*core
	reached
	steps plug.Steps
	lane  *lane      // of last
	late  []standing // before last, not yet numbered
}

type reached struct {
	dawn  int64 // of its era; 0: not chosen
	begun bool  // in the lanes of all records
	last  *standing
	next  int64 // its number
}

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

var _ plug.Builder = (*core)(nil)

const enteredAtOnce = 100 // records in a trip

// Build reads all records, and again for every sortedAtOnce of them, and writes each once.
func (c *core) Build(ctx context.Context, steps plug.Steps) error {
	b := &build{core: c, steps: steps, reached: decodeReached(steps.From())}
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

// choose chooses an era above those of the lanes, and notes it before any lane enters it, so that
// no other process chooses another.
func (b *build) choose(ctx context.Context) error {
	if b.dawn != 0 {
		return nil
	}
	var last int64
	err := b.eachStanding(ctx, func(s kv.Store, st standing) error {
		now, err := b.laneOf(st).era(ctx, s)
		last = max(last, now, era(st.stamp))
		return err
	})
	if err != nil {
		return err
	}
	b.dawn = dawn(last + 1)
	return b.steps.Reached(ctx, b.encode(), plug.Many)
}

func (b *build) beginAll(ctx context.Context) error {
	if b.begun {
		return nil
	}
	err := b.eachStanding(ctx, func(s kv.Store, st standing) error { return b.laneOf(st).begin(ctx, s, era(b.dawn)) })
	if err != nil {
		return err
	}
	b.begun = true
	return b.steps.Reached(ctx, b.encode(), plug.Many)
}

func (b *build) eachStanding(ctx context.Context, step func(kv.Store, standing) error) error {
	return b.host.Each(ctx, func(recs []*plug.Seen) error {
		var all []standing
		for _, rec := range recs {
			all = append(all, b.standings(rec)...)
		}
		return cmp.Or(kv.Each(ctx, b.db.Store(), all, func(s kv.Store, _ int, st standing) error { return step(s, st) })...)
	})
}

func (b *build) enterSome(ctx context.Context) (more bool, err error) {
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
	return true, b.steps.Reached(ctx, b.encode(), plug.Many)
}

// wants reports whether st comes after the last one, and notes late ones.
func (b *build) wants(st standing) bool {
	switch {
	case st.stamp > b.dawn:
		return false
	case b.last == nil || b.last.compare(st) < 0:
		return true
	case era(st.stamp) < era(b.dawn):
		b.late = append(b.late, st)
	}
	return false
}

func (b *build) moveUpAll(ctx context.Context, some []standing) error {
	seen, old, err := b.see(ctx, some)
	if err != nil {
		return err
	}
	return cmp.Or(kv.Each(ctx, b.db.Store(), byRecord(some, old), func(s kv.Store, _ int, of []int) error {
		for _, i := range of {
			if err := b.moveUp(ctx, s, seen[i], some[i].laneName, b.dawn); err != nil {
				return err
			}
		}
		return nil
	})...)
}

func (b *build) see(ctx context.Context, some []standing) (seen []*plug.Seen, old []bool, err error) {
	seen, err = b.host.See(ctx, b.db.Store(), kv.Texts(some, func(st standing) string { return st.id })...)
	if err == nil {
		old, err = b.old(ctx, some, seen)
	}
	return seen, old, err
}

func byRecord(some []standing, chosen []bool) (groups [][]int) {
	at := make(map[string]int)
	for i, st := range some {
		if !chosen[i] {
			continue
		}
		g, there := at[st.id]
		if !there {
			g, groups = len(groups), append(groups, nil)
			at[st.id] = g
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// old reports which of some are in a lane with old records. A lane without records when the era
// began has only numbers of its own; beginning the era there would hide them.
func (b *build) old(ctx context.Context, some []standing, seen []*plug.Seen) ([]bool, error) {
	old := make([]bool, len(some))
	errs := kv.Each(ctx, b.db.Store(), some, func(s kv.Store, i int, st standing) error {
		now, ok := b.standingIn(seen[i], st.laneName)
		if !ok {
			return nil
		}
		l := b.laneOf(st)
		count, _, err := l.readCounter(ctx, s)
		if err != nil || count >= 0 && count < b.dawn && now.stamp != 0 && era(now.stamp) == era(count) {
			return err
		}
		old[i] = true
		if count >= b.dawn {
			return nil
		}
		return l.begin(ctx, s, era(b.dawn)) // the counter was lost
	})
	return old, cmp.Or(errs...)
}

type numberedRecord struct {
	standing
	lane *lane
	mark mark
}

func (b *build) enter(ctx context.Context, some []standing) error {
	seen, old, err := b.see(ctx, some)
	if err != nil {
		return err
	}
	var ours []numberedRecord
	all := b.number(some)
	for i, r := range all {
		if old[i] {
			ours = append(ours, r)
		}
	}
	var keeps []func(kv.Store) error
	for _, of := range byRecord(some, old) {
		keeps = append(keeps, func(s kv.Store) error { return b.keep(ctx, s, seen[of[0]], all, of) })
	}
	return cmp.Or(kv.Together(ctx, b.db.Store(), append(b.publish(ctx, ours), keeps...)...)...)
}

func (b *build) number(some []standing) []numberedRecord {
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

func (b *build) publish(ctx context.Context, all []numberedRecord) (works []func(kv.Store) error) {
	for len(all) > 0 {
		l, g := all[0].lane, all[0].lane.shape
		block, end, data := g.block(all[0].mark.stamp), 0, []byte(nil)
		for ; end < len(all) && all[end].lane == l && g.block(all[end].mark.stamp) == block; end++ {
			if r := all[end]; r.mark.stamp >= g.oldest(b.dawn) {
				data = entry{r.mark.stamp, r.mark.at, []byte(r.id)}.encode(data)
			}
		}
		if all = all[end:]; len(data) > 0 {
			a, i := addition{key: l.key(g.segment(block)), data: seal(data)}, g.segment(block)
			works = append(works, func(s kv.Store) error {
				return a.put(ctx, s, func() error { return l.trim(ctx, s, i, lastStamp) })
			})
		}
	}
	return works
}

func (b *build) keep(ctx context.Context, s kv.Store, rec *plug.Seen, all []numberedRecord, of []int) error {
	return b.keepWhile(ctx, s, rec, func(rec *plug.Seen) (kept []byte, changed bool) {
		kept = rec.Mark
		for _, i := range of {
			r := all[i]
			st, ok := b.standingIn(rec, r.laneName)
			stays := st.isAt(r.standing) || st.stamp == r.stamp
			if ok && stays && st.stamp <= b.dawn && st.stamp != r.mark.stamp {
				kept, changed = b.marks.with(kept, r.owner, r.mark), true
			}
		}
		return kept, changed
	})
}

func (c *core) foremost(ctx context.Context, wants func(standing) bool) (some []standing, err error) {
	cut := func() {
		slices.SortFunc(some, standing.compare)
		some = some[:min(len(some), c.sorted)]
	}
	err = c.host.Each(ctx, func(recs []*plug.Seen) error {
		for _, rec := range recs {
			for _, st := range c.standings(rec) {
				if wants(st) {
					some = append(some, st)
				}
			}
		}
		if len(some) >= 2*c.sorted {
			cut()
		}
		return nil
	})
	cut()
	return some, err
}
