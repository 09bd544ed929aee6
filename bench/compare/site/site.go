// Package site has the pages of two apps, [conduit] and [forum], on ringtree and its alternatives,
// each written as its documentation advises. All show the same.
package site

import (
	"context"

	"github.com/ringtree/ringtree/examples/conduit"
)

type Reading struct {
	Article  *conduit.ArticleView
	Comments []conduit.CommentView // oldest first
}

type Author struct {
	Profile  *conduit.Profile
	Articles *conduit.ArticlePage // the newest
}

const Shown = 20

// Site is an app on a peer. It must be safe for concurrent use. A viewer is the number of a user.
type Site interface {
	Load(ctx context.Context, d *Data) error
	Close() error

	Feed(ctx context.Context, viewer int) (*conduit.ArticlePage, error) // by the authors that viewer follows
	Article(ctx context.Context, viewer int, slug string) (*Reading, error)
	Profile(ctx context.Context, viewer int, username string) (*Author, error)
	Tag(ctx context.Context, viewer int, tag string) (*conduit.ArticlePage, error)

	Favorite(ctx context.Context, viewer int, slug string, likes bool) (*conduit.ArticleView, error)
	Comment(ctx context.Context, viewer int, slug, body string) (*conduit.CommentView, error)
	Publish(ctx context.Context, viewer int, n conduit.NewArticle) (*conduit.ArticleView, error)

	Flush(ctx context.Context) error
}
