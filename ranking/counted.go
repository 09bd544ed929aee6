package ranking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// counted is a board by a counter, or by a method of records that have one. Its
// members have records of their own, which hold their scores. It brings them up to
// date with the counter when a batch is written, and when the write path has
// changed which records are on the board.
//
// Following always works the same way: read the member's record, then the counter
// and the model's record, then move the member there. The counter is read after
// the member's record, and that record must not have changed when it is written. If the
// member is there already, a follower of a change writes the record all the same, as
// a fence: another process may have looked before the change and be about to write what
// it has seen. So the last one to follow has seen the last count, in whatever order they
// come.
type counted struct {
	*core
	counter kvmodel.Counter
	batch   Batch
	window  *window
}

var (
	_ plug.Index       = (*counted)(nil)
	_ plug.Together    = (*counted)(nil)
	_ kvmodel.Follower = (*counted)(nil)
)

func newCounted(c *core, counter kvmodel.Counter, batch Batch) *counted {
	f := &counted{core: c, counter: counter, batch: batch}
	c.catchUp = f.followThere
	return f
}

// begin opens the window.
func (f *counted) begin() {
	f.window = newWindow(f.host.DB(), f.reports)
	f.window.size, f.window.apply = f.size, f.apply
	f.host.DB().AtFlush(f.window.flush)
	f.host.DB().Finishes(f.noteName(), f.finish)
}

// finish finishes what a dead process has noted.
func (f *counted) finish(ctx context.Context, s kv.Store, texts []string) error {
	return f.failure(finishNotes(ctx, s, f.reports, texts, func(n note) tree {
		if f.per != Forever && !f.per.add(n.at, f.keep).After(f.host.DB().Now()) {
			return tree{}
		}
		return f.tree(n.by, f.time(n.at))
	}))
}

// Prepare rejects a record that cannot be on the board. The board follows once the
// record has committed.
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

// Beside follows if a rebuild is entering the record, which does not change it. A member
// that stays where it is gets its entry, should that be missing.
func (f *counted) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if !rebuilds(m) {
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

// After follows on the boards that the record has left and on those it has come to, in all
// periods that are kept. One that it has left may not have it yet.
func (f *counted) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	if m.New && !f.scored {
		return nil // Nobody has counted it, so it is on no board.
	}
	fence := keytree.FenceThere
	if len(m.Lost) > 0 {
		fence = keytree.FenceAll
	}
	times := f.kept()
	if m.Base == 0 {
		times = times[:1] // Nothing was counted of what has never been there.
	}
	return f.followAt(ctx, s, slices.Concat(m.Lost, m.Gained), m.ID, times, fence)
}

// AfterAll follows together for those that have come to one board, if they have left none
// and were never there before.
func (f *counted) AfterAll(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	come := make(map[string][]string) // ids, by board
	var others []*plug.Move
	for _, m := range moves {
		if m.Base != 0 || len(m.Lost) > 0 || m.New && !f.scored {
			others = append(others, m)
			continue
		}
		for _, text := range f.boards(m.Gained) {
			p, err := parsePlace(text)
			if err != nil {
				return f.failure(err)
			}
			come[p.by] = append(come[p.by], m.ID)
		}
	}
	now := f.host.DB().Now()
	err := perBoard(ctx, s, come, func(s kv.Store, by string, ids []string) error {
		due := new(keytree.Due)
		errs := f.follow(ctx, s, by, now, ids, keytree.FenceThere, due)
		return f.reportDue(ctx, s, due, kv.Join(errs...), f.reports.now)
	})
	errs := kv.Each(ctx, s, others, func(s kv.Store, _ int, m *plug.Move) error { return f.After(ctx, s, m) })
	return kv.Join(append(errs, f.failure(err))...)
}

// Repair follows on the boards of places.
func (f *counted) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return f.followAt(ctx, s, places, rec.ID, f.kept(), keytree.FenceAll)
}

// Check reports nothing: a board by a counter may lag.
func (f *counted) Check(_ context.Context, _ kv.Store, recs []*plug.Seen) ([][]string, error) {
	return nil, nil
}

func (f *counted) followAt(ctx context.Context, s kv.Store, places []string, id string, times []time.Time, fence keytree.Fence) error {
	return f.eachBoard(ctx, s, places, times, func(s kv.Store, by string, at time.Time) error {
		due := new(keytree.Due)
		errs := f.follow(ctx, s, by, at, []string{id}, fence, due)
		return f.reportDue(ctx, s, due, errs[0], f.reports.now)
	})
}

// eachBoard does step for the boards of places in the periods that hold times, side by
// side.
func (f *counted) eachBoard(ctx context.Context, s kv.Store, places []string, times []time.Time, step func(s kv.Store, by string, at time.Time) error) error {
	return f.eachPlace(ctx, s, f.boards(places), func(s kv.Store, p place) error {
		return kv.Join(kv.Each(ctx, s, times, func(s kv.Store, _ int, at time.Time) error { return step(s, p.by, at) })...)
	})
}

// boards returns one of places for each board among them.
func (f *counted) boards(places []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(places), func(text string) bool {
		p, err := parsePlace(text)
		again := err == nil && seen[p.by]
		seen[p.by] = true
		return again
	})
}

// followThere follows for ids on the board of by, in the period that holds at. It looks
// without a change, so another that looked before may have seen the same.
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

// followAtOnce is how many members are followed side by side.
const followAtOnce = 500

// follow moves the members ids of the board of by to where they belong, and returns
// an error for each.
func (f *counted) follow(ctx context.Context, s kv.Store, by string, at time.Time, ids []string, fence keytree.Fence, due *keytree.Due) []error {
	if f.atomic() {
		fence = keytree.NoFence // Nobody looks during a transaction.
	}
	settings := make([]keytree.Setting, len(ids))
	for i, id := range ids {
		settings[i] = keytree.Setting{ID: id, Fence: fence}
	}
	t := f.tree(by, at)
	return t.SetAll(ctx, s, t.own, settings, f.toCounts(by, at, ids), due)
}

// toCounts is the changes that move the members ids of the board of by to where they
// belong. It looks at each by itself if it cannot look at all together.
func (f *counted) toCounts(by string, at time.Time, ids []string) keytree.Changes {
	each := keytree.OneByOne(func(i int) keytree.Change { return f.toCount(by, at, ids[i]) })
	return func(ctx context.Context, s kv.Store, settings []int, old []keytree.State) ([]keytree.State, []error) {
		if len(settings) > 1 {
			some := kv.Texts(settings, func(i int) string { return ids[i] })
			if to, err := f.look(ctx, s, by, at, some); err == nil {
				return to, nil
			}
		}
		return each(ctx, s, settings, old)
	}
}

// toCount is the change that moves the member id of the board of by to where it
// belongs.
func (f *counted) toCount(by string, at time.Time, id string) keytree.Change {
	return func(ctx context.Context, s kv.Store, old keytree.State) (keytree.State, error) {
		to, err := f.look(ctx, s, by, at, []string{id})
		if f.per != Forever && wire.IsCorrupt(err) {
			if err = f.mendCount(ctx, s, id, at, old); err == nil {
				to, err = f.look(ctx, s, by, at, []string{id})
			}
		}
		if err != nil {
			return keytree.State{}, err
		}
		return to[0], nil
	}
}

// look reads the records ids, and their counts if these are the scores, and returns where
// they belong on the board of by.
func (f *counted) look(ctx context.Context, s kv.Store, by string, at time.Time, ids []string) ([]keytree.State, error) {
	var recs []*plug.Seen
	var counts []int64
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { recs, err = f.host.See(ctx, s, ids...); return err },
	}
	if !f.scored {
		works = append(works, func(s kv.Store) (err error) { counts, err = f.counts(ctx, s, ids, at); return err })
	}
	if err := kv.Join(kv.Together(ctx, s, works...)...); err != nil {
		return nil, err
	}
	to := make([]keytree.State, len(recs))
	for i, rec := range recs {
		to[i] = stateOf(by, rec)
		if !f.scored {
			to[i].Score, to[i].In = keytree.FromInt(counts[i]).WithTie(to[i].Score.Tie()), to[i].In && counts[i] != kvmodel.NoNumber
		}
	}
	return to, nil
}

// counts returns the counts of ids, in the period that holds at if there are
// periods; NoNumber for those that have none.
func (f *counted) counts(ctx context.Context, s kv.Store, ids []string, at time.Time) ([]int64, error) {
	if f.per == Forever {
		return f.counter.Counts(ctx, s, ids)
	}
	return f.inPeriod(ctx, s, ids, at)
}

// inPeriod returns the counts of ids in the period that holds at; NoNumber for those
// that have none.
func (c *core) inPeriod(ctx context.Context, s kv.Store, ids []string, at time.Time) ([]int64, error) {
	keys := kv.Texts(ids, func(id string) string { return c.periodKey(id, at) })
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(ids))
	for i, r := range results {
		if r.Err != nil {
			counts[i] = kvmodel.NoNumber
			continue
		}
		if counts[i], err = kv.ParseNumber(r.Value); err != nil {
			return nil, wire.Corrupt(keys[i], err)
		}
	}
	return counts, nil
}

// mendCount makes the damaged count of id, in the period that holds at, what the member's
// record says in old: what the board has followed last. If that is nothing, it begins
// over.
func (f *counted) mendCount(ctx context.Context, s kv.Store, id string, at time.Time, old keytree.State) error {
	key := f.periodKey(id, at)
	r, err := kv.One(ctx, s, kv.OpGet(key))
	if err != nil {
		return unlessGone(err)
	}
	if _, err := kv.ParseNumber(r.Value); err == nil {
		return nil // Another process has mended it.
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

func unlessGone(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// lasts returns for how long after now the counts of the period that holds at are kept.
func (f *counted) lasts(at, now time.Time) time.Duration {
	return min(max(f.per.add(at, f.keep).Sub(now), time.Second), kv.MaxTTL)
}

// countKey is the class of a record's counts in periods.
var countKey = kv.NewClass("per", 4) // model, index, period, id text

func (c *core) periodKey(id string, at time.Time) string {
	return countKey.KeyOfText([]string{c.host.Model(), c.name, c.per.name(at)}, id)
}

// OnlyFollows reports whether the board has no counts of its own, as it has by periods.
func (f *counted) OnlyFollows() bool { return f.per == Forever }

// Counting counts in the current period.
func (f *counted) Counting(ctx context.Context, s kv.Store, id string, delta int64) error {
	if f.per == Forever {
		return nil
	}
	now := f.host.DB().Now()
	_, err := kv.Adjust(ctx, s, f.periodKey(id, now), delta, f.lasts(now, now))
	return f.failure(err)
}

// Counted follows the counter now, later, or at random not at all.
func (f *counted) Counted(ctx context.Context, id string, _, count int64) error {
	changed := change{id: id, at: f.per.begin(f.window.db.Now())}
	switch f.batch {
	case Every:
		return f.window.write(ctx, []change{changed}).err()
	case Sampled:
		if chosen(interval(f.size(), count)) {
			f.window.writeLater(ctx, changed)
		}
	default:
		// If there is no room, the record's next change brings this one.
		_ = f.window.add(changed)
	}
	return nil
}

// size returns about how many members the board has, as far as this process knows.
func (f *counted) size() int {
	if f.many {
		return manyMembers
	}
	return f.now("").Size()
}

// manyMembers stands in for the size if there is a board for each value.
const manyMembers = 1 << 16

// apply finds the boards on which the records of changes belong, and follows there.
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

// boardKey identifies the board of a value in a period.
type boardKey struct {
	by string
	at time.Time // when the period began; zero without periods
}

// time returns a time in the period that began at.
func (c *core) time(at time.Time) time.Time {
	if c.per == Forever {
		return c.host.DB().Now()
	}
	return at
}

// boardsOf returns the values on whose boards the record of each of changes belongs.
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
	// Those that can be read are not to wait for the others.
	return boards, kv.Each(ctx, s, changes, func(s kv.Store, i int, c change) error {
		recs, err := f.host.See(ctx, s, c.id)
		if err == nil {
			boards[i], err = boardsIn(recs[0].Places)
		}
		return err
	})
}

// boardsIn returns the values of places.
func boardsIn(places []string) (values []string, err error) {
	for _, text := range places {
		p, err := parsePlace(text)
		if err != nil {
			return nil, err
		}
		values = append(values, p.by)
	}
	return values, nil
}
