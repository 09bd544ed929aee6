package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/ringtree/ringtree/bench/compare/site"
	"github.com/ringtree/ringtree/examples/conduit"
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
