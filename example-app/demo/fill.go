// Package demo fills a site with members, their pages and their activity, so that
// there is something to look at, and sends visitors to a running site.
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

	// Progress, if not nil, is called whenever pages were made, with the number
	// of pages there are.
	Progress func(there int)
}

const (
	days  = 14
	batch = 500 // pages made in one call

	ordered  = 40  // how many of the last pages are made one by one, to stand in the order of their times
	lookedAt = 40  // how many pages of earlier days are still viewed
	liked    = 300 // how many of the last pages have comments and likes
)

// Fill makes what is missing of plan in the store, and returns how many pages it
// made. What people changed or put into the trash stays as it is. Fill may be
// stopped at any time; another call goes on from there.
//
// Fill goes through the two weeks with a clock of its own, so nothing else should
// use the store at the same time. It leaves the store open.
func Fill(ctx context.Context, store kvmodel.Store, plan Plan) (made int, err error) {
	if plan.Pages <= 0 {
		return 0, nil
	}
	calendar := new(calendar)
	db, err := kvmodel.Open(unclosed{store}, kvmodel.Clock(calendar.now))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	f := &filling{Plan: plan, site: ashiato.NewSite(db, ashiato.Options{Hash: plan.Hash}), calendar: calendar}
	whole, err := f.whole(ctx)
	if whole || err != nil {
		return 0, err
	}
	err = f.fill(ctx)
	return f.made, err
}

// unclosed is a store that stays open when its DB is closed.
type unclosed struct{ kvmodel.Store }

func (u unclosed) Powers() kv.Powers { return kv.PowersOf(u.Store) }
func (unclosed) Close() error        { return nil }

// calendar is a clock that runs behind by whole days.
type calendar struct {
	behind atomic.Int64 // in nanoseconds
}

func (c *calendar) now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// day sets the clock to day n, from 0. The last day is today.
func (c *calendar) day(n int) { c.behind.Store(int64(days-1-n) * int64(24*time.Hour)) }

// filling is one call of Fill.
type filling struct {
	Plan
	site     *ashiato.Site
	calendar *calendar
	made     int
}

// whole reports whether the plan is complete: whether what is made last exists.
func (f *filling) whole(ctx context.Context) (bool, error) {
	last := f.follows()[len(f.follows())-1]
	_, err := f.site.Models.Follows.Get(ctx, ashiato.FollowID{Follower: last.Follower, Followed: last.Followed})
	if err == nil {
		_, err = f.site.Models.Pages.Get(ctx, pageID(f.Pages-1))
	}
	if errors.Is(err, kvmodel.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (f *filling) fill(ctx context.Context) error {
	f.calendar.day(0)
	steps := []func(context.Context) error{f.makeMembers, f.makeTopics}
	for day := range days {
		steps = append(steps, func(ctx context.Context) error { return f.live(ctx, day) })
	}
	steps = append(steps, f.talk, f.like, f.visit, f.makeInterests, f.makeFollows)
	for _, step := range steps {
		if err := errors.Join(ctx.Err(), step(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// handles returns how many members there are, which grows with the pages.
func (f *filling) handles() int { return min(max(len(firstHandles), f.Pages/50), 400) }

func (f *filling) makeMembers(ctx context.Context) error {
	password := ""
	if f.Password != "" {
		var err error
		if password, err = f.site.HashPassword(ctx, f.Password); err != nil {
			return err
		}
	}
	var members []*ashiato.Member
	for i := range f.handles() {
		m := member(i)
		m.Password = password
		m.Joined = f.calendar.now().Add(-time.Duration(f.handles()-i) * time.Hour)
		members = append(members, m)
	}
	_, err := made(f.site.Models.Members.CreateMulti(ctx, members))
	return err
}

func (f *filling) makeTopics(ctx context.Context) error {
	var topics []*ashiato.Topic
	for _, name := range topicNames() {
		topics = append(topics, &ashiato.Topic{Name: name, Since: f.calendar.now()})
	}
	_, err := made(f.site.Models.Topics.CreateMulti(ctx, topics))
	return err
}

// live makes the pages of a day, and views for them and for older ones. First, some
// authors regret what they wrote the day before.
func (f *filling) live(ctx context.Context, day int) error {
	f.calendar.day(day)
	begin, end := f.firstOf(day), f.firstOf(day+1)
	if err := each(ctx, f.firstOf(max(0, day-1)), begin, func(i int) error { return f.regret(ctx, i) }); err != nil {
		return err
	}
	for at := begin; at < end; at += batch {
		if err := f.makePages(ctx, at, min(at+batch, end)); err != nil {
			return err
		}
	}
	return f.view(ctx, max(0, begin-lookedAt), begin, 3)
}

// firstOf returns which page is the first of a day.
func (f *filling) firstOf(day int) int { return f.Pages * day / days }

// regret puts page i into the trash, and perhaps takes it back, if its author does that and
// nobody has changed it.
func (f *filling) regret(ctx context.Context, i int) error {
	trashed, restored := regretted(i)
	if !trashed {
		return nil
	}
	p, err := f.site.Models.Pages.Get(ctx, pageID(i))
	if errors.Is(err, kvmodel.ErrNotFound) || err == nil && p.Version > 1 {
		return nil
	}
	if err == nil {
		_, err = f.site.Trash(ctx, p.Author, p.ID, p.Version)
	}
	if err == nil && restored {
		_, err = f.site.Restore(ctx, p.Author, p.ID)
	}
	return err
}

// makePages makes the pages from begin to end, and views for them unless all of them
// existed.
func (f *filling) makePages(ctx context.Context, begin, end int) error {
	var pages []*ashiato.Page
	now := f.calendar.now()
	for i := begin; i < end; i++ {
		p := page(i, f.handles())
		p.Published = now.Add(-time.Duration(end-i) * 8 * time.Hour / time.Duration(end-begin))
		pages = append(pages, p)
	}
	at := min(max(0, f.Pages-ordered-begin), len(pages))
	there, err := made(f.site.Models.Pages.CreateMulti(ctx, pages[:at]))
	for ; at < len(pages) && err == nil; at++ {
		var one int
		one, err = made(f.site.Models.Pages.CreateMulti(ctx, pages[at:at+1]))
		there += one
	}
	if err != nil {
		return err
	}
	f.made += len(pages) - there
	if f.Progress != nil {
		f.Progress(end)
	}
	if there == len(pages) {
		return nil
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
		if err := errors.Join(err, f.site.DB().Flush(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// talk makes the comments on the last pages.
func (f *filling) talk(ctx context.Context) error {
	var comments []*ashiato.Comment
	for i := max(0, f.Pages-liked); i < f.Pages; i++ {
		comments = append(comments, remarks(i, f.handles(), f.calendar.now())...)
	}
	_, err := made(f.site.Models.Comments.CreateMulti(ctx, comments))
	return err
}

// like makes the likes of the last pages.
func (f *filling) like(ctx context.Context) error {
	var all []*ashiato.Like
	for i := max(0, f.Pages-liked); i < f.Pages; i++ {
		all = append(all, likes(i, f.handles())...)
	}
	_, err := made(f.site.Models.Likes.CreateMulti(ctx, all))
	return err
}

// visit makes members visit each other's profiles.
func (f *filling) visit(ctx context.Context) error {
	return f.site.Models.Visits.Push(ctx, visits(f.handles(), f.calendar.now())...)
}

func (f *filling) makeInterests(ctx context.Context) error {
	_, err := made(f.site.Models.Interests.CreateMulti(ctx, interests(f.handles())))
	return err
}

func (f *filling) follows() []*ashiato.Follow { return follows(f.handles()) }

// makeFollows makes members follow each other, through Site.Follow, which puts
// existing pages into their feeds. The last of them tells whole that all is done.
func (f *filling) makeFollows(ctx context.Context) error {
	all := f.follows()
	last := len(all) - 1
	err := each(ctx, 0, last, func(i int) error {
		return f.site.Follow(ctx, all[i].Follower, all[i].Followed)
	})
	if err != nil {
		return err
	}
	return f.site.Follow(ctx, all[last].Follower, all[last].Followed)
}

// made takes the error of a CreateMulti and returns how many of the records, or of
// their unique values, existed already. Any other failure is an error.
func made(err error) (there int, _ error) {
	for _, err := range kvmodel.Items(err) {
		if !errors.Is(err, kvmodel.ErrExists) {
			return there, err
		}
		there++
	}
	return there, nil
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
