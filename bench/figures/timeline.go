package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kvtest/servers"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

var timelineFigures = []func(*bench) error{
	timelineTrips,
	timelineSpace,
	footprints,
	homeFeeds,
	timelineSweeps,
	timelineWriters,
}

// eachBackend calls f with an empty store of every kind.
func (b *bench) eachBackend(f func(name string, s kvmodel.Store) error) error {
	if err := errors.Join(need("memcached"), need("redis-server")); err != nil {
		return err
	}
	memcached, err := servers.Memcached()
	if err != nil {
		return err
	}
	defer memcached.Stop()
	redis, err := servers.Redis()
	if err != nil {
		return err
	}
	defer redis.Stop()
	onMemcached, err := memcachekv.OpenVolatile([]string{memcached.Addr}, memcachekv.Options{})
	if err != nil {
		return err
	}
	onRedis, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: []string{redis.Addr}})
	if err != nil {
		return err
	}
	onBolt, err := boltkv.Open(b.dir+"/timeline.db", boltkv.Options{})
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name  string
		store kvmodel.Store
	}{{"memkv", memkv.New(memkv.Options{})}, {"boltkv", onBolt}, {"memcachekv", onMemcached}, {"rediskv", onRedis}} {
		if err := errors.Join(f(s.name, s.store), s.store.Close()); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// outliving is a store that its users do not close.
type outliving struct{ kvmodel.Store }

func (o outliving) Powers() kvmodel.Powers { return kvmodel.PowersOf(o.Store) }
func (outliving) Close() error             { return nil }

// news is the stories of one process, and what it asks of the store.
type news struct {
	*bench
	*models.Models
	db    *kvmodel.DB
	rng   *rand.Rand
	made  int
	stale int // percent of the entries that are of stories that have one already
}

func (b *bench) openNews(s kvmodel.Store, tenant string) (*news, error) {
	db, m, err := b.openModels(outliving{s}, kvmodel.Tenant(tenant))
	if err != nil {
		return nil, err
	}
	return &news{bench: b, Models: m, db: db, rng: rand.New(rand.NewPCG(1, 2))}, nil
}

func (n *news) id(i int) string { return fmt.Sprintf("s%025d", i) }

func (n *news) create(ctx context.Context) error {
	n.made++
	return n.Stories.Create(ctx, &models.Story{ID: n.id(n.made), Rest: strings.Repeat("x", 1000), Body: "first"})
}

func (n *news) bump(ctx context.Context, id string) error {
	_, err := n.Stories.Update(ctx, id, func(s *models.Story) error {
		s.Body = strconv.FormatUint(n.rng.Uint64(), 36)
		return nil
	})
	return err
}

// write makes one entry.
func (n *news) write(ctx context.Context) error {
	if n.made > 100 && n.rng.IntN(100) < n.stale {
		return n.bump(ctx, n.id(n.made-n.rng.IntN(100)))
	}
	return n.create(ctx)
}

func (n *news) costOf(work func(context.Context) error) (kvmodel.Cost, error) {
	ctx, meter := kvmodel.Metered(n.ctx)
	err := work(ctx)
	return meter.Cost(), err
}

func (n *news) page(cursor string, size int) func(context.Context) error {
	return func(ctx context.Context) error {
		l, err := n.Stories.Newest.Page(ctx, cursor, size)
		if err == nil && len(l.Items) != size {
			err = fmt.Errorf("a page of %d has %d", size, len(l.Items))
		}
		return err
	}
}

// timelineTrips counts the trips of pages and updates on every backend.
func timelineTrips(b *bench) error {
	return b.eachBackend(func(name string, s kvmodel.Store) error {
		for _, stale := range []int{0, 30, 70} {
			if err := b.pageTrips(name, s, stale); err != nil {
				return err
			}
		}
		return b.updateTrips(name, s)
	})
}

// pageTrips reports the most trips of a page at 70 places in a row, which are
// all there are in a block and some more.
func (b *bench) pageTrips(name string, s kvmodel.Store, stale int) error {
	n, err := b.openNews(s, fmt.Sprint("pages", stale))
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	n.stale = stale
	for range b.size(1300) {
		if err := n.write(b.ctx); err != nil {
			return err
		}
	}
	other, err := b.openNews(s, fmt.Sprint("pages", stale))
	if err != nil {
		return err
	}
	defer other.db.Close(b.ctx)
	first, err := other.costOf(other.page("", 20))
	if err != nil {
		return err
	}
	var most, sum kvmodel.Cost
	const places = 70
	for range places {
		c, err := n.costOf(n.page("", 20))
		if err == nil {
			err = n.write(b.ctx)
		}
		if err != nil {
			return err
		}
		most.Trips = max(most.Trips, c.Trips)
		sum.Keys, sum.Read = sum.Keys+c.Keys, sum.Read+c.Read
	}
	what := fmt.Sprintf("%s: Page(20), %d %% re-updated", name, stale)
	b.report(what+": trips", float64(most.Trips), exactly(2))
	b.report(what+": trips, first in a process", float64(first.Trips), atMost(3))
	b.report(what+": keys", float64(sum.Keys/places), target{})
	b.report(what+": bytes", float64(sum.Read/places), target{}.approximate())
	// The first walk learns how much is stale.
	for walk := range 2 {
		most, mean, err := n.deepTrips()
		if err != nil {
			return err
		}
		if walk > 0 {
			b.report(what+": trips at any depth, on average", mean, target{})
			b.report(what+": trips at any depth, at most one to top up", float64(most), atMost(3))
		}
	}
	return nil
}

// approximate returns the target for a number that depends on random ids.
func (t target) approximate() target { t.varies = true; return t }

// deepTrips returns the trips of the pages on the way to the ring's end.
func (n *news) deepTrips() (most int, mean float64, err error) {
	pages, sum := 0, 0
	for cursor := ""; ; {
		ctx, meter := kvmodel.Metered(n.ctx)
		l, err := n.Stories.Newest.Page(ctx, cursor, 20)
		if err != nil || l.Next == "" {
			return most, float64(sum) / float64(max(pages, 1)), err
		}
		trips := meter.Cost().Trips
		most, cursor = max(most, trips), l.Next
		pages, sum = pages+1, sum+trips
	}
}

// updateTrips reports what an update that bumps the timeline costs, and a page
// over deleted records.
func (b *bench) updateTrips(name string, s kvmodel.Store) error {
	n, err := b.openNews(s, "updates")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	for range 200 {
		if err := n.create(b.ctx); err != nil {
			return err
		}
	}
	for i := range 4 {
		if err := n.bump(b.ctx, n.id(190+i)); err != nil {
			return err
		}
	}
	c, err := n.costOf(func(ctx context.Context) error { return n.bump(ctx, n.id(100)) })
	if err != nil {
		return err
	}
	b.report(name+": an update that bumps: trips", float64(c.Trips), exactly(2))
	if _, err := n.Stories.Get(b.ctx, n.id(101)); err != nil {
		return err
	}
	c, err = n.costOf(func(ctx context.Context) error { return n.bump(ctx, n.id(101)) })
	if err != nil {
		return err
	}
	b.report(name+": an update that bumps, record at hand: trips", float64(c.Trips), atMost(2))
	for i := range 10 {
		if err := n.Stories.Delete(b.ctx, n.id(200-i)); err != nil {
			return err
		}
	}
	c, err = n.costOf(n.page("", 20))
	b.report(name+": Page(20) with half of it deleted: trips", float64(c.Trips), atMost(3))
	return err
}

// timelineSpace reports the trips of pushes with their trims, and whether a ring
// grows with what passes through it.
func timelineSpace(b *bench) error {
	var pushes, extra atomic.Int64
	mem := memkv.New(memkv.Options{})
	s := kvmodel.Trace(plain{mem}, func(_ context.Context, trip kvmodel.Trip) {
		if slices.ContainsFunc(trip.Ops, func(op kvmodel.Op) bool { return strings.HasPrefix(op.Key, "space:t:") }) {
			extra.Add(1)
		}
	})
	n, err := b.openNews(s, "space")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	if err := n.create(b.ctx); err != nil {
		return err
	}
	after := map[int]int{}
	const lap = 17 * 64
	for i := range 100 * lap {
		if err := n.bump(b.ctx, n.id(1)); err != nil {
			return err
		}
		if i%64 == 0 {
			if err := n.db.Flush(b.ctx); err != nil {
				return err
			}
		}
		if i%lap == lap-1 {
			after[i/lap] = ringBytes(mem)
		}
		if i == lap {
			pushes.Store(0)
			extra.Store(0)
		}
		pushes.Add(1)
	}
	b.report("a push, trims included: trips", float64(extra.Load())/float64(pushes.Load()), atMost(2.1))
	b.report("bytes of a ring of 1024 after 5 laps", float64(after[4]), target{}.approximate())
	b.report("bytes of a ring of 1024 after 100 laps", float64(after[99]), atMost(float64(after[4])*1.1).varying())
	return nil
}

func ringBytes(mem *memkv.Store) int {
	size := 0
	for _, key := range mem.Keys() {
		if !strings.HasPrefix(key, "space:t:") {
			continue
		}
		if r, err := kvmodel.One(context.Background(), mem, kvmodel.OpGet(key)); err == nil {
			size += len(key) + len(r.Value)
		}
	}
	return size
}

// footprints reports what a visit and the last ten cost on every backend.
func footprints(b *bench) error {
	return b.eachBackend(func(name string, s kvmodel.Store) error {
		var trips atomic.Int64
		n, err := b.openNews(kvmodel.Trace(s, func(context.Context, kvmodel.Trip) { trips.Add(1) }), "feet")
		if err != nil {
			return err
		}
		defer n.db.Close(b.ctx)
		const owners, guests = 20, 200
		visit := func() error {
			return n.Foots.Push(b.ctx, models.Foot{Owner: fmt.Sprint("u", n.rng.IntN(owners)), Guest: fmt.Sprint("u", n.rng.IntN(guests))})
		}
		for range owners * 50 {
			if err := visit(); err != nil {
				return err
			}
		}
		if err := n.db.Flush(b.ctx); err != nil {
			return err
		}
		trips.Store(0)
		pushes := b.size(6000)
		for range pushes {
			if err := visit(); err != nil {
				return err
			}
		}
		if err := n.db.Flush(b.ctx); err != nil {
			return err
		}
		b.report(name+": a footprint, trims included: trips", float64(trips.Load())/float64(pushes), atMost(1.05).varying())
		return b.lastTen(name, n, visit, owners)
	})
}

// lastTen reports what reading costs where each owner looks after ten visits.
func (b *bench) lastTen(name string, n *news, visit func() error, owners int) error {
	var sum kvmodel.Cost
	most := 0
	const reads = 1000
	for range reads {
		for range 10 {
			if err := visit(); err != nil {
				return err
			}
		}
		// Between visits there is time for what is to be done after replies.
		if err := n.db.Flush(b.ctx); err != nil {
			return err
		}
		c, err := n.costOf(func(ctx context.Context) error {
			_, err := n.Foots.Latest(ctx, fmt.Sprint("u", n.rng.IntN(owners)), 10)
			return err
		})
		if err != nil {
			return err
		}
		most, sum.Read = max(most, c.Trips), sum.Read+c.Read
	}
	b.report(name+": Latest(10): trips", float64(most), exactly(1))
	b.report(name+": Latest(10): bytes", float64(sum.Read/reads), atMost(1300).varying())
	return nil
}

// homeFeeds reports what a home feed costs that is written when a note is, and
// one that is put together when it is read. The counts are those of any store.
func homeFeeds(b *bench) error {
	n, err := b.openNews(plain{memkv.New(memkv.Options{})}, "feeds")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	const authors = 64
	for i := range authors * 40 {
		note := &models.Note{ID: n.id(i), Author: fmt.Sprint("u", i%authors), Rest: strings.Repeat("x", 1000)}
		if err := n.Notes.Create(b.ctx, note); err != nil {
			return err
		}
	}
	return errors.Join(n.fanOut(1000), n.fanIn(4), n.fanIn(16), n.fanIn(authors))
}

// fanOut reports what it costs to tell followers of a note, and a reader to see
// the last 20.
func (n *news) fanOut(followers int) error {
	var push kvmodel.Cost
	for i := range 20 {
		var items []models.FeedItem
		for reader := range followers {
			items = append(items, models.FeedItem{Reader: fmt.Sprint("r", reader), Note: n.id(i)})
		}
		var err error
		if push, err = n.costOf(func(ctx context.Context) error { return n.FeedItems.Push(ctx, items...) }); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("a feed written for %d followers: ", followers)
	n.report(what+"trips of a note", float64(push.Trips), atMost(float64(followers)/500))
	n.report(what+"bytes of a note", float64(push.Wrote), target{}.approximate())
	return n.reportFeed(what, func(ctx context.Context) error {
		items, err := n.FeedItems.Latest(ctx, "r7", 20)
		if err != nil {
			return err
		}
		notes, err := kvmodel.Load(ctx, n.Notes.Records, items, func(i models.FeedItem) string { return i.Note })
		if err == nil && len(notes) != 20 {
			err = fmt.Errorf("a feed of 20 has %d", len(notes))
		}
		return err
	})
}

// fanIn reports what a page of the notes of so many authors costs.
func (n *news) fanIn(authors int) error {
	var of []string
	for i := range authors {
		of = append(of, fmt.Sprint("u", i))
	}
	page := func(ctx context.Context) error {
		_, err := n.Notes.NewestByAuthor.Of(of...).Page(ctx, "", 20)
		return err
	}
	if err := page(n.ctx); err != nil {
		return err
	}
	return n.reportFeed(fmt.Sprintf("a feed read from %d authors: ", authors), page)
}

func (n *news) reportFeed(what string, read func(context.Context) error) error {
	c, err := n.costOf(read)
	n.report(what+"trips of the last 20", float64(c.Trips), exactly(2))
	n.report(what+"keys of the last 20", float64(c.Keys), target{})
	n.report(what+"bytes of the last 20", float64(c.Read), target{}.approximate())
	return err
}

// timelineSweeps runs the sweeps of the timeline on -n seeds each.
func timelineSweeps(b *bench) error {
	seeds := b.size(400)
	if err := os.Setenv("RINGTREE_SEEDS", strconv.Itoa(seeds)); err != nil {
		return err
	}
	defer os.Unsetenv("RINGTREE_SEEDS")
	out, err := b.goCommand("test", "-json", "-count=1", "-short", "-run", "TestSweep_", "./timeline")
	passed := strings.Count(string(out), `"Action":"pass","Package":"github.com/ringtree/ringtree/timeline","Test":"TestSweep_`)
	b.report("sweeps that hold on each of their seeds", float64(passed), atLeast(12))
	b.report("seeds of each sweep", float64(seeds), target{})
	return err
}

// timelineWriters reports how fast 64 writers of one timeline are beside 64
// that increment and append and do nothing else.
func timelineWriters(b *bench) error {
	out, err := b.goCommand("test", "-run", "^$", "-bench", "Writers", "-benchtime", "60000x", "./timeline")
	ratios := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name, isWriters := strings.CutPrefix(line, "BenchmarkWriters/")
		if !isWriters || len(fields) != 6 || fields[5] != "x-bare" {
			continue
		}
		name, _, _ = strings.Cut(name, "-")
		if ratios[name], err = strconv.ParseFloat(fields[4], 64); err != nil {
			return err
		}
	}
	for _, store := range []string{"memkv", "boltkv", "memcachekv", "rediskv"} {
		if ratios[store] == 0 {
			return errors.Join(err, fmt.Errorf("no ratio of %s", store))
		}
		b.report(store+": 64 writers of one timeline, speed to bare ones", ratios[store], atLeast(0.8).ratio())
	}
	return err
}
