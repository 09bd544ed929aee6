package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// footprints reports what a visit and the last ten cost on every backend.
func footprints(b *bench) error {
	return b.eachOf(backends, func(on backend) error {
		var trips atomic.Int64
		n, err := b.openNews(kvmodel.Trace(on.store, func(context.Context, kvmodel.Trip) { trips.Add(1) }), "feet")
		if err != nil {
			return err
		}
		defer n.db.Close(b.ctx)
		const owners, guests = 20, 200
		visit := func() error {
			return n.Foots.Push(b.ctx, models.Foot{Owner: fmt.Sprint("u", n.rng.IntN(owners)), Guest: fmt.Sprint("u", n.rng.IntN(guests))})
		}
		if err := errors.Join(repeat(owners*50, visit), n.db.Flush(b.ctx)); err != nil {
			return err
		}
		trips.Store(0)
		pushes := b.size(6000)
		if err := errors.Join(repeat(pushes, visit), n.db.Flush(b.ctx)); err != nil {
			return err
		}
		b.report(on.name+": a footprint, trims included: trips", float64(trips.Load())/float64(pushes), atMost(1.05).varying())
		return b.lastTen(on.name, n, visit, owners)
	})
}

// lastTen reports what reading costs where each owner looks after ten visits.
func (b *bench) lastTen(name string, n *news, visit func() error, owners int) error {
	var sum spread
	const reads = 1000
	for range reads {
		// Between visits there is time for the work after replies.
		if err := errors.Join(repeat(10, visit), n.db.Flush(b.ctx)); err != nil {
			return err
		}
		if err := b.addTo(&sum, func(ctx context.Context) error {
			_, err := n.Foots.Latest(ctx, fmt.Sprint("u", n.rng.IntN(owners)), 10)
			return err
		}); err != nil {
			return err
		}
	}
	b.report(name+": Latest(10): trips", float64(sum.most.Trips), exactly(1))
	b.report(name+": Latest(10): bytes", float64(sum.sum.Read/reads), atMost(1300).varying())
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

// fanOut reports what it costs to push a note to followers, and to read the last
// 20.
func (n *news) fanOut(followers int) error {
	var push kvmodel.Cost
	for i := range 20 {
		var items []models.FeedItem
		for reader := range followers {
			items = append(items, models.FeedItem{Reader: fmt.Sprint("r", reader), Note: n.id(i)})
		}
		var err error
		if push, err = n.cost(func(ctx context.Context) error { return n.FeedItems.Push(ctx, items...) }); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("a feed written for %d followers: ", followers)
	n.report(what+"trips of a note", float64(push.Trips), atMost(float64(followers)/500))
	n.report(what+"bytes of a note", float64(push.Wrote), target{}.varying())
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

// fanIn reports what a page of the notes of that many authors costs.
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
	c, err := n.cost(read)
	n.report(what+"trips of the last 20", float64(c.Trips), exactly(2))
	n.report(what+"keys of the last 20", float64(c.Keys), target{})
	n.report(what+"bytes of the last 20", float64(c.Read), target{}.varying())
	return err
}

// footprintSpace reports whether the footprints of an owner grow with the
// visits, in each layout.
func footprintSpace(b *bench) error {
	return errors.Join(
		b.spaceOf("appended", func(n *news, visit int) error {
			return n.Foots.Push(n.ctx, perOwner(func(owner string) models.Foot { return models.Foot{Owner: owner, Guest: guest(visit)} })...)
		}),
		b.spaceOf("packed", func(n *news, visit int) error {
			return n.PackedFoots.Push(n.ctx, perOwner(func(owner string) models.PackedFoot { return models.PackedFoot{Owner: owner, Guest: guest(visit)} })...)
		}),
		b.spaceOf("in a ring", func(n *news, visit int) error {
			return n.RingFoots.Push(n.ctx, perOwner(func(owner string) models.RingFoot { return models.RingFoot{Owner: owner, Guest: guest(visit)} })...)
		}))
}

// spaceOwners is the number of owners over which the bytes are averaged.
const spaceOwners = 300

func perOwner[T any](f func(owner string) T) []T {
	var all []T
	for i := range spaceOwners {
		all = append(all, f(fmt.Sprint("u", i)))
	}
	return all
}

func guest(visit int) string { return fmt.Sprint("u", visit%200) }

// spaceOf reports the bytes of an owner's footprints, of which 30 are kept: after 20
// laps of as many visits, when trims are as frequent as they will ever be, and after
// 100.
func (b *bench) spaceOf(layout string, push func(*news, int) error) error {
	mem := memkv.New(memkv.Options{})
	n, err := b.openNews(plain{mem}, "feet")
	if err != nil {
		return err
	}
	defer n.db.Close(b.ctx)
	after := map[int]float64{}
	const keep, laps = 30, 100
	for visit := range keep * laps {
		if err := errors.Join(push(n, visit), n.db.Flush(b.ctx)); err != nil {
			return err
		}
		if (visit+1)%keep == 0 {
			after[(visit+1)/keep] = float64(bytesUnder(mem, "feet:e:") / spaceOwners)
		}
	}
	b.report("bytes of 30 footprints, "+layout+", after 20 laps", after[20], target{}.varying())
	b.report("bytes of 30 footprints, "+layout+", after 100 laps", after[100], atMost(math.Ceil(after[20]*1.1)).varying())
	return nil
}
