package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers/model"
	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/kvmodel"
)

type ringtree struct {
	*place.Database
	m *model.Models
}

func onStore(url string) place.Opener[Peer] {
	return place.Over(place.Ringtree(url), func(d *place.Database) Peer { return &ringtree{Database: d} })
}

func (r *ringtree) Load(ctx context.Context, n int) error {
	return r.Database.Load(ctx, func() { r.m = model.New(r.DB) }, func() error { return r.load(ctx, n) })
}

func (r *ringtree) load(ctx context.Context, n int) error {
	// A timeline is in the order of writes, and those of CreateMulti have none.
	many := max(0, n-16384-500)
	done := 0
	for ps := range batches(n, 500) {
		records := make([]*model.Page, len(ps))
		for i := range ps {
			records[i] = newRecord(&ps[i])
			records[i].ID = id(ps[i].ID)
		}
		if done += len(ps); done <= many {
			if err := r.m.Pages.CreateMulti(ctx, records); err != nil {
				return err
			}
			continue
		}
		for _, record := range records {
			if err := r.m.Pages.Create(ctx, record); err != nil {
				return err
			}
		}
	}
	if err := r.loadViews(ctx, n); err != nil {
		return err
	}
	for owner, visits := range owners() {
		if err := r.visit(ctx, owner, visits...); err != nil {
			return err
		}
	}
	for user := range followers() {
		if err := r.Follow(ctx, Topic, user); err != nil {
			return err
		}
	}
	return errors.Join(r.DB.Flush(ctx), r.m.Pages.TopViews.Refresh(ctx))
}

// loadViews counts in batches that grow with the board: a small one takes only a few at once.
func (r *ringtree) loadViews(ctx context.Context, n int) error {
	for from := 0; from < n; {
		some := min(n-from, max(32, min(from/4, 2000)))
		err := atOnce(32, some, func(i int) error {
			p := MakePage(int64(from+i+1), n)
			_, err := r.m.Pages.Views.Add(ctx, id(p.ID), p.Views)
			return err
		})
		if err := errors.Join(err, r.DB.Flush(ctx)); err != nil {
			return err
		}
		from += some
	}
	return nil
}

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

func id(n int64) string { return strconv.FormatInt(n, 36) }

func newRecord(p *Page) *model.Page {
	return &model.Page{Slug: p.Slug, Title: p.Title, Body: p.Body, Author: p.Author, Tags: p.Tags, UpdatedAt: p.UpdatedAt}
}

type record struct{ p *model.Page }

func (r record) Page() *Page {
	p := r.p
	n, _ := strconv.ParseInt(p.ID, 36, 64) // 0 for a generated id
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

// Link pages to a cursor: a timeline has no offsets.
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
	err := r.m.Follows.Create(ctx, &model.Follow{Topic: topic, User: user})
	if errors.Is(err, kvmodel.ErrExists) {
		return nil
	}
	return err
}

func (r *ringtree) Unfollow(ctx context.Context, topic, user int64) error {
	err := r.m.Follows.Delete(ctx, model.FollowID{Topic: topic, User: user})
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}

func (r *ringtree) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	follows, err := r.m.Follows.ByTopic.Of(topic).Page(ctx, "", limit)
	users := make([]int64, len(follows.Items))
	for i, f := range follows.Items {
		users[i] = f.User
	}
	return users, err
}
