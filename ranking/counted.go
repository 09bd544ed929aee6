package ranking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// counted is a board by a counter, or by a method of records with a counter. Its members have
// records of their own that hold their scores.
//
// To follow is to read the member's record, then the counter and the model's record, then to move
// the member, unless its record changed meanwhile. If the member is already in place, following a
// change still writes the record, as a fence against another process that read the counter before
// the change. So the last follower always has the last count.
type counted struct {
	*core
	counter Counter
	batch   Batch
	window  *window
}

var (
	_ plug.Index     = (*counted)(nil)
	_ tally.Follower = (*counted)(nil)
)

func (f *counted) begin() {
	f.window = newWindow(f.host.DB(), f.reports)
	f.window.size, f.window.apply = f.size, f.apply
	f.host.DB().AtFlush(f.window.flush)
	f.host.DB().Finishes(f.noteName(), f.finish)
}

func (f *counted) finish(ctx context.Context, s kv.Store, texts []string) error {
	return f.failure(finishNotes(ctx, s, f.reports, texts, func(n note) tree {
		if f.per != Forever && !f.per.add(n.at, f.keep).After(f.host.DB().Now()) {
			return tree{}
		}
		return f.tree(n.by, f.time(n.at))
	}))
}

// The board follows after the commit.
func (f *counted) Prepare(_ context.Context, _ kv.Store, m *plug.Move) error {
	for _, text := range m.Gained {
		p, err := parsePlace(text)
		if err == nil {
			err = p.err()
		}
		if err != nil {
			return f.failure(err)
		}
	}
	return nil
}

func (f *counted) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if !m.Rebuilds() {
		return nil
	}
	if err := f.followAt(ctx, s, m.Is, m.ID, f.kept(), keytree.FenceThere); err != nil {
		return err
	}
	return f.eachBoard(ctx, s, m.Is, f.kept(), func(s kv.Store, by string, at time.Time) error {
		err := f.tree(by, at).Restore(ctx, s, m.ID)
		f.noteLoss(by, at)
		return err
	})
}

// afterOne follows in all kept periods. A board that the record left may not have entered it yet.
func (f *counted) afterOne(ctx context.Context, s kv.Store, m *plug.Move) error {
	if m.New && !f.scored {
		return nil // Not counted yet, so it is on no board.
	}
	fence := keytree.FenceThere
	if len(m.Lost) > 0 {
		fence = keytree.FenceAll
	}
	times := f.kept()
	if m.Base == 0 {
		times = times[:1] // A new record has no counts in earlier periods.
	}
	return f.followAt(ctx, s, slices.Concat(m.Lost, m.Gained), m.ID, times, fence)
}

func (f *counted) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	come := make(map[string][]string)
	var others []*plug.Move
	for _, m := range moves {
		if m.Base != 0 || len(m.Lost) > 0 || m.New && !f.scored {
			others = append(others, m)
			continue
		}
		boards, err := boardsIn(m.Gained)
		if err != nil {
			return f.failure(err)
		}
		for _, by := range boards {
			come[by] = append(come[by], m.ID)
		}
	}
	now := f.host.DB().Now()
	err := perBoard(ctx, s, come, func(s kv.Store, by string, ids []string) error {
		due := new(keytree.Due)
		errs := f.follow(ctx, s, by, now, ids, keytree.FenceThere, due)
		return f.reports.finish(ctx, s, due, kv.Join(errs...), f.reports.now)
	})
	errs := kv.Each(ctx, s, others, func(s kv.Store, _ int, m *plug.Move) error { return f.afterOne(ctx, s, m) })
	return kv.Join(append(errs, f.failure(err))...)
}

func (f *counted) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return f.followAt(ctx, s, places, rec.ID, f.kept(), keytree.FenceAll)
}

func (f *counted) Check(_ context.Context, _ kv.Store, recs []*plug.Seen) ([][]string, error) {
	return nil, nil
}

func (f *counted) followAt(ctx context.Context, s kv.Store, places []string, id string, times []time.Time, fence keytree.Fence) error {
	return f.eachBoard(ctx, s, places, times, func(s kv.Store, by string, at time.Time) error {
		due := new(keytree.Due)
		errs := f.follow(ctx, s, by, at, []string{id}, fence, due)
		return f.reports.finish(ctx, s, due, errs[0], f.reports.now)
	})
}

func (f *counted) eachBoard(ctx context.Context, s kv.Store, places []string, times []time.Time, step func(s kv.Store, by string, at time.Time) error) error {
	boards, err := boardsIn(places)
	if err != nil {
		return f.failure(err)
	}
	return f.failure(kv.Join(kv.Each(ctx, s, boards, func(s kv.Store, _ int, by string) error {
		return kv.Join(kv.Each(ctx, s, times, func(s kv.Store, _ int, at time.Time) error { return step(s, by, at) })...)
	})...))
}

// followThere follows no change, so it needs no fence.
func (f *counted) followThere(ctx context.Context, by string, at time.Time, ids []string) error {
	for some := range slices.Chunk(ids, followAtOnce) {
		var errs []error
		err := f.reports.making(ctx, func(s kv.Store, due *keytree.Due) { errs = f.follow(ctx, s, by, at, some, keytree.NoFence, due) })
		if err := kv.Join(append(errs, err)...); err != nil {
			return err
		}
	}
	return nil
}

func (f *counted) follow(ctx context.Context, s kv.Store, by string, at time.Time, ids []string, fence keytree.Fence, due *keytree.Due) []error {
	if f.atomic() {
		fence = keytree.NoFence // A transaction excludes other readers.
	}
	settings := make([]keytree.Setting, len(ids))
	for i, id := range ids {
		settings[i] = keytree.Setting{ID: id, Fence: fence}
	}
	t := f.tree(by, at)
	return t.SetAll(ctx, s, t.own, settings, f.toCounts(by, at, ids), due)
}

// If reading the counts together fails, toCounts reads one at a time.
func (f *counted) toCounts(by string, at time.Time, ids []string) keytree.Changes {
	each := keytree.OneByOne(func(i int) keytree.Change { return f.toCount(by, at, ids[i]) })
	return func(ctx context.Context, s kv.Store, settings []int, old []keytree.State) ([]keytree.State, []error) {
		if len(settings) > 1 {
			some := kv.Texts(settings, func(i int) string { return ids[i] })
			if to, err := f.current(ctx, s, by, at, some); err == nil {
				return to, nil
			}
		}
		return each(ctx, s, settings, old)
	}
}

func (f *counted) toCount(by string, at time.Time, id string) keytree.Change {
	return func(ctx context.Context, s kv.Store, old keytree.State) (keytree.State, error) {
		to, err := f.current(ctx, s, by, at, []string{id})
		if f.per != Forever && wire.IsCorrupt(err) {
			if err = f.mendCount(ctx, s, id, at, old); err == nil {
				to, err = f.current(ctx, s, by, at, []string{id})
			}
		}
		if err != nil {
			return keytree.State{}, err
		}
		return to[0], nil
	}
}

func (f *counted) current(ctx context.Context, s kv.Store, by string, at time.Time, ids []string) ([]keytree.State, error) {
	var recs []*plug.Seen
	var counts []int64
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { recs, err = f.host.SeeMarks(ctx, s, ids...); return err },
	}
	if !f.scored {
		works = append(works, func(s kv.Store) (err error) { counts, err = f.counts(ctx, s, ids, at); return err })
	}
	if err := kv.Join(kv.Together(ctx, s, works...)...); err != nil {
		return nil, err
	}
	to := make([]keytree.State, len(recs))
	for i, rec := range recs {
		to[i] = f.stateOf(by, rec)
		if !f.scored {
			to[i].Score, to[i].In = keytree.FromInt(counts[i]).WithTie(to[i].Score.Tie()), to[i].In && counts[i] != tally.None
		}
	}
	return to, nil
}

func (f *counted) counts(ctx context.Context, s kv.Store, ids []string, at time.Time) ([]int64, error) {
	if f.per == Forever {
		return f.counter.Counts(ctx, s, ids)
	}
	return f.inPeriod(ctx, s, ids, at)
}

func (c *core) inPeriod(ctx context.Context, s kv.Store, ids []string, at time.Time) ([]int64, error) {
	keys := kv.Texts(ids, func(id string) string { return c.periodKey(id, at) })
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(ids))
	for i, r := range results {
		if r.Err != nil {
			counts[i] = tally.None
			continue
		}
		if counts[i], err = kv.ParseNumber(r.Value); err != nil {
			return nil, wire.Corrupt(keys[i], err)
		}
	}
	return counts, nil
}

// mendCount resets a damaged count of a period to the score in old, the last one the board
// followed. Without one, counting starts over.
func (f *counted) mendCount(ctx context.Context, s kv.Store, id string, at time.Time, old keytree.State) error {
	key := f.periodKey(id, at)
	r, err := kv.One(ctx, s, kv.OpGet(key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := kv.ParseNumber(r.Value); err == nil {
		return nil // Another process repaired it.
	}
	op := kv.OpDrop(key, r.Version)
	if now := f.host.DB().Now(); old.In {
		op = kv.OpSwap(key, r.Version, strconv.AppendInt(nil, old.Score.Int(), 10)).For(f.lasts(at, now))
	}
	if _, err := kv.One(ctx, s, op); !kv.Raced(err) {
		return err
	}
	return nil
}

func (f *counted) lasts(at, now time.Time) time.Duration {
	return min(max(f.per.add(at, f.keep).Sub(now), time.Second), kv.MaxTTL)
}

var countKey = kv.NewClass("per", 4) // model, index, period, id text

func (c *core) periodKey(id string, at time.Time) string {
	return countKey.KeyOfText([]string{c.host.Model(), c.name, c.per.name(at)}, id)
}

func (f *counted) OnlyFollows() bool { return f.per == Forever }

func (f *counted) Counting(ctx context.Context, s kv.Store, id string, delta int64) error {
	if f.per == Forever {
		return nil
	}
	now := f.host.DB().Now()
	_, err := kv.Adjust(ctx, s, f.periodKey(id, now), delta, f.lasts(now, now))
	return f.failure(err)
}

func (f *counted) Counted(ctx context.Context, id string, _, count int64) error {
	changed := change{id: id, at: f.per.begin(f.window.db.Now())}
	switch f.batch {
	case Every:
		return summary(f.window.write(ctx, []change{changed}))
	case Sampled:
		if kv.Random()%uint64(interval(f.size(), count)) == 0 {
			f.window.writeLater(ctx, changed)
		}
	default:
		// If the window is full, the record's next change makes up for this one.
		_ = f.window.add(changed)
	}
	return nil
}

func (f *counted) size() int {
	if f.many {
		return manyMembers
	}
	return f.now("").Size()
}

const manyMembers = 1 << 16

func (f *counted) apply(ctx context.Context, s kv.Store, changes []change, due *keytree.Due) []error {
	boards, errs := f.boardsOf(ctx, s, changes)
	var keys []boardKey
	trees := make(map[boardKey][]int)
	for i, c := range changes {
		for _, by := range boards[i] {
			key := boardKey{by, c.at}
			if trees[key] == nil {
				keys = append(keys, key)
			}
			trees[key] = append(trees[key], i)
		}
	}
	kv.Each(ctx, s, keys, func(s kv.Store, _ int, key boardKey) error {
		of := trees[key]
		ids := kv.Texts(of, func(i int) string { return changes[i].id })
		for i, err := range f.follow(ctx, s, key.by, f.time(key.at), ids, keytree.FenceThere, due) {
			errs[of[i]] = cmp.Or(errs[of[i]], err)
		}
		return nil
	})
	for i, err := range errs {
		errs[i] = f.failure(err)
	}
	return errs
}

func (f *counted) boardsOf(ctx context.Context, s kv.Store, changes []change) ([][]string, []error) {
	boards, errs := make([][]string, len(changes)), make([]error, len(changes))
	if !f.many {
		for i := range boards {
			boards[i] = []string{""}
		}
		return boards, errs
	}
	recs, err := f.host.See(ctx, s, kv.Texts(changes, func(c change) string { return c.id })...)
	if err == nil {
		for i, rec := range recs {
			boards[i], errs[i] = boardsIn(rec.Places)
		}
		return boards, errs
	}
	// Read one by one, so that a failure delays no other.
	return boards, kv.Each(ctx, s, changes, func(s kv.Store, i int, c change) error {
		recs, err := f.host.See(ctx, s, c.id)
		if err == nil {
			boards[i], err = boardsIn(recs[0].Places)
		}
		return err
	})
}

func boardsIn(places []string) (values []string, err error) {
	for _, text := range places {
		p, err := parsePlace(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(values, p.by) {
			values = append(values, p.by)
		}
	}
	return values, nil
}

func (f *counted) Purge(ctx context.Context, s kv.Store, gone plug.Gone, fence func() error) error {
	boards := []string{""}
	if f.many {
		var err error
		if boards, err = boardsIn(gone.Places); err != nil {
			return f.failure(err)
		}
	}
	var keys []string
	for _, at := range f.kept() {
		if f.per != Forever {
			keys = append(keys, f.periodKey(gone.ID, at))
		}
		for _, by := range boards {
			keys = append(keys, f.tree(by, at).own.Key(gone.ID))
		}
	}
	return f.failure(dropKeys(ctx, s, keys, fence))
}

func dropKeys(ctx context.Context, s kv.Store, keys []string, fence func() error) error {
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	var drops []kv.Op
	for i, r := range results {
		if r.Err == nil {
			drops = append(drops, kv.OpDrop(keys[i], r.Version))
		}
	}
	if len(drops) == 0 {
		return nil
	}
	if err := fence(); err != nil {
		return err
	}
	return s.Do(ctx, drops)
}
