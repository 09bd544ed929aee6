package site

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

// ringtree is the unmodified app, on any store.
type ringtree struct {
	*place.Database
	app *conduit.App
}

func openRingtree(url string) func(context.Context, place.Place) (Site, error) {
	return func(ctx context.Context, at place.Place) (Site, error) {
		d, err := at.OpenDatabase(ctx, url, kvmodel.Tenant("site"))
		return &ringtree{Database: d}, err
	}
}

func (r *ringtree) Close() error { return r.DB.Close(context.Background()) }

func (r *ringtree) Load(ctx context.Context, d *Data) error {
	opened := func() { r.app = conduit.NewApp(r.DB, conduit.Options{Passes: 1}) }
	return r.Database.Load(ctx, opened, func() error { return r.load(ctx, d) })
}

func userID(user int) string       { return fmt.Sprintf("u%025d", user) }
func articleID(article int) string { return fmt.Sprintf("a%025d", article) }

// many is the number of records created at once.
const many = 500

// load creates the articles one after another, in their natural order.
func (r *ringtree) load(ctx context.Context, d *Data) error {
	m := r.app.Models()
	var users []*conduit.User
	for i := range d.Users {
		users = append(users, &conduit.User{
			ID: userID(i), Username: Username(i), Email: email(i), Bio: bio(i), Image: image(i), Password: conduit.Hash{Key: []byte("none")},
		})
	}
	if err := inBatches(ctx, users, m.Users.CreateMulti); err != nil {
		return err
	}
	for i, a := range d.Articles {
		err := m.Articles.Create(ctx, &conduit.Article{
			ID: articleID(i), Slug: Slug(i), Title: title(i), Description: description(i), Body: Body(i), Author: userID(a.Author), Tags: a.tags(),
			Made: made(i),
		})
		if err != nil {
			return err
		}
		nextMillisecond()
	}
	follows := make([]*conduit.Follow, len(d.Follows))
	for i, f := range d.Follows {
		follows[i] = &conduit.Follow{Reader: userID(f[0]), Author: userID(f[1])}
	}
	if err := inBatches(ctx, follows, m.Follows.CreateMulti); err != nil {
		return err
	}
	favorites := make([]*conduit.Favorite, len(d.Favorites))
	for i, f := range d.Favorites {
		favorites[i] = &conduit.Favorite{User: userID(f[0]), Article: articleID(f[1]), Author: userID(d.Articles[f[1]].Author)}
	}
	if err := inBatches(ctx, favorites, m.Favorites.CreateMulti); err != nil {
		return err
	}
	comments := make([]*conduit.Comment, len(d.Comments))
	for i, c := range d.Comments {
		comments[i] = &conduit.Comment{Author: userID(c[0]), Article: articleID(c[1]), Body: comment(i), Made: made(i)}
	}
	if err := inBatches(ctx, comments, m.Comments.CreateMulti); err != nil {
		return err
	}
	return r.Flush(ctx)
}

// nextMillisecond waits for the next millisecond. Articles of one millisecond would be in no
// particular order in timelines.
func nextMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; time.Sleep(50 * time.Microsecond) {
	}
}

func inBatches[T any](ctx context.Context, all []*T, create func(context.Context, []*T) error) error {
	for some := range slices.Chunk(all, many) {
		if err := create(ctx, some); err != nil {
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
