package conduit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

type NewArticle struct {
	Title, Description, Body string
	TagList                  []string
}

// ArticleChange has the fields to set; nil ones stay.
type ArticleChange struct {
	Title, Description, Body *string
	TagList                  *[]string
}

func (x *Article) Validate() error {
	p := kvmodel.Problems{}
	notBlank(p, "title", x.Title)
	notBlank(p, "description", x.Description)
	notBlank(p, "body", x.Body)
	return p.Err()
}

// Filter selects articles by one of its fields, or all.
type Filter struct{ Tag, Author, Favorited string }

// Part is the range of a list to show: up to Limit, after the first Offset. Neither is negative.
type Part struct{ Limit, Offset int }

func (p Part) of(all []byline) []byline {
	return all[min(p.Offset, len(all)):min(p.Offset+p.Limit, len(all))]
}

// List is GET /api/articles: articles, newest first. Beyond the last there are none.
func (a *App) List(ctx context.Context, viewer string, f Filter, part Part) (*ArticlePage, error) {
	switch {
	case f.Tag != "":
		return a.listed(ctx, viewer, a.m.Articles.TopMadeByTags.Of(f.Tag), part)
	case f.Author != "":
		author, err := a.user(ctx, f.Author)
		if err != nil {
			return noneUnless(err)
		}
		return a.listed(ctx, viewer, a.m.Articles.TopMadeByAuthor.Of(author.ID), part)
	case f.Favorited != "":
		user, err := a.user(ctx, f.Favorited)
		if err != nil {
			return noneUnless(err)
		}
		return a.favorited(ctx, viewer, user.ID, part)
	}
	return a.listed(ctx, viewer, a.m.Articles.TopMade, part)
}

// noneUnless returns an empty page if err means that the user does not exist.
func noneUnless(err error) (*ArticlePage, error) {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return seen{}.page(nil, 0), nil
	}
	return nil, err
}

func (a *App) listed(ctx context.Context, viewer string, board *ranking.Board[Article, string, time.Time], part Part) (*ArticlePage, error) {
	var places []ranking.Place[Article, time.Time]
	var total int
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			if part.Limit > 0 {
				places, err = board.At(ctx, 1+part.Offset, part.Limit)
			}
			return err
		},
		func(ctx context.Context) (err error) { total, err = board.Len(ctx); return err },
	)
	if err != nil {
		return nil, err
	}
	articles := make([]*Article, len(places))
	for i, p := range places {
		articles[i] = p.Item
	}
	return a.page(ctx, viewer, articles, total)
}

// Article is GET /api/articles/{slug}.
func (a *App) Article(ctx context.Context, viewer, slug string) (*ArticleView, error) {
	x, err := a.article(ctx, slug)
	if err != nil {
		return nil, err
	}
	return a.view(ctx, viewer, x)
}

func (a *App) article(ctx context.Context, slug string) (*Article, error) {
	x, err := a.m.Articles.BySlug.Find(ctx, slug)
	return x, about("article", err)
}

// own returns the article at slug if it is the viewer's.
func (a *App) own(ctx context.Context, viewer, slug string) (*Article, error) {
	x, err := a.article(ctx, slug)
	if err == nil && x.Author != viewer {
		err = about("article", ErrForbidden)
	}
	return x, err
}

// CreateArticle is POST /api/articles.
func (a *App) CreateArticle(ctx context.Context, viewer string, n NewArticle) (*ArticleView, error) {
	x := &Article{
		ID:    kvmodel.NewID(a.db.Now()),
		Title: n.Title, Description: n.Description, Body: n.Body, Author: viewer, Tags: tags(n.TagList),
	}
	err := a.atSlug(n.Title, func(slug string) error {
		x.Slug = slug
		return a.m.Articles.Create(ctx, x)
	})
	if err != nil {
		return nil, err
	}
	return a.view(ctx, viewer, x)
}

// UpdateArticle is PUT /api/articles/{slug}. A new title gives the article a new slug.
func (a *App) UpdateArticle(ctx context.Context, viewer, slug string, c ArticleChange) (*ArticleView, error) {
	x, err := a.own(ctx, viewer, slug)
	if err != nil {
		return nil, err
	}
	id := x.ID
	save := func(slug string) (err error) {
		x, err = a.m.Articles.Update(ctx, id, func(x *Article) error {
			x.Slug = slug
			return c.apply(x)
		})
		return err
	}
	if c.Title == nil || *c.Title == x.Title {
		err = save(x.Slug)
	} else {
		err = a.atSlug(*c.Title, save)
	}
	if err != nil {
		return nil, err
	}
	return a.view(ctx, viewer, x)
}

func (c ArticleChange) apply(x *Article) error {
	set(&x.Title, c.Title)
	set(&x.Description, c.Description)
	set(&x.Body, c.Body)
	if c.TagList != nil {
		x.Tags = tags(*c.TagList)
	}
	return nil
}

// DeleteArticle is DELETE /api/articles/{slug}. It also deletes the comments and favorites.
func (a *App) DeleteArticle(ctx context.Context, viewer, slug string) error {
	x, err := a.own(ctx, viewer, slug)
	if err != nil {
		return err
	}
	return a.m.Articles.Delete(ctx, x.ID)
}

// atSlug calls save with the slug of title and, if that is taken, with a similar free one.
func (a *App) atSlug(title string, save func(slug string) error) error {
	slug := slugOf(title)
	err := save(slug)
	if errors.Is(err, kvmodel.ErrExists) {
		err = save(slug + "-" + kvmodel.NewID(a.db.Now())[20:])
	}
	return err
}

const tagsShown = 20

// Tags is GET /api/tags: the most frequent first.
func (a *App) Tags(ctx context.Context) ([]string, error) {
	page, err := a.m.Articles.ByTags.Values.Page(ctx, "", tagsShown)
	tags := []string{}
	for _, tag := range page.Items {
		tags = append(tags, tag.Value)
	}
	return tags, err
}

// slugOf returns the words of title in lower case, with hyphens between them.
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return "article"
	}
	return strings.Join(words, "-")
}

func tags(typed []string) []string {
	var all []string
	for _, tag := range typed {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}
