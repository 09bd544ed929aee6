package sampleapp

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

// Ringtree is the sample app's own data layer.
type Ringtree struct {
	App    *ashiato.Site
	behind atomic.Int64 // nanoseconds, of the clock
}

// NewRingtree returns the site in store. Closing App's DB closes the store.
func NewRingtree(store kvmodel.Store) (*Ringtree, error) {
	r := new(Ringtree)
	opened := time.Now()
	clock := func() time.Time { return Now.Add(time.Since(opened) - time.Duration(r.behind.Load())) }
	db, err := kvmodel.Open(store, kvmodel.Clock(clock))
	if err != nil {
		return nil, err
	}
	r.App = ashiato.NewSite(db, ashiato.Options{})
	return r, nil
}

// Home is the Home of the app.
func (r *Ringtree) Home(ctx context.Context) (Home, error) {
	home, err := r.App.Home(ctx)
	if err != nil {
		return Home{}, err
	}
	return Home{entries(home.Newest.Entries), places(home.Week), int64(home.Pages), int64(home.Members)}, nil
}

// Ranking is the Ranking of the app.
func (r *Ringtree) Ranking(ctx context.Context) (Ranking, error) {
	ranks, err := r.App.Ranking(ctx, ashiato.AllTime, "", "")
	if err != nil {
		return Ranking{}, err
	}
	return Ranking{places(ranks.Rows), int64(ranks.Of), ranks.Next}, nil
}

// Article is the Read of the app.
func (r *Ringtree) Article(ctx context.Context, slug string) (Article, error) {
	read, err := r.App.Read(ctx, "", slug, "")
	if err != nil {
		return Article{}, err
	}
	a := Article{
		Listed: listed(read.Entry), Body: read.Body, About: read.By.About, Followers: read.By.Followers,
		Rank: int64(read.Rank), Of: int64(read.Of), Comments: read.Comments,
	}
	for _, remark := range read.Remarks {
		a.Remarks = append(a.Remarks, Remark{remark.By.Handle, remark.Text, remark.At})
	}
	for _, page := range read.More {
		a.More = append(a.More, listed(ashiato.Entry{Page: page, By: read.By}))
	}
	return a, nil
}

func listed(e ashiato.Entry) Listed {
	return Listed{e.Slug, e.Title, e.By.Handle, e.Topics, e.Views, e.Published}
}

func entries(from []ashiato.Entry) []Listed {
	all := make([]Listed, len(from))
	for i, e := range from {
		all[i] = listed(e)
	}
	return all
}

func places(from []ashiato.Placed) []Listed {
	all := make([]Listed, len(from))
	for i, p := range from {
		all[i] = listed(p.Entry)
		all[i].Views = p.Score
	}
	return all
}

// Load makes the data of a site with n articles.
func (r *Ringtree) Load(ctx context.Context, n int) error {
	if err := r.loadMembers(ctx); err != nil {
		return err
	}
	if err := eachBatch(n, func(batch []entry) error { return r.loadArticles(ctx, batch, n) }); err != nil {
		return err
	}
	// All other views were on one day, so long ago that no ranking of a week has them.
	for day := weekDays; day >= 0; day-- {
		if err := r.loadViews(ctx, n, day); err != nil {
			return err
		}
	}
	return r.App.DB().Flush(ctx)
}

func (r *Ringtree) loadMembers(ctx context.Context) error {
	var all []*ashiato.Member
	var follows []*ashiato.Follow
	for i := range int64(members) {
		all = append(all, &ashiato.Member{ID: memberID(i + 1), Handle: handle(i + 1), About: about(i + 1), Joined: Now})
		for f := range int64(followers) {
			follows = append(follows, &ashiato.Follow{Follower: memberID((i+f+1)%members + 1), Followed: memberID(i + 1)})
		}
	}
	var topics []*ashiato.Topic
	for _, name := range topicNames {
		topics = append(topics, &ashiato.Topic{Name: name})
	}
	m := r.App.Models
	return errors.Join(m.Members.CreateMulti(ctx, all), m.Topics.CreateMulti(ctx, topics), m.Follows.CreateMulti(ctx, follows))
}

func memberID(i int64) string { return "by-" + handle(i) }

// loadArticles makes those that the home page shows one by one, in the order of a timeline.
func (r *Ringtree) loadArticles(ctx context.Context, batch []entry, n int) error {
	var many []*ashiato.Page
	var comments []*ashiato.Comment
	for _, e := range batch {
		page := &ashiato.Page{
			ID: idOf(e.Slug), Slug: e.Slug, Title: e.Title, Body: e.body, Author: memberID(e.author), Topics: e.Topics, Published: e.Published,
		}
		for _, c := range e.comments {
			comments = append(comments, &ashiato.Comment{ID: strconv.FormatInt(c.id, 36), Page: page.ID, Author: memberID(c.author), Text: c.text, At: c.at})
		}
		if int64(n)-e.id >= 2*newest {
			many = append(many, page)
			continue
		}
		if err := r.App.Models.Pages.CreateMulti(ctx, many); err != nil {
			return err
		}
		many = nil
		if err := r.App.Models.Pages.Create(ctx, page); err != nil {
			return err
		}
	}
	if err := r.App.Models.Pages.CreateMulti(ctx, many); err != nil {
		return err
	}
	return r.loadComments(ctx, comments)
}

// loadComments makes the first comment of each article, then the second and so on.
func (r *Ringtree) loadComments(ctx context.Context, all []*ashiato.Comment) error {
	var err error
	for nth := range spoken {
		var some []*ashiato.Comment
		for i := nth; i < len(all); i += spoken {
			some = append(some, all[i])
		}
		err = errors.Join(err, r.App.Models.Comments.CreateMulti(ctx, some))
	}
	return err
}

// loadViews counts the views of a day, 0 being today. Its batches grow with the ranking:
// one that is small can take only a few at once.
func (r *Ringtree) loadViews(ctx context.Context, n, day int) error {
	step, ago := viewed, day
	if day == weekDays {
		step, ago = 1, 3*weekDays
	}
	r.behind.Store(int64(ago) * int64(24*time.Hour))
	for from := step; from <= n; {
		some := max(32, min(from/step/4, 2000))
		end := min(from+some*step, n+1)
		if err := r.view(ctx, from, end, step, n, day); err != nil {
			return err
		}
		from = end
	}
	return nil
}

func (r *Ringtree) view(ctx context.Context, from, end, step, n, day int) error {
	const workers = 32
	errs := make([]error, workers)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := from + w*step; i < end && errs[w] == nil; i += workers * step {
				e := newEntry(int64(i), n)
				_, errs[w] = r.App.Models.Pages.Views.Add(ctx, idOf(e.Slug), e.viewsOn(day))
			}
		})
	}
	running.Wait()
	return errors.Join(errors.Join(errs...), r.App.DB().Flush(ctx))
}
