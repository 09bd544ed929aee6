package site_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/compare/site"
	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/internal/proof"
)

type said struct {
	Question string
	Answer   any
}

// The app's own tests hold the answers of ringtree in memory.
func TestSites_AllGiveTheSameAnswers(t *testing.T) {
	wantSame(t, site.All, interview)
}

// wantSame wants the answers of ringtree in memory from all kinds.
func wantSame[T any](t *testing.T, kinds []place.Kind[T], interview func(*testing.T, place.Kind[T], place.Place) []said, opts ...cmp.Option) {
	t.Helper()
	at := place.StartAll(t)
	memory := slices.IndexFunc(kinds, func(k place.Kind[T]) bool { return k.Name == "ringtree-memory" })
	want := interview(t, kinds[memory], at)
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			if err := place.Missing(kind.Server); err != nil {
				t.Skip(err)
			}
			if diff := cmp.Diff(want, interview(t, kind, at), opts...); diff != "" {
				t.Errorf("answers mismatch (-want +got):\n%.5000s", diff)
			}
		})
	}
}

// interview opens a site, fills it, and asks for pages of all kinds before and after changes of all
// kinds.
func interview(t *testing.T, kind place.Kind[site.Site], at place.Place) (all []said) {
	t.Helper()
	ctx := t.Context()
	at.Dir = t.TempDir()
	s, err := kind.Open(ctx, at)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	d := site.New(1000)
	must(t, s.Load(ctx, d))
	all = ask(t, ctx, s, d)
	say := func(question string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		all = append(all, said{question, withoutTimes(answer)})
	}
	for viewer := range 5 {
		for article := range 30 {
			slug := site.Slug(len(d.Articles) - 1 - article)
			for _, likes := range [][]bool{{true}, {true, true}, {false}, {true, false}}[article%4] {
				v, err := s.Favorite(ctx, viewer, slug, likes)
				say(fmt.Sprint(viewer, " likes ", slug, likes), v, err)
			}
		}
		c, err := s.Comment(ctx, viewer, site.Slug(3), fmt.Sprint("Comment by ", viewer))
		say("comment", c, err)
		for _, tags := range [][]string{{site.Tag(1), site.Tag(2)}, {site.Tag(3)}} {
			n := conduit.NewArticle{Title: fmt.Sprintf("New %d%d", viewer, len(tags)), Description: "d", Body: "b", TagList: tags}
			v, err := s.Publish(ctx, viewer, n)
			say("publish", v, err)
			site.NextMillisecond()
		}
	}
	v, err := s.Publish(ctx, 1, conduit.NewArticle{Title: "New 11", Description: "again", Body: "b", TagList: []string{site.Tag(4)}})
	must(t, err)
	if v.Slug == "new-11" || v.Description != "again" {
		t.Errorf("a second article at the slug new-11: %+v", v)
	}
	must(t, s.Flush(ctx))
	return append(all, ask(t, ctx, s, d)...)
}

func ask(t *testing.T, ctx context.Context, s site.Site, d *site.Data) (all []said) {
	t.Helper()
	say := func(question string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		all = append(all, said{question, withoutTimes(answer)})
	}
	for viewer := range d.Users {
		page, err := s.Feed(ctx, viewer)
		say(fmt.Sprint("feed of ", viewer), page, err)
		author, err := s.Profile(ctx, viewer, site.Username(d.Users-1-viewer))
		say(fmt.Sprint("profile for ", viewer), author, err)
	}
	for i := range d.Articles {
		article, err := s.Article(ctx, i%d.Users, site.Slug(i))
		say(fmt.Sprint("article ", i), article, err)
	}
	for tag := range site.Tags {
		page, err := s.Tag(ctx, tag%d.Users, site.Tag(tag))
		say(fmt.Sprint("tag ", tag), page, err)
	}
	return all
}

// withoutTimes also removes the random part of a slug.
func withoutTimes(answer any) any {
	article := func(v *conduit.ArticleView) {
		v.CreatedAt, v.UpdatedAt = time.Time{}, time.Time{}
		if v.Description == "again" {
			v.Slug = ""
		}
	}
	articles := func(page *conduit.ArticlePage) {
		for i := range page.Articles {
			article(&page.Articles[i])
		}
	}
	switch a := answer.(type) {
	case *conduit.ArticleView:
		article(a)
	case *conduit.ArticlePage:
		articles(a)
	case *site.Author:
		articles(a.Articles)
	case *conduit.CommentView:
		a.CreatedAt, a.UpdatedAt = time.Time{}, time.Time{}
	case *site.Reading:
		article(a.Article)
		for i := range a.Comments {
			a.Comments[i].CreatedAt, a.Comments[i].UpdatedAt = time.Time{}, time.Time{}
		}
	}
	return answer
}

var must = proof.Must

func TestNew_IsASiteOfSoManyRecordsAndTheSameEachTime(t *testing.T) {
	d := site.New(10_000)
	proof.Equal(t, d.Users+len(d.Articles)+len(d.Follows)+len(d.Favorites)+len(d.Comments), 10_000, "records")
	proof.NoDiff(t, cmp.Diff(d, site.New(10_000)), "mismatch (-first +second)")
	for _, a := range d.Articles {
		if a.Tags[0] == a.Tags[1] || a.Tags[1] == a.Tags[2] || a.Tags[0] == a.Tags[2] {
			t.Fatalf("an article has a tag twice: %v", a.Tags)
		}
	}
}

// The forum's own tests hold the answers of ringtree in memory.
func TestForums_AllGiveTheSameAnswers(t *testing.T) {
	wantSame(t, site.Forums, interviewForum, cmpopts.EquateEmpty())
}

func interviewForum(t *testing.T, kind place.Kind[site.Forum], at place.Place) (all []said) {
	t.Helper()
	ctx := t.Context()
	at.Dir = t.TempDir()
	f, err := kind.Open(ctx, at)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	d := site.NewThreads(1000)
	must(t, f.Load(ctx, d))
	all = askForum(t, ctx, f, d)
	for reader := range 5 {
		for i := range 30 {
			for _, value := range [][]int64{{1}, {1, -1}, {-1, 0}, {0, 1, 1}}[(i+reader)%4] {
				story, comment := len(d.Stories)-1-i, len(d.Comments)-1-i
				if err := f.VoteStory(ctx, reader, story, value); !errors.Is(err, own(d.Stories[story].Author == reader)) {
					t.Errorf("%d votes for story %d: %v", reader, story, err)
				}
				if err := f.VoteComment(ctx, reader, comment, value); !errors.Is(err, own(d.Comments[comment].Author == reader)) {
					t.Errorf("%d votes for comment %d: %v", reader, comment, err)
				}
			}
		}
		for i := range 3 {
			site.NextMillisecond()
			comment := len(d.Comments) - 1 - i
			must(t, f.Comment(ctx, reader, d.Comments[comment].Story, comment, fmt.Sprint("An answer by ", reader)))
			site.NextMillisecond()
			must(t, f.Comment(ctx, reader, len(d.Stories)-1, -1, fmt.Sprint("A comment by ", reader)))
		}
		site.NextMillisecond()
		must(t, f.Submit(ctx, reader, forum.NewStory{URL: fmt.Sprint("https://example.com/new/", reader), Title: fmt.Sprint("New ", reader), Tags: []string{site.Tag(reader), site.Tag(30 + reader)}}))
	}
	must(t, f.Flush(ctx))
	return append(all, askForum(t, ctx, f, d)...)
}

// own returns the error of a vote.
func own(is bool) error {
	if is {
		return forum.ErrOwn
	}
	return nil
}

func askForum(t *testing.T, ctx context.Context, f site.Forum, d *site.Threads) (all []said) {
	t.Helper()
	say := func(question string, page *forum.Page, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		all = append(all, said{question, plain(page)})
	}
	for reader := -1; reader < 6; reader++ {
		page, err := f.Front(ctx, reader)
		say(fmt.Sprint("front page for ", reader), page, err)
		page, err = f.NewestComments(ctx, reader)
		say(fmt.Sprint("newest comments for ", reader), page, err)
		for user := range d.Users {
			page, err := f.User(ctx, reader, user)
			say(fmt.Sprint("user ", user, " for ", reader), page, err)
		}
	}
	for story := range d.Stories {
		page, err := f.Story(ctx, story%d.Users-1, story)
		say(fmt.Sprint("story ", story), page, err)
	}
	return all
}

// plain returns a page without its ids, times and cursors, which differ between peers.
func plain(p *forum.Page) *forum.Page {
	p.Next = ""
	if p.User != nil {
		p.User.Muted, p.User.Looked = nil, time.Time{}
	}
	for _, s := range p.Stories {
		s.ID, s.Made = "", time.Time{}
	}
	for _, c := range p.Comments {
		c.ID, c.Story, c.Parent, c.To, c.Made = "", "", "", "", time.Time{}
		if c.On != nil {
			c.On.ID, c.On.Made = "", time.Time{}
		}
	}
	return p
}

func TestNewThreads_IsAForumOfSoManyRecordsAndTheSameEachTime(t *testing.T) {
	d := site.NewThreads(10_000)
	proof.Equal(t, d.Users+len(d.Stories)+len(d.Comments)+len(d.Votes)+len(d.Saves)+len(d.Hides), 10_000, "records")
	proof.NoDiff(t, cmp.Diff(d, site.NewThreads(10_000)), "mismatch (-first +second)")
	deepest, depth := 0, make([]int, len(d.Comments))
	for i, c := range d.Comments {
		if c.Parent >= 0 {
			if d.Comments[c.Parent].Story != c.Story {
				t.Fatalf("comment %d answers one on another story", i)
			}
			depth[i] = depth[c.Parent] + 1
			deepest = max(deepest, depth[i])
		}
	}
	if deepest < 3 {
		t.Errorf("comments are %d deep", deepest)
	}
}
