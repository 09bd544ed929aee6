package site

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/conduit"
)

type said struct {
	Question string
	Answer   any
}

// The app's own tests hold the answers of ringtree in memory.
func TestSites_AllGiveTheSameAnswers(t *testing.T) {
	wantSame(t, All, interview)
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
func interview(t *testing.T, kind place.Kind[Site], at place.Place) (all []said) {
	t.Helper()
	ctx := t.Context()
	at.Dir = t.TempDir()
	s, err := kind.Open(ctx, at)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	d := New(1000)
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
			slug := Slug(len(d.Articles) - 1 - article)
			for _, likes := range [][]bool{{true}, {true, true}, {false}, {true, false}}[article%4] {
				v, err := s.Favorite(ctx, viewer, slug, likes)
				say(fmt.Sprint(viewer, " likes ", slug, likes), v, err)
			}
		}
		c, err := s.Comment(ctx, viewer, Slug(3), fmt.Sprint("Comment by ", viewer))
		say("comment", c, err)
		for _, tags := range [][]string{{Tag(1), Tag(2)}, {Tag(3)}} {
			n := conduit.NewArticle{Title: fmt.Sprintf("New %d%d", viewer, len(tags)), Description: "d", Body: "b", TagList: tags}
			v, err := s.Publish(ctx, viewer, n)
			say("publish", v, err)
			nextMillisecond()
		}
	}
	v, err := s.Publish(ctx, 1, conduit.NewArticle{Title: "New 11", Description: "again", Body: "b", TagList: []string{Tag(4)}})
	must(t, err)
	if v.Slug == "new-11" || v.Description != "again" {
		t.Errorf("a second article at the slug new-11: %+v", v)
	}
	must(t, s.Flush(ctx))
	return append(all, ask(t, ctx, s, d)...)
}

func ask(t *testing.T, ctx context.Context, s Site, d *Data) (all []said) {
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
		author, err := s.Profile(ctx, viewer, Username(d.Users-1-viewer))
		say(fmt.Sprint("profile for ", viewer), author, err)
	}
	for i := range d.Articles {
		article, err := s.Article(ctx, i%d.Users, Slug(i))
		say(fmt.Sprint("article ", i), article, err)
	}
	for tag := range Tags {
		page, err := s.Tag(ctx, tag%d.Users, Tag(tag))
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
	case *Author:
		articles(a.Articles)
	case *conduit.CommentView:
		a.CreatedAt, a.UpdatedAt = time.Time{}, time.Time{}
	case *Reading:
		article(a.Article)
		for i := range a.Comments {
			a.Comments[i].CreatedAt, a.Comments[i].UpdatedAt = time.Time{}, time.Time{}
		}
	}
	return answer
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNew_IsASiteOfSoManyRecordsAndTheSameEachTime(t *testing.T) {
	d := New(10_000)
	if n := d.Users + len(d.Articles) + len(d.Follows) + len(d.Favorites) + len(d.Comments); n != 10_000 {
		t.Errorf("%d records, want 10,000", n)
	}
	if diff := cmp.Diff(d, New(10_000)); diff != "" {
		t.Errorf("mismatch (-first +second):\n%s", diff)
	}
	for _, a := range d.Articles {
		if a.Tags[0] == a.Tags[1] || a.Tags[1] == a.Tags[2] || a.Tags[0] == a.Tags[2] {
			t.Fatalf("an article has a tag twice: %v", a.Tags)
		}
	}
}
