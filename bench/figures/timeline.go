package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var timelineFigures = []func(*bench) error{
	timelineTrips,
	timelineSpace,
	footprints,
	footprintSpace,
	homeFeeds,
	timelineSweeps,
	timelineWriters,
}

// news is the stories of one process, and what it asks of the store.
type news struct {
	*bench
	*models.Models
	store  kvmodel.Store
	tenant string
	db     *kvmodel.DB
	rng    *rand.Rand
	made   int
	churn  churn
}

func (b *bench) openNews(s kvmodel.Store, tenant string) (*news, error) {
	db, m, err := openModels(s, kvmodel.Tenant(tenant))
	if err != nil {
		return nil, err
	}
	return &news{bench: b, Models: m, store: s, tenant: tenant, db: db, rng: rand.New(rand.NewPCG(1, 2))}, nil
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

// write makes one entry, or what is not to be one in the end.
func (n *news) write(ctx context.Context) error {
	chance := n.rng.IntN(100)
	switch {
	case n.made > 100 && chance < n.churn.updated:
		return n.bump(ctx, n.id(n.made-n.rng.IntN(100)))
	case chance < n.churn.missing:
		_, err := kv.One(ctx, n.store, kv.OpIncrement(n.tenant+":t:Story:Newest:#n", 1))
		return unlessNotFound(err)
	case chance < n.churn.deleted:
		if err := n.create(ctx); err != nil {
			return err
		}
		return n.Stories.Delete(ctx, n.id(n.made))
	}
	return n.create(ctx)
}

// unlessNotFound returns nil where there was nothing to be changed.
func unlessNotFound(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
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
	return b.eachOf(backends, func(on backend) error {
		for _, c := range []churn{{}, {updated: 30}, {updated: 70}, {deleted: 30}, {deleted: 70}, {missing: 30}, {missing: 70}} {
			if err := b.pageTrips(on, c); err != nil {
				return err
			}
		}
		return errors.Join(b.updateTrips(on), b.pushTrips(on))
	})
}

// churn is what percent of a timeline's places are passed over by readers, and
// why.
type churn struct {
	updated int // the record has a newer place
	deleted int // the record is gone
	missing int // there is no entry of the number
}

func (c churn) String() string {
	switch {
	case c.deleted > 0:
		return fmt.Sprint(c.deleted, " % deleted")
	case c.missing > 0:
		return fmt.Sprint(c.missing, " % missing")
	}
	return fmt.Sprint(c.updated, " % re-updated")
}

// topUps is how many trips for records a newest page may need more than one: an
// entry tells of a newer one, but not that the record is gone.
func (c churn) topUps() float64 { return float64(min(c.deleted, 1)) }

// pageTrips reports the most trips of a page at 70 places in a row, which are
// all there are in a block and some more.
func (b *bench) pageTrips(on backend, c churn) error {
	tenant := fmt.Sprint("pages", c.updated, "-", c.deleted, "-", c.missing)
	n, err := b.openNews(on.store, tenant)
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	n.churn = c
	if err := repeat(b.size(1300), func() error { return n.write(b.ctx) }); err != nil {
		return err
	}
	other, err := b.openNews(on.store, tenant)
	if err != nil {
		return err
	}
	defer other.db.Close(b.ctx)
	first, err := b.cost(other.page("", 20))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: Page(20), %v: ", on.name, c)
	if err := n.newestPages(what); err != nil {
		return err
	}
	b.report(what+"trips, first in a process", float64(first.Trips), atMost(3+c.topUps()))
	return n.deepPages(what)
}

// newestPages reports what the newest page costs.
func (n *news) newestPages(what string) error {
	var pages spread
	const places = 70
	for range places {
		if err := errors.Join(n.addTo(&pages, n.page("", 20)), n.write(n.ctx)); err != nil {
			return err
		}
	}
	if topUps := n.churn.topUps(); topUps > 0 {
		n.report(what+"trips, on average", pages.mean(pages.sum.Trips), target{})
		n.report(what+"trips, one more to top up", float64(pages.most.Trips), atMost(2+topUps))
	} else {
		n.report(what+"trips", float64(pages.most.Trips), exactly(2))
	}
	n.report(what+"keys", float64(pages.sum.Keys/places), target{})
	n.report(what+"bytes", float64(pages.sum.Read/places), target{}.varying())
	return nil
}

// deepPages reports what pages cost on the way to the ring's end. The first walk
// learns how much of it is passed over.
func (n *news) deepPages(what string) error {
	var first, second spread
	if err := errors.Join(n.walk(&first), n.walk(&second)); err != nil {
		return err
	}
	n.report(what+"trips at any depth, on average", second.mean(second.sum.Trips), target{})
	n.report(what+"trips at any depth, at most one to top up", float64(second.most.Trips), atMost(3))
	return nil
}

// walk adds what the pages on the way to the ring's end cost, but for the last.
func (n *news) walk(pages *spread) error {
	for cursor := ""; ; {
		c, err := n.cost(func(ctx context.Context) error {
			l, err := n.Stories.Newest.Page(ctx, cursor, 20)
			cursor = l.Next
			return err
		})
		if err != nil || cursor == "" {
			return err
		}
		pages.add(c)
	}
}

// updateTrips reports what an update that bumps the timeline costs.
func (b *bench) updateTrips(on backend) error {
	n, err := b.openNews(on.store, "updates")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	if err := repeat(200, func() error { return n.create(b.ctx) }); err != nil {
		return err
	}
	for i := range 4 {
		if err := n.bump(b.ctx, n.id(190+i)); err != nil {
			return err
		}
	}
	bump := func(i int) (float64, error) {
		c, err := n.cost(func(ctx context.Context) error { return n.bump(ctx, n.id(i)) })
		return float64(c.Trips), err
	}
	trips, err := bump(100)
	if err != nil {
		return err
	}
	b.report(on.name+": an update that bumps: trips", trips, exactly(2))
	if _, err := n.Stories.Get(b.ctx, n.id(101)); err != nil {
		return err
	}
	trips, err = bump(101)
	b.report(on.name+": an update that bumps, record at hand: trips", trips, atMost(2))
	return err
}

// lap is how many numbers take a ring of the default shape once around.
const lap = 17 * 64

// pushTrips reports the trips of a push alone with its trims: those that have
// anything to do with the ring, of updates that bump it.
func (b *bench) pushTrips(on backend) error {
	var trips atomic.Int64
	n, err := b.openNews(kvmodel.Trace(on.store, func(_ context.Context, trip kvmodel.Trip) {
		if slices.ContainsFunc(trip.Ops, func(op kv.Op) bool { return strings.HasPrefix(op.Key, "pushes:t:") }) {
			trips.Add(1)
		}
	}), "pushes")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	if err := errors.Join(n.create(b.ctx), n.laps(1, func(int) {})); err != nil {
		return err
	}
	trips.Store(0)
	const laps = 2
	if err := n.laps(laps, func(int) {}); err != nil {
		return err
	}
	b.report(on.name+": a push alone, trims included: trips", float64(trips.Load())/(laps*lap), atMost(2.1))
	return nil
}

// laps bumps a story until the ring has gone around so many times, and calls f
// after each.
func (n *news) laps(count int, f func(done int)) error {
	for i := range count * lap {
		if err := n.bump(n.ctx, n.id(1)); err != nil {
			return err
		}
		if i%64 == 0 {
			if err := n.db.Flush(n.ctx); err != nil {
				return err
			}
		}
		if i%lap == lap-1 {
			f(i/lap + 1)
		}
	}
	return n.db.Flush(n.ctx)
}

// timelineSpace reports whether a ring grows with what passes through it.
func timelineSpace(b *bench) error {
	mem := memkv.New(memkv.Options{})
	n, err := b.openNews(plain{mem}, "space")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	after := map[int]int{}
	if err := errors.Join(n.create(b.ctx), n.laps(100, func(done int) { after[done] = bytesUnder(mem, "space:t:") })); err != nil {
		return err
	}
	b.report("bytes of a ring of 1024 after 5 laps", float64(after[5]), target{}.varying())
	b.report("bytes of a ring of 1024 after 100 laps", float64(after[100]), atMost(math.Ceil(float64(after[5])*1.1)).varying())
	return nil
}

// bytesUnder returns how much is stored under keys with a prefix.
func bytesUnder(mem *memkv.Store, prefix string) int {
	size := 0
	for _, key := range mem.Keys() {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if r, err := kv.One(context.Background(), mem, kv.OpGet(key)); err == nil {
			size += len(key) + len(r.Value)
		}
	}
	return size
}

// timelineSweeps runs the sweeps of the timeline on -n seeds each.
func timelineSweeps(b *bench) error { return b.sweeps("./timeline", b.size(400), atLeast(12)) }

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
	for _, store := range []string{"memkv", "boltkv", "memcachekv", "rediskv", "cluster"} {
		if ratios[store] == 0 {
			return errors.Join(err, fmt.Errorf("no ratio of %s", store))
		}
		b.report(store+": 64 writers of one timeline, speed to bare ones", ratios[store], atLeast(0.8).ratio())
	}
	return err
}
