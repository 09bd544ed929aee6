// Package demo fills a site with members, their pages and their activity, so that
// there is something to look at.
//
// What it makes is always the same, except for the times: the two weeks up to now.
package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Plan says what to make. The zero Plan makes nothing.
type Plan struct {
	Pages    int
	Password string         // of all members; if empty, nobody can log in as one of them
	Hash     guard.HashCost // how much work it is to try Password
}

const (
	days  = 14
	batch = 500 // pages made in one call

	ordered  = 40  // how many of the last pages are made one by one, to stand in the order of their times
	lookedAt = 40  // how many pages of earlier days are still viewed
	liked    = 300 // how many of the last pages have comments and likes
)

// Fill adds the missing pages of plan to the store, and returns how many it added. Pages
// that people changed or put into the trash stay as they are. Fill may be
// stopped at any time; another call goes on from there.
//
// Fill goes through the two weeks with a clock of its own, so nothing else should
// use the store at the same time. It leaves the store open.
func Fill(ctx context.Context, store kvmodel.Store, plan Plan) (made int, err error) {
	if plan.Pages <= 0 {
		return 0, nil
	}
	var behind atomic.Int64 // in nanoseconds
	db, err := kvmodel.Open(unclosed{store}, kvmodel.Clock(func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	f := &filling{plan, ashiato.NewSite(db, ashiato.Options{Hash: plan.Hash}), db, min(max(len(texts.Handles), plan.Pages/50), 400), 0}
	whole, err := f.whole(ctx)
	if whole || err != nil {
		return 0, err
	}
	for day := range days {
		behind.Store(int64(days-1-day) * int64(24*time.Hour))
		if day == 0 {
			err = f.found(ctx)
		}
		if err = errors.Join(err, ctx.Err()); err == nil {
			err = f.live(ctx, day)
		}
		if err != nil {
			return f.made, err
		}
	}
	return f.made, f.meet(ctx)
}

// unclosed is a store that stays open when its DB is closed.
type unclosed struct{ kvmodel.Store }

func (u unclosed) Powers() kv.Powers { return kv.PowersOf(u.Store) }
func (unclosed) Close() error        { return nil }

// filling is one call of Fill.
type filling struct {
	Plan
	site    *ashiato.Site
	db      *kvmodel.DB
	members int
	made    int // pages
}

// whole reports whether the plan is complete: whether what is made last exists.
func (f *filling) whole(ctx context.Context) (bool, error) {
	all := follows(f.members)
	last := all[len(all)-1]
	_, err := f.site.Models.Follows.Get(ctx, ashiato.FollowID{Follower: last.Follower, Followed: last.Followed})
	if err == nil {
		_, err = f.site.Models.Pages.Get(ctx, pageID(f.Pages-1))
	}
	if errors.Is(err, kvmodel.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// found makes the members and the topics.
func (f *filling) found(ctx context.Context) (err error) {
	password := ""
	if f.Password != "" {
		if password, err = f.site.HashPassword(ctx, f.Password); err != nil {
			return err
		}
	}
	var members []*ashiato.Member
	for i := range f.members {
		m := member(i)
		m.Password = password
		m.Joined = f.db.Now().Add(-time.Duration(f.members-i) * time.Hour)
		members = append(members, m)
	}
	var topics []*ashiato.Topic
	for _, name := range topicNames() {
		topics = append(topics, &ashiato.Topic{Name: name, Since: f.db.Now()})
	}
	_, err = there(f.site.Models.Members.CreateMulti(ctx, members))
	if err == nil {
		_, err = there(f.site.Models.Topics.CreateMulti(ctx, topics))
	}
	return err
}

// live makes the pages of a day, and views for them and for older ones.
func (f *filling) live(ctx context.Context, day int) error {
	begin, end := f.Pages*day/days, f.Pages*(day+1)/days
	for at := begin; at < end; at += batch {
		if err := f.makePages(ctx, at, min(at+batch, end)); err != nil {
			return err
		}
	}
	return f.view(ctx, max(0, begin-lookedAt), begin, 3)
}

// makePages makes the pages from begin to end, and views for them unless all of them
// existed.
func (f *filling) makePages(ctx context.Context, begin, end int) error {
	var pages []*ashiato.Page
	now := f.db.Now()
	for i := begin; i < end; i++ {
		p := page(i, f.members)
		p.Published = now.Add(-time.Duration(end-i) * 8 * time.Hour / time.Duration(end-begin))
		pages = append(pages, p)
	}
	at := min(max(0, f.Pages-ordered-begin), len(pages))
	old, err := there(f.site.Models.Pages.CreateMulti(ctx, pages[:at]))
	for ; at < len(pages) && err == nil; at++ {
		var one int
		one, err = there(f.site.Models.Pages.CreateMulti(ctx, pages[at:at+1]))
		old += one
	}
	f.made += len(pages) - old
	if err != nil || old == len(pages) {
		return err
	}
	return f.view(ctx, begin, end, 1)
}

// view adds views to the pages from begin to end: their views divided by part. A
// young ranking is a single key, at which many pages at once would get in each
// other's way, so each batch waits until the one before it is ranked.
func (f *filling) view(ctx context.Context, begin, end, part int) error {
	for at := begin; at < end; at += batch {
		err := each(ctx, at, min(at+batch, end), func(i int) error {
			n := views(i) / int64(part)
			if n == 0 {
				return nil
			}
			_, err := f.site.Models.Pages.Views.Add(ctx, pageID(i), n)
			return err
		})
		if err := errors.Join(err, f.db.Flush(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// meet makes members comment on the last pages and like them, visit each other, and follow topics
// and each other, through Site.Follow, which puts pages into their feeds. The last of them tells
// whole that all is done.
func (f *filling) meet(ctx context.Context) error {
	var said []*ashiato.Comment
	var votes []*ashiato.Like
	for i := max(0, f.Pages-liked); i < f.Pages; i++ {
		said = append(said, remarks(i, f.members, f.db.Now())...)
		votes = append(votes, likes(i, f.members)...)
	}
	_, err := there(f.site.Models.Comments.CreateMulti(ctx, said))
	if err == nil {
		_, err = there(f.site.Models.Likes.CreateMulti(ctx, votes))
	}
	if err == nil {
		err = f.site.Models.Visits.Push(ctx, visits(f.members, f.db.Now())...)
	}
	if err == nil {
		_, err = there(f.site.Models.Interests.CreateMulti(ctx, interests(f.members)))
	}
	if err != nil {
		return err
	}
	all := follows(f.members)
	last := len(all) - 1
	follow := func(i int) error { return f.site.Follow(ctx, all[i].Follower, all[i].Followed) }
	if err := each(ctx, 0, last, follow); err != nil {
		return err
	}
	return follow(last)
}

// there takes the error of a CreateMulti and returns how many of the records, or of
// their unique values, existed already. Any other failure is an error.
func there(err error) (n int, _ error) {
	for _, err := range kvmodel.Items(err) {
		if !errors.Is(err, kvmodel.ErrExists) {
			return n, err
		}
		n++
	}
	return n, nil
}

// workers is how many things are done at the same time. A store in a file writes
// at once what comes at the same time.
const workers = 32

// each calls f for the numbers from begin to end, many at a time, until one
// fails.
func each(ctx context.Context, begin, end int, f func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := begin + worker; i < end && ctx.Err() == nil; i += workers {
				if err := f(i); err != nil {
					stop(fmt.Errorf("demo: number %d: %w", i, err))
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
