package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ringtree/ringtree/bench/compare/site"
	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/forum"
)

type visitor struct {
	site.Site
	data *site.Data
}

func (v visitor) anyone(r *rand.Rand) int { return r.IntN(v.data.Users) }

func (v visitor) article(r *rand.Rand) string { return site.Slug(v.data.Popular(r)) }

type view[V any] struct {
	name  string
	share int // among the views of a list
	ask   func(v V, ctx context.Context, r *rand.Rand) error
}

var reading = []view[visitor]{
	{"feed", 25, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Feed(ctx, v.anyone(r))
		return err
	}},
	{"article", 35, func(v visitor, ctx context.Context, r *rand.Rand) error {
		slug := v.article(r)
		page, err := v.Article(ctx, v.anyone(r), slug)
		if err == nil && page.Article.Slug != slug {
			err = fmt.Errorf("asked for %s, got %s", slug, page.Article.Slug)
		}
		return err
	}},
	{"profile", 15, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Profile(ctx, v.anyone(r), site.Username(v.data.Articles[v.data.Popular(r)].Author))
		return err
	}},
	{"tag", 15, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Tag(ctx, v.anyone(r), site.Tag(r.IntN(site.Tags)))
		return err
	}},
}

var writing = []view[visitor]{
	{"favorite", 5, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Favorite(ctx, v.anyone(r), v.article(r), r.IntN(2) == 0)
		return err
	}},
	{"comment", 3, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Comment(ctx, v.anyone(r), v.article(r), "I had not thought of that, and shall try it.")
		return err
	}},
	{"publish", 2, func(v visitor, ctx context.Context, r *rand.Rand) error {
		_, err := v.Publish(ctx, v.anyone(r), conduit.NewArticle{
			Title: fmt.Sprintf("Found %x", r.Uint64()), Description: "What has come up", Body: texts[r.IntN(len(texts))],
			TagList: []string{site.Tag(r.IntN(site.Tags / 2)), site.Tag(site.Tags/2 + r.IntN(site.Tags/2))},
		})
		return err
	}},
}

var texts = func() (all [64]string) {
	for i := range all {
		all[i] = site.Body(1e9 + i)
	}
	return all
}()

func mix(_ context.Context, s *subject, writes int) (op, error) {
	v := s.on[onSite].(visitor)
	return func(ctx context.Context, r *rand.Rand) (string, error) {
		of := reading
		if r.IntN(100) < writes {
			of = writing
		}
		w := chosen(r, of)
		return w.name, w.ask(v, ctx, r)
	}, nil
}

// chosen returns one of all, weighted by their shares.
func chosen[V any](r *rand.Rand, all []view[V]) view[V] {
	sum := 0
	for _, v := range all {
		sum += v.share
	}
	n := r.IntN(sum)
	for _, v := range all {
		if n -= v.share; n < 0 {
			return v
		}
	}
	panic("the shares are more than their sum")
}

// Every other reader is a guest.
type member struct {
	site.Forum
	data *site.Threads
}

func (m member) reader(r *rand.Rand) int {
	if r.IntN(2) == 0 {
		return -1
	}
	return m.anyone(r)
}

func (m member) anyone(r *rand.Rand) int { return r.IntN(m.data.Users) }

// The shares, in a thousand, are those of a real site. Only two in a hundred write.
var forumViews = []view[member]{
	{"story", 560, func(m member, ctx context.Context, r *rand.Rand) error {
		page, err := m.Story(ctx, m.reader(r), m.data.Popular(r))
		if err == nil && len(page.Stories) != 1 {
			err = fmt.Errorf("the page of a story has %d", len(page.Stories))
		}
		return err
	}},
	{"front", 300, func(m member, ctx context.Context, r *rand.Rand) error {
		page, err := m.Front(ctx, m.reader(r))
		if err == nil && len(page.Stories) == 0 {
			err = errors.New("the front page has no stories")
		}
		return err
	}},
	{"user", 70, func(m member, ctx context.Context, r *rand.Rand) error {
		_, err := m.User(ctx, m.reader(r), m.data.Stories[m.data.Popular(r)].Author)
		return err
	}},
	{"comments", 50, func(m member, ctx context.Context, r *rand.Rand) error {
		_, err := m.NewestComments(ctx, m.reader(r))
		return err
	}},
	{"vote", 12, func(m member, ctx context.Context, r *rand.Rand) error {
		value, err := [...]int64{1, 1, 1, -1, 0}[r.IntN(5)], error(nil)
		if r.IntN(2) == 0 {
			err = m.VoteStory(ctx, m.anyone(r), m.data.Popular(r), value)
		} else {
			err = m.VoteComment(ctx, m.anyone(r), r.IntN(len(m.data.Comments)), value)
		}
		if errors.Is(err, forum.ErrOwn) {
			return nil
		}
		return err
	}},
	{"comment", 6, func(m member, ctx context.Context, r *rand.Rand) error {
		story, parent := m.data.Popular(r), -1
		if r.IntN(2) == 0 {
			parent = r.IntN(len(m.data.Comments))
			story = m.data.Comments[parent].Story
		}
		return m.Comment(ctx, m.anyone(r), story, parent, "I had not thought of that, and shall try it.")
	}},
	{"submit", 2, func(m member, ctx context.Context, r *rand.Rand) error {
		return m.Submit(ctx, m.anyone(r), forum.NewStory{
			URL: fmt.Sprintf("https://example.com/%x", r.Uint64()), Title: fmt.Sprintf("Found number %d", r.IntN(1e6)),
			Tags: []string{site.Tag(r.IntN(site.Tags / 2)), site.Tag(site.Tags/2 + r.IntN(site.Tags/2))},
		})
	}},
}

// The share of writes is fixed.
func forumMix(_ context.Context, s *subject, _ int) (op, error) {
	m := s.on[onForum].(member)
	return func(ctx context.Context, r *rand.Rand) (string, error) {
		v := chosen(r, forumViews)
		return v.name, v.ask(m, ctx, r)
	}, nil
}
