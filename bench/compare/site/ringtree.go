package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

type ringtree struct {
	*place.Database
	app *conduit.App
}

func onStore(url string) place.Opener[Site] {
	return place.Over(place.Ringtree(url, kvmodel.Tenant("site")), func(d *place.Database) Site { return &ringtree{Database: d} })
}

func (r *ringtree) Load(ctx context.Context, d *Data) error {
	opened := func() { r.app = conduit.NewApp(r.DB, conduit.Options{Passes: 1}) }
	return r.Database.Load(ctx, opened, func() error { return r.load(ctx, d) })
}

func userID(user int) string       { return fmt.Sprintf("u%025d", user) }
func articleID(article int) string { return fmt.Sprintf("a%025d", article) }

// load creates the articles one after another, as writers would.
func (r *ringtree) load(ctx context.Context, d *Data) error {
	m := r.app.Models()
	err := create(ctx, m.Users.CreateMulti, d.Users, func(i int) *conduit.User {
		return &conduit.User{ID: userID(i), Username: Username(i), Email: email(i), Bio: bio(i), Image: image(i), Password: conduit.Hash{Key: []byte("none")}}
	})
	for i := 0; i < len(d.Articles) && err == nil; i++ {
		a := d.Articles[i]
		err = m.Articles.Create(ctx, &conduit.Article{
			ID: articleID(i), Slug: Slug(i), Title: title(i), Description: description(i), Body: Body(i), Author: userID(a.Author), Tags: a.tags(), Made: made(i),
		})
		NextMillisecond()
	}
	return errors.Join(err,
		create(ctx, m.Follows.CreateMulti, len(d.Follows), func(i int) *conduit.Follow {
			return &conduit.Follow{Reader: userID(d.Follows[i][0]), Author: userID(d.Follows[i][1])}
		}),
		create(ctx, m.Favorites.CreateMulti, len(d.Favorites), func(i int) *conduit.Favorite {
			f := d.Favorites[i]
			return &conduit.Favorite{User: userID(f[0]), Article: articleID(f[1]), Author: userID(d.Articles[f[1]].Author)}
		}),
		create(ctx, m.Comments.CreateMulti, len(d.Comments), func(i int) *conduit.Comment {
			c := d.Comments[i]
			return &conduit.Comment{Author: userID(c[0]), Article: articleID(c[1]), Body: comment(i), Made: made(i)}
		}),
		r.Flush(ctx))
}

// NextMillisecond waits for the next millisecond. Articles of one are in no particular order in a
// timeline.
func NextMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; time.Sleep(50 * time.Microsecond) {
	}
}

func create[T any](ctx context.Context, createMulti func(context.Context, []*T) error, n int, record func(i int) *T) error {
	all := make([]*T, n)
	for i := range all {
		all[i] = record(i)
	}
	for some := range slices.Chunk(all, 500) {
		if err := createMulti(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

var part = conduit.Part{Limit: Shown}

func (r *ringtree) Feed(ctx context.Context, viewer int) (*conduit.ArticlePage, error) {
	return r.app.Feed(ctx, userID(viewer), part)
}

func (r *ringtree) Article(ctx context.Context, viewer int, slug string) (*Reading, error) {
	var page Reading
	err := r.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			page.Article, err = r.app.Article(ctx, userID(viewer), slug)
			return err
		},
		func(ctx context.Context) (err error) {
			page.Comments, err = r.app.Comments(ctx, userID(viewer), slug)
			return err
		})
	return &page, err
}

func (r *ringtree) Profile(ctx context.Context, viewer int, username string) (*Author, error) {
	var page Author
	err := r.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			page.Profile, err = r.app.Profile(ctx, userID(viewer), username)
			return err
		},
		func(ctx context.Context) (err error) {
			page.Articles, err = r.app.List(ctx, userID(viewer), conduit.Filter{Author: username}, part)
			return err
		})
	return &page, err
}

func (r *ringtree) Tag(ctx context.Context, viewer int, tag string) (*conduit.ArticlePage, error) {
	return r.app.List(ctx, userID(viewer), conduit.Filter{Tag: tag}, part)
}

func (r *ringtree) Favorite(ctx context.Context, viewer int, slug string, likes bool) (*conduit.ArticleView, error) {
	if likes {
		return r.app.Favorite(ctx, userID(viewer), slug)
	}
	return r.app.Unfavorite(ctx, userID(viewer), slug)
}

func (r *ringtree) Comment(ctx context.Context, viewer int, slug, body string) (*conduit.CommentView, error) {
	return r.app.AddComment(ctx, userID(viewer), slug, body)
}

func (r *ringtree) Publish(ctx context.Context, viewer int, n conduit.NewArticle) (*conduit.ArticleView, error) {
	return r.app.CreateArticle(ctx, userID(viewer), n)
}
