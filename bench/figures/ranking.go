package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

var rankingFigures = []func(*bench) error{
	func(b *bench) error {
		return b.rankAll(inMemory(), zipfLoad, (*ranked).windows, (*ranked).samples, (*ranked).viewRivals)
	},
	func(b *bench) error { return b.rankAll(inMemory(), equalLoad) },
	rankAtOneScore,
	rankTies,
	rankTiesAtOnce,
	rankWords,
	rankOneBeginning,
	rankElsewhere,
}

// powerless is a store that can do no more than every store can.
type powerless struct{ kvmodel.Store }

func inMemory() backend {
	return backend{name: "memkv", store: powerless{memkv.New(memkv.Options{})}}
}

// rankElsewhere counts on the other stores, with all that they can do.
func rankElsewhere(b *bench) error {
	return b.eachOf([]opener{onUnsyncedBolt, onMemcached, onRedis}, func(on backend) error {
		return b.rankAll(on, zipfLoad, (*ranked).windows, (*ranked).samples)
	})
}

// A rankLoad is how members get their scores.
type rankLoad struct {
	name  string
	score func(*rand.Rand) int64
}

var (
	zipfLoad  = rankLoad{"Zipf", func(rng *rand.Rand) int64 { return int64(rand.NewZipf(rng, 1.1, 10, 1<<30).Uint64()) }}
	equalLoad = rankLoad{"one score", func(*rand.Rand) int64 { return 7 }}
)

// tally counts every op that stores are asked for, also after the reply.
type tally struct {
	mu sync.Mutex
	counted
}

// counted is what a tally has counted.
type counted struct{ trips, ops, read, wrote float64 }

func (t *tally) on(s kvmodel.Store) kvmodel.Store {
	return kvmodel.Trace(s, func(_ context.Context, trip kvmodel.Trip) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.trips++
		t.ops += float64(len(trip.Ops))
		for _, op := range trip.Ops {
			t.read += float64(len(op.Result.Value))
			t.wrote += float64(len(op.Value))
		}
	})
}

// during returns what is counted while work runs, per each of n.
func (t *tally) during(n int, work func() error) (counted, error) {
	before := t.now()
	err := work()
	now, of := t.now(), float64(n)
	return counted{
		(now.trips - before.trips) / of, (now.ops - before.ops) / of,
		(now.read - before.read) / of, (now.wrote - before.wrote) / of,
	}, err
}

func (t *tally) now() counted {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counted
}

// ranked is a ranking under measurement.
type ranked struct {
	*bench
	rankLoad
	n      int
	on     string // the name of the store
	store  kvmodel.Store
	rng    *rand.Rand
	tally  tally
	db     *kvmodel.DB
	tree   *ranking.Tree[int64]
	ids    []string
	scores map[string]int64
}

func (b *bench) ranked(on backend, l rankLoad, batch ranking.Batch) (*ranked, error) {
	r := &ranked{
		bench: b, rankLoad: l, n: b.size(100_000), on: on.name, store: on.store,
		rng: rand.New(rand.NewPCG(1, 2)), scores: map[string]int64{},
	}
	return r, r.open(batch)
}

// open makes r a process that knows nothing of the tree.
func (r *ranked) open(batch ranking.Batch) (err error) {
	r.db, err = open(r.tally.on(r.store))
	if err == nil {
		r.tree = newTree(r.db, batch)
	}
	return err
}

func newTree(db *kvmodel.DB, batch ranking.Batch) *ranking.Tree[int64] {
	return ranking.NewTree(db, ranking.TreeSpec[int64]{Name: "views", Of: ranking.Int[int64](), Batch: batch})
}

// fill makes members, each with a score of the load.
func (r *ranked) fill() error {
	for range r.n {
		id := kvmodel.NewID(time.Now())[10:]
		r.ids = append(r.ids, id)
		if err := r.set(r.ctx, id, r.score(r.rng)); err != nil {
			return err
		}
	}
	return r.db.Flush(r.ctx)
}

func (r *ranked) set(ctx context.Context, id string, score int64) error {
	r.scores[id] = score
	return r.tree.Set(ctx, id, score)
}

func (r *ranked) someID() string { return r.ids[r.rng.IntN(len(r.ids))] }

// line reports a figure of the load.
func (r *ranked) line(what string, value float64, t target) {
	r.report("ranking on "+r.on+", "+r.name+": "+what, round(value), t.varying())
}

func round(v float64) float64 {
	if v >= 1000 {
		return float64(int64(v + 0.5))
	}
	return float64(int64(v*1000+0.5)) / 1000
}

// What a change costs more so that a crash in the midst of it is mended: a line in the journal,
// and a second trip that reads and writes the leaf to end its intent.
const (
	intentTrips = 1
	intentOps   = 3
	intentBytes = 3 << 9
)

// rankAll measures a tree of one load from its first member on, and then more.
func (b *bench) rankAll(on backend, l rankLoad, more ...func(*ranked) error) error {
	r, err := b.ranked(on, l, ranking.Every)
	if err != nil {
		return err
	}
	c, err := r.tally.during(r.n, r.fill)
	if err != nil {
		return err
	}
	r.line("insert, all included: trips", c.trips, atMost(6))
	r.line("insert: ops", c.ops, atMost(6+intentOps))
	r.line("insert: bytes read", c.read, atMost(3<<10+intentBytes))
	r.line("insert: bytes written", c.wrote, atMost(3<<10+intentBytes))
	all := []func(*ranked) error{
		(*ranked).shape, (*ranked).queries, (*ranked).cold, (*ranked).pages,
		(*ranked).errors, (*ranked).moves, (*ranked).errors, (*ranked).refreshed,
	}
	for _, measure := range append(all, more...) {
		if err := measure(r); err != nil {
			return err
		}
	}
	return r.db.Close(b.ctx)
}

// popular returns a source of members as they are viewed: those with the greatest
// scores the most.
func (r *ranked) popular() func() string {
	ids := slices.Clone(r.ids)
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(r.scores[b], r.scores[a]) })
	return r.zipf(ids)
}

// any returns a source of members of which some are viewed the most, independently of
// their scores.
func (r *ranked) any() func() string { return r.zipf(r.ids) }

func (r *ranked) zipf(ids []string) func() string {
	zipf := rand.NewZipf(r.rng, 1.1, 10, uint64(len(ids)-1))
	return func() string { return ids[zipf.Uint64()] }
}

// shape measures the tree itself.
func (r *ranked) shape() error {
	report, err := r.tree.Verify(r.ctx)
	if err != nil {
		return err
	}
	deep, longest := 12.0, 13.0
	if r.n > 2_000_000 {
		deep, longest = 13, 15
	}
	r.line("pages on the way to a member", float64(report.Way)/float64(report.Members), atMost(deep))
	r.line("pages on the longest way", float64(report.Depth+1), atMost(longest))
	r.line("bits of the longest name", float64(2*report.Depth), atMost(30))
	r.line("leaves for each full one", float64(report.Leaves)*128/float64(r.n), atMost(4))
	r.line("bytes of a page", float64(report.Bytes)/float64(report.Leaves+report.Routers), target{})
	r.line("wrong or missing", float64(len(report.Wrong)+len(report.Missing)+report.Lost), exactly(0))
	return nil
}

// average returns what f asks for before it returns, in all of n calls, and what is
// then counted for each.
func (r *ranked) average(n int, f func(ctx context.Context) error) (c kvmodel.Cost, each counted, err error) {
	each, err = r.tally.during(n, func() error {
		c, err = r.cost(func(ctx context.Context) error { return repeat(n, func() error { return f(ctx) }) })
		return err
	})
	return c, each, err
}

// trips reports the trips and the keys of what f does.
func (r *ranked) trips(what string, n int, trips, keys float64, f func(ctx context.Context) error) error {
	c, _, err := r.average(n, f)
	if err != nil {
		return err
	}
	r.line(what+": trips", float64(c.Trips)/float64(n), atMost(trips))
	if keys > 0 {
		r.line(what+": keys", float64(c.Keys)/float64(n), atMost(keys))
		r.line(what+": bytes", float64(c.Read)/float64(n), atMost(5<<10))
	}
	return nil
}

func (r *ranked) rank(ctx context.Context) error {
	_, err := r.tree.Rank(ctx, r.someID())
	return err
}

func (r *ranked) top(ctx context.Context) error {
	_, _, _, err := r.tree.Page(ctx, "", 20)
	return err
}

func (r *ranked) bottom(ctx context.Context) error {
	_, _, _, err := r.tree.Ascending().Page(ctx, "", 20)
	return err
}

// queries measures a process that knows the tree.
func (r *ranked) queries() error {
	rank := r.rng.IntN(r.n-100) + 1
	at := func(ctx context.Context) error { _, err := r.tree.At(ctx, rank, 20); return err }
	if err := errors.Join(r.top(r.ctx), r.bottom(r.ctx), at(r.ctx)); err != nil {
		return err
	}
	return errors.Join(
		r.trips("Rank", 1000, 2, 16, r.rank),
		r.trips("first 20", 100, 2, 40, r.top),
		r.trips("last 20", 100, 2, 40, r.bottom),
		r.trips("At, again", 100, 2, 0, at),
	)
}

// cold measures processes that know nothing of the tree. The figures after it are
// those of the process that made the tree.
func (r *ranked) cold() error {
	defer func(db *kvmodel.DB, tree *ranking.Tree[int64]) { r.db, r.tree = db, tree }(r.db, r.tree)
	nothing := func() error { return nil }
	forgotten := func() error {
		// It may be gone already.
		_, _ = kv.One(r.ctx, r.store, kv.OpDelete("rank:views:edge"))
		return nil
	}
	at := func(ctx context.Context) error {
		_, err := r.tree.At(ctx, r.rng.IntN(r.n-100)+1, 20)
		return err
	}
	return errors.Join(
		r.first("first 20, cold, the first process of all", 9, forgotten, r.top),
		r.first("first 20, cold", 4, nothing, r.top),
		r.first("Rank, cold", 2, nothing, r.rank),
		r.first("At, cold", 8, nothing, at),
	)
}

// first reports the most trips that the first query of a process takes.
func (r *ranked) first(what string, trips float64, before func() error, ask func(context.Context) error) error {
	var asked spread
	for range 10 {
		if err := errors.Join(r.db.Flush(r.ctx), before(), r.open(ranking.Every), r.addTo(&asked, ask)); err != nil {
			return err
		}
	}
	r.line(what+": trips", float64(asked.most.Trips), atMost(trips))
	return nil
}

// pages pages through the ranking from somewhere.
func (r *ranked) pages() error {
	cursor := ""
	next := func(ctx context.Context) (err error) {
		_, cursor, _, err = r.tree.Page(ctx, cursor, 20)
		return err
	}
	var trips []int
	for range min(1000, r.n/25) {
		c, err := r.cost(next)
		if err != nil {
			return err
		}
		trips = append(trips, c.Trips)
	}
	slices.Sort(trips)
	sum := 0
	for _, t := range trips {
		sum += t
	}
	r.line("next page of 20: trips", float64(sum)/float64(len(trips)), atMost(3))
	r.line("next page of 20: trips, p99", float64(trips[len(trips)*99/100]), atMost(3))
	return nil
}

// moves measures changes of score within a leaf, as when a much viewed member gets
// one more view, and to another leaf.
func (r *ranked) moves() error {
	large := slices.DeleteFunc(slices.Clone(r.ids), func(id string) bool { return r.scores[id] < 1000 })
	near := func(ctx context.Context) error {
		id := large[r.rng.IntN(len(large))]
		return r.set(ctx, id, r.scores[id]+1)
	}
	far := func(ctx context.Context) error { return r.set(ctx, r.someID(), r.rng.Int64N(1<<40)) }
	if len(large) > 0 {
		if err := r.move("score + 1", 4.2+intentTrips, 4.3+intentOps, near); err != nil {
			return err
		}
	}
	return r.move("score anywhere", 5.3, 7.5+intentOps, far)
}

// move reports what a change costs. Reports of counts and splits come after the
// reply.
func (r *ranked) move(what string, trips, ops float64, change func(context.Context) error) error {
	n := max(1000, min(r.n/20, 50_000))
	c, all, err := r.average(n, change)
	if err != nil {
		return err
	}
	rest, err := r.tally.during(n, func() error { return r.db.Flush(r.ctx) })
	if err != nil {
		return err
	}
	r.line(what+": trips before and after the record", float64(c.Trips)/float64(n), atMost(trips))
	r.line(what+": ops before the reply", float64(c.Keys)/float64(n), atMost(ops))
	r.line(what+": ops, reports and splits included", all.ops+rest.ops, atMost(7.5+intentOps))
	r.line(what+": bytes read", all.read+rest.read, atMost(5<<10+intentBytes))
	r.line(what+": bytes written", all.wrote+rest.wrote, atMost(5<<10+intentBytes))
	return nil
}

// inOrder returns how many members stand before each, by a sorted slice. The order
// among equals is not known.
func (r *ranked) inOrder() (scores []int64) {
	scores = slices.Sorted(maps.Values(r.scores))
	slices.Reverse(scores)
	return scores
}

// errors measures by how much ranks are off.
func (r *ranked) errors() error {
	off, _, err := r.off(500)
	if err != nil {
		return err
	}
	r.line("ranks off while writing, median, %", off[len(off)/2], atMost(2.5))
	r.line("ranks off while writing, p99, %", off[len(off)*99/100], atMost(4))
	return nil
}

// refreshed measures them again with exact counts.
func (r *ranked) refreshed() error {
	if err := r.tree.Refresh(r.ctx); err != nil {
		return err
	}
	off, wrong, err := r.off(500)
	if err != nil {
		return err
	}
	r.line("ranks wrong after Refresh", float64(wrong), exactly(0))
	r.line("ranks off after Refresh, at most, %", off[len(off)-1], exactly(0))
	members, err := r.tree.At(r.ctx, 1, 20)
	if err != nil {
		return err
	}
	want, wrong := r.inOrder(), 0
	for i, m := range members {
		if m.Score != want[i] || m.Rank != i+1 {
			wrong++
		}
	}
	r.line("members wrong on the first page", float64(wrong), exactly(0))
	n, bytes := r.tree.Stats().Routers, r.tree.Stats().Bytes
	r.line("pages remembered by a process", float64(n), target{})
	r.line("bytes of memory for each member", float64(bytes)/float64(r.n), target{})
	return nil
}

// off returns, sorted, by how many percent the ranks of some members are off,
// and how many are wrong. A rank among equals is right anywhere among them.
func (r *ranked) off(samples int) (percent []float64, wrong int, err error) {
	scores := r.inOrder()
	for range samples {
		id := r.someID()
		got, err := r.tree.Rank(r.ctx, id)
		if err != nil {
			return nil, 0, err
		}
		first := sort.Search(len(scores), func(i int) bool { return scores[i] <= r.scores[id] }) + 1
		last := sort.Search(len(scores), func(i int) bool { return scores[i] < r.scores[id] })
		miss := max(first-got, got-last, 0)
		if miss > 0 {
			wrong++
		}
		percent = append(percent, 100*float64(miss)/float64(max(got, 1)))
	}
	slices.Sort(percent)
	return percent, wrong, nil
}

// windows measures changes that are gathered.
func (r *ranked) windows() error {
	return errors.Join(
		r.window("windows", r.popular(), atMost(1536)),
		r.window("windows of any members", r.any(), target{}),
	)
}

func (r *ranked) window(what string, view func() string, bytes target) error {
	if err := r.open(ranking.Windowed); err != nil {
		return err
	}
	var trips, ops, read, wrote float64
	const flushes = 20
	distinct := min(4000, r.n/4)
	for range flushes {
		if err := r.hit(distinct, view); err != nil {
			return err
		}
		c, err := r.tally.during(1, func() error { return r.db.Flush(r.ctx) })
		if err != nil {
			return err
		}
		trips, ops, read, wrote = trips+c.trips, ops+c.ops, read+c.read, wrote+c.wrote
	}
	updates := float64(flushes * distinct)
	r.line(what+": ops for each update", ops/updates, atMost(5))
	r.line(what+": bytes read for each update", read/updates, bytes)
	r.line(what+": bytes written for each update", wrote/updates, bytes)
	r.line(what+": trips of a flush", trips/flushes, atMost(8+5))
	return nil
}

// hit counts views until that many members were viewed.
func (r *ranked) hit(members int, view func() string) error {
	for seen := map[string]bool{}; len(seen) < members; {
		id := view()
		seen[id] = true
		r.scores[id]++
		if err := r.tree.Hit(r.ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// samples measures changes that are followed by chance.
func (r *ranked) samples() error {
	if err := errors.Join(r.open(ranking.Sampled), r.top(r.ctx)); err != nil {
		return err
	}
	view := r.any()
	views := max(50_000, min(r.n/5, 1_000_000))
	c, err := r.tally.during(views, func() error {
		err := repeat(views, func() error {
			id := view()
			r.scores[id]++
			return r.tree.Follow(r.ctx, id, r.scores[id])
		})
		return errors.Join(err, r.db.Flush(r.ctx))
	})
	if err != nil {
		return err
	}
	r.line("samples: ops for each view", c.ops, atMost(0.25))
	r.line("samples: bytes read for each view", c.read, atMost(150))
	r.line("samples: bytes written for each view", c.wrote, atMost(150))
	return nil
}

// viewRivals lets many processes follow counters of a few hot members.
func (r *ranked) viewRivals() error {
	return r.rivals("views sampled: lost writes for each update", ranking.Sampled, 400, func(p *rival) error {
		id := p.view()
		n, err := kv.Next(r.ctx, p.store, "views:"+id, r.scores[id], 1)
		if err != nil {
			return err
		}
		return p.tree.Follow(r.ctx, id, n)
	})
}

// rankAtOneScore lets many processes make members with one score.
func rankAtOneScore(b *bench) error {
	r, err := b.ranked(inMemory(), equalLoad, ranking.Every)
	if err != nil {
		return err
	}
	r.n = 20_000
	if err := r.fill(); err != nil {
		return err
	}
	return r.rivals("new members: lost writes for each", ranking.Every, 40, func(p *rival) error {
		return p.tree.Set(r.ctx, kvmodel.NewID(time.Now())[10:], 7)
	})
}

// rival is one of many processes.
type rival struct {
	store kvmodel.Store
	tree  *ranking.Tree[int64]
	view  func() string // a member that is viewed
}

// rivals lets many processes work in step: each trip of one happens at the same time
// as a trip of every other, in an order that changes. It reports how many writes lost
// against others, for each record that was written.
func (r *ranked) rivals(what string, batch ranking.Batch, times int, work func(*rival) error) error {
	step := newLockstep(r.store, r.rng)
	var mu sync.Mutex
	view := r.any()
	next := func() string {
		mu.Lock()
		defer mu.Unlock()
		return view()
	}
	failed := make(chan error, writers)
	var written, refused atomic.Int64
	for range writers {
		stepper := step.join()
		store := kvmodel.Trace(stepper, func(_ context.Context, trip kvmodel.Trip) {
			for _, op := range trip.Ops {
				switch {
				case op.Kind == kv.Get || !strings.HasPrefix(op.Key, "rank:"):
				case op.Kind == kv.CompareAndSwap && op.Result.Err != nil:
					refused.Add(1)
				case strings.HasPrefix(op.Key, "rank:views:i:"):
					written.Add(1)
				}
			}
		})
		db, err := kvmodel.Open(store)
		if err != nil {
			return err
		}
		p := &rival{store, newTree(db, batch), next}
		go func() { failed <- p.run(r.ctx, db, stepper, work, times) }()
	}
	for range writers {
		if err := <-failed; err != nil {
			return err
		}
	}
	lost, updates := float64(refused.Load()), max(1, float64(written.Load()))
	r.line(fmt.Sprint(writers, " writers, ", what), lost/updates, atMost(0.1))
	return nil
}

func (p *rival) run(ctx context.Context, db *kvmodel.DB, stepper *stepper, work func(*rival) error, times int) error {
	defer stepper.leave()
	return repeat(times, func() error {
		// The work after the reply is done here, so that a process has one trip
		// under way at a time.
		return errors.Join(work(p), db.Flush(ctx))
	})
}
