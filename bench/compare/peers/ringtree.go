package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers/model"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// ringtree is package model on any store.
type ringtree struct {
	sampled
	db     *kvmodel.DB
	m      *model.Models
	topics *index.Sets[int64, int64]
	url    string
	tap    *tap
}

// openRingtree opens the store at url, in which %s is the place's folder.
func openRingtree(url string) func(context.Context, Place) (Peer, error) {
	return func(ctx context.Context, at Place) (Peer, error) {
		r := &ringtree{url: at.fill(url)}
		return r, r.open(ctx, r.url)
	}
}

// fill puts the addresses of at into url.
func (at Place) fill(url string) string {
	return strings.NewReplacer("%s", at.Dir, "%redis", at.Redis, "%memcached", at.Memcached).Replace(url)
}

func (r *ringtree) open(ctx context.Context, url string) error {
	store, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		return err
	}
	r.tap = &tap{Store: store}
	db, err := kvmodel.Open(r.tap)
	if err != nil {
		return err
	}
	r.db, r.m = db, model.New(db)
	r.topics = index.NewSets(db, "followers", kvmodel.IntKey[int64](), kvmodel.IntKey[int64]())
	return nil
}

func (r *ringtree) Close() error {
	return errors.Join(r.db.Close(context.Background()), r.closeSample())
}

// Load does not wait for the disk at each of its writes, and closes the file at the end.
func (r *ringtree) Load(ctx context.Context, n int) error {
	if !embedded(r.url) {
		return r.load(ctx, n)
	}
	return errors.Join(r.Close(), r.open(ctx, unsynced(r.url)),
		r.load(ctx, n), r.Close(), r.open(ctx, r.url))
}

// embedded reports whether the store at url is a file.
func embedded(url string) bool { return strings.HasPrefix(url, "bolt:") }

// unsynced returns the url of a file that does not wait for the disk.
func unsynced(url string) string {
	file, _, _ := strings.Cut(url, "?")
	return file + "?durability=unsynced"
}

func (r *ringtree) load(ctx context.Context, n int) error {
	// A timeline is in the order of the writes, and CreateMulti's have none.
	many := max(0, n-16384-500)
	done := 0
	err := eachBatch(n, 500, func(ps []Page) error {
		records := make([]*model.Page, len(ps))
		for i := range ps {
			records[i] = newRecord(&ps[i])
			records[i].ID = id(ps[i].ID)
		}
		if done += len(ps); done <= many {
			return r.m.Pages.CreateMulti(ctx, records)
		}
		for _, record := range records {
			if err := r.m.Pages.Create(ctx, record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.loadViews(ctx, n); err != nil {
		return err
	}
	err = eachOwner(func(owner int64, vs []Visit) error { return r.visit(ctx, owner, vs...) })
	if err != nil {
		return err
	}
	err = eachFollower(func(user int64) error { return r.Follow(ctx, Topic, user) })
	if err != nil {
		return err
	}
	return errors.Join(r.db.Flush(ctx), r.m.Pages.TopViews.Refresh(ctx))
}

// loadViews counts in batches that grow with the board: one that is small can take
// only a few at once.
func (r *ringtree) loadViews(ctx context.Context, n int) error {
	for from := 0; from < n; {
		some := min(n-from, max(32, min(from/4, 2000)))
		err := atOnce(32, some, func(i int) error {
			p := MakePage(int64(from+i+1), n)
			_, err := r.m.Pages.Views.Add(ctx, id(p.ID), p.Views)
			return err
		})
		if err := errors.Join(err, r.db.Flush(ctx)); err != nil {
			return err
		}
		from += some
	}
	return nil
}

// atOnce calls f with 0..n-1, many at a time.
func atOnce(many, n int, f func(int) error) error {
	errs := make([]error, many)
	var running sync.WaitGroup
	for w := range many {
		running.Go(func() {
			for i := w; i < n && errs[w] == nil; i += many {
				errs[w] = f(i)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// id returns the id of page n. Those that ringtree gives are longer texts.
func id(n int64) string { return strconv.FormatInt(n, 36) }

func newRecord(p *Page) *model.Page {
	return &model.Page{Slug: p.Slug, Title: p.Title, Body: p.Body, Author: p.Author, Tags: p.Tags, UpdatedAt: p.UpdatedAt}
}

// record is a page as ringtree gives it.
type record struct{ p *model.Page }

func (r record) Page() *Page {
	p := r.p
	n, _ := strconv.ParseInt(p.ID, 36, 64) // 0 if it is one of ringtree's
	return &Page{ID: n, Slug: p.Slug, Title: p.Title, Body: p.Body, Author: p.Author, Tags: p.Tags, UpdatedAt: p.UpdatedAt, Views: p.Views}
}

func (r *ringtree) Get(ctx context.Context, n int64) (Row, error) {
	p, err := r.m.Pages.Get(ctx, id(n))
	return record{p}, err
}

func records(l kvmodel.Listing[model.Page], err error) ([]Row, error) {
	all := make([]Row, len(l.Items))
	for i, p := range l.Items {
		all[i] = record{p}
	}
	return all, err
}

func (r *ringtree) Newest(ctx context.Context, cursor string, limit int) ([]Row, error) {
	return records(r.m.Pages.Newest.Page(ctx, cursor, limit))
}

// Link returns a cursor, which it finds by walking: a timeline has no offsets.
func (r *ringtree) Link(ctx context.Context, offset int) (string, error) {
	cursor := ""
	for at := 0; at < offset; {
		l, err := r.m.Pages.Newest.Page(ctx, cursor, min(100, offset-at))
		if err != nil {
			return "", err
		}
		if l.Next == "" {
			return "", fmt.Errorf("the timeline ends at %d", at+len(l.Items))
		}
		at, cursor = at+len(l.Items), l.Next
	}
	return cursor, nil
}

func (r *ringtree) Top(ctx context.Context, limit int) ([]Row, error) {
	return records(r.m.Pages.TopViews.Page(ctx, "", limit))
}

func (r *ringtree) Rank(ctx context.Context, n int64) (int, error) {
	return r.m.Pages.TopViews.Rank(ctx, id(n))
}

func (r *ringtree) Update(ctx context.Context, n int64, body string) error {
	_, err := r.m.Pages.Update(ctx, id(n), func(p *model.Page) error {
		p.Body, p.UpdatedAt = body, time.Now().UTC()
		return nil
	})
	return err
}

func (r *ringtree) View(ctx context.Context, n int64) error {
	_, err := r.m.Pages.Views.Hit(ctx, id(n))
	return err
}

func (r *ringtree) Insert(ctx context.Context, p *Page) error {
	err := r.m.Pages.Create(ctx, newRecord(p))
	if errors.Is(err, kvmodel.ErrExists) {
		return ErrTaken
	}
	return err
}

func (r *ringtree) Visit(ctx context.Context, owner int64, v Visit) error {
	return r.visit(ctx, owner, v)
}

func (r *ringtree) visit(ctx context.Context, owner int64, vs ...Visit) error {
	events := make([]model.Visit, len(vs))
	for i, v := range vs {
		events[i] = model.Visit{Owner: owner, Visitor: v.Visitor, At: time.UnixMicro(v.At)}
	}
	return r.m.Visits.Push(ctx, events...)
}

func (r *ringtree) Visits(ctx context.Context, owner int64, limit int) ([]Visit, error) {
	latest, err := r.m.Visits.Latest(ctx, owner, limit)
	all := make([]Visit, len(latest))
	for i, v := range latest {
		all[i] = Visit{v.Visitor, v.At.UnixMicro()}
	}
	return all, err
}

func (r *ringtree) Follow(ctx context.Context, topic, user int64) error {
	return r.topics.Of(topic).Add(ctx, user)
}

func (r *ringtree) Unfollow(ctx context.Context, topic, user int64) error {
	return r.topics.Of(topic).Remove(ctx, user)
}

func (r *ringtree) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	members, err := r.topics.Of(topic).Page(ctx, "", limit)
	return members.IDs, err
}

func (r *ringtree) Flush(ctx context.Context) error { return r.db.Flush(ctx) }

func (r *ringtree) LoadRows(ctx context.Context) error {
	var worlds []*model.World
	for _, w := range allWorlds() {
		worlds = append(worlds, &model.World{ID: w.ID, Number: w.Number})
	}
	err := r.m.Worlds.CreateMulti(ctx, worlds)
	for _, f := range allFortunes() {
		err = errors.Join(err, r.m.Fortunes.Create(ctx, &model.Fortune{ID: f.ID, Message: f.Message}))
	}
	return err
}

func (r *ringtree) World(ctx context.Context, id int64) (World, error) {
	w, err := r.m.Worlds.Get(ctx, id)
	if err != nil {
		return World{}, err
	}
	return World{w.ID, w.Number}, nil
}

func (r *ringtree) Worlds(ctx context.Context, ids []int64) ([]World, error) {
	found, err := r.m.Worlds.GetMulti(ctx, ids)
	all := make([]World, len(found))
	for i, w := range found {
		all[i] = World{w.ID, w.Number}
	}
	return all, err
}

func (r *ringtree) SetWorlds(ctx context.Context, ids []int64, number func(int64) int64) error {
	return atOnce(len(ids), len(ids), func(i int) error {
		_, err := r.m.Worlds.Update(ctx, ids[i], func(w *model.World) error {
			w.Number = number(w.ID)
			return nil
		})
		return err
	})
}

func (r *ringtree) Fortunes(ctx context.Context) ([]Fortune, error) {
	l, err := r.m.Fortunes.Newest.Page(ctx, "", 100)
	all := make([]Fortune, len(l.Items))
	for i, f := range l.Items {
		all[i] = Fortune{f.ID, f.Message}
	}
	return all, err
}
