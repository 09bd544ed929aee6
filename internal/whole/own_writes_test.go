package whole_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// Caches of this size drop most items.
func TestLong_AClientSeesWhatItHasJustWritten(t *testing.T) {
	urls := map[string]string{"bolt": "bolt:" + filepath.Join(t.TempDir(), "own.db") + "?durability=unsynced&cache=1MB"}
	if proof.Long() {
		urls["redis"] = "redis://" + servers.Of(t, "redis-server").Addr + "?near=1MB"
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			s, err := kvopen.Store(ctx, url, all.Engines)
			must(t, err)
			l := libraryIn(t, s)
			var clients sync.WaitGroup
			for n := range 16 {
				clients.Go(func() {
					c := &client{l: l, name: fmt.Sprint("c", n), rng: rand.New(rand.NewPCG(uint64(n), 1)), works: map[string]*whole.Work{}}
					for range proof.Rounds(t, 12, 20_000) {
						if err := c.step(ctx); err != nil {
							t.Errorf("%s: %v", c.name, err)
							return
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

// A client is the only one that writes the works of its author.
type client struct {
	l     *whole.Library
	name  string
	rng   *rand.Rand
	works map[string]*whole.Work
}

func (c *client) step(ctx context.Context) error {
	id := fmt.Sprint(c.name, "-", c.rng.IntN(8))
	old := c.works[id]
	if old != nil && c.rng.IntN(4) == 0 {
		delete(c.works, id)
		return errors.Join(c.l.Works.Delete(ctx, id), c.look(ctx, old, false))
	}
	now := c.rng.IntN(1 << 30)
	w := &whole.Work{
		ID: id, Slug: fmt.Sprint(id, "-", now), Author: c.name, Tags: []string{"all", fmt.Sprint("tag", now%5)}, Room: "hall", Shelf: now % 7,
		Title: fmt.Sprint("title ", now), Note: "note", Price: int64(now % 1000), Grade: float64(now % 9), Taken: time.Unix(int64(now), 0).UTC(),
	}
	if old == nil {
		if err := c.l.Works.Create(ctx, w); err != nil {
			return err
		}
		newest, err := c.l.Works.NewestByAuthor.Of(c.name).Page(ctx, "", 1)
		if err != nil {
			return err
		}
		if len(newest.Items) != 1 || newest.Items[0].ID != id {
			return fmt.Errorf("%s is not the newest of %s", id, c.name)
		}
	} else if _, err := c.l.Works.Update(ctx, id, func(v *whole.Work) error {
		v.Slug, v.Tags, v.Shelf, v.Title, v.Price, v.Grade, v.Taken = w.Slug, w.Tags, w.Shelf, w.Title, w.Price, w.Grade, w.Taken
		return nil
	}); err != nil {
		return err
	}
	c.works[id] = w
	if old != nil {
		if err := c.look(ctx, old, false, w); err != nil {
			return fmt.Errorf("what was before: %w", err)
		}
	}
	return errors.Join(c.look(ctx, w, true), c.like(ctx, id))
}

// look asks all indexes whether they show w at the places of its values, except where they are
// also those of one of now.
func (c *client) look(ctx context.Context, w *whole.Work, want bool, now ...*whole.Work) error {
	shared := func(same func(v *whole.Work) bool) bool { return slices.ContainsFunc(now, same) }
	var errs []error
	is := func(place string, got bool, err error) {
		if err == nil && got != want {
			err = fmt.Errorf("%s: %v, want %v", w.ID, got, want)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
		}
	}
	holder, err := c.l.Works.BySlug.Find(ctx, w.Slug)
	if errors.Is(err, kvmodel.ErrNotFound) {
		err = nil
	}
	is("BySlug", holder != nil && holder.ID == w.ID && holder.Title == w.Title, err)
	for _, tag := range w.Tags {
		if !shared(func(v *whole.Work) bool { return slices.Contains(v.Tags, tag) }) {
			in, err := c.l.Works.ByTags.Of(tag).Contains(ctx, w.ID)
			is("ByTags", in, err)
		}
	}
	shelf := whole.RoomShelf{Room: w.Room, Shelf: w.Shelf}
	if !shared(func(v *whole.Work) bool { return v.Shelf == w.Shelf }) {
		in, err := c.l.Works.ByRoomShelf.Of(shelf).Contains(ctx, w.ID)
		is("ByRoomShelf", in, err)
	}
	shows := func(v *whole.Work) bool { return v.ID == w.ID && v.Title == w.Title && v.Price == w.Price }
	newest, err := c.l.Works.Newest.Page(ctx, "", 100)
	is("Newest", slices.ContainsFunc(newest.Items, shows), err)
	own, err := c.l.Works.NewestByAuthor.Of(c.name).Page(ctx, "", 40)
	// A work whose author stays leaves the ring after a while.
	at := slices.IndexFunc(own.Items, func(v *whole.Work) bool { return v.ID == w.ID })
	is("NewestByAuthor", at < 0 && want || at >= 0 && shows(own.Items[at]), err)
	prices, err := c.l.Works.TopPriceByAuthor.Of(c.name).Page(ctx, "", 40)
	is("TopPriceByAuthor", slices.ContainsFunc(prices.Items, shows), err)
	if !slices.IsSortedFunc(prices.Items, func(a, b *whole.Work) int { return int(b.Price - a.Price) }) || len(prices.Items) != len(c.works) {
		errs = append(errs, fmt.Errorf("TopPriceByAuthor has %d works in a wrong order, want %d", len(prices.Items), len(c.works)))
	}
	if len(now) == 0 {
		price, err := c.l.Works.TopPrice.Standing(ctx, w.ID)
		is("TopPrice", err == nil && price.Score == w.Price, butAbsent(err))
		taken, err := c.l.Works.Archive.Standing(ctx, w.ID)
		is("Archive", err == nil && taken.Score.Equal(w.Taken), butAbsent(err))
		grade, err := c.l.Works.TopGrade.Standing(ctx, w.ID)
		is("TopGrade", err == nil && grade.Score == w.Grade, butAbsent(err))
	}
	return errors.Join(errs...)
}

func butAbsent(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}

// like adds or removes a like, and counts a view.
func (c *client) like(ctx context.Context, id string) error {
	like := whole.LikeID{User: c.name, Work: id}
	before, err := c.l.Works.Get(ctx, id)
	if err != nil {
		return err
	}
	likes := c.rng.IntN(2) == 0
	if likes {
		err = c.l.Likes.Put(ctx, &whole.Like{User: c.name, Work: id})
	} else if err = c.l.Likes.Delete(ctx, like); errors.Is(err, kvmodel.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	views, err := c.l.Works.Views.Hit(ctx, id)
	if err != nil {
		return err
	}
	after, err := c.l.Works.Get(ctx, id)
	if err != nil {
		return err
	}
	in, err := c.l.Likes.ByWork.Of(id).Contains(ctx, like)
	if err != nil {
		return err
	}
	if in != likes || (after.Likes == 1) != likes || after.Views != views || views <= before.Views {
		return fmt.Errorf("%s has %d likes and %d views, is in the list: %v; want a like: %v, and %d views", id, after.Likes, after.Views, in, likes, views)
	}
	return nil
}
