// Package site has the pages of an app, [conduit], on ringtree and its alternatives: each peer in a
// file of its own, written as its documentation advises. All of them show the same.
package site

import (
	"context"

	"github.com/ringtree/ringtree/examples/conduit"
)

// Reading is a page of one article.
type Reading struct {
	Article  *conduit.ArticleView
	Comments []conduit.CommentView // oldest first
}

// Author is the page of a user.
type Author struct {
	Profile  *conduit.Profile
	Articles *conduit.ArticlePage // the newest
}

// Shown is the number of articles in a list.
const Shown = 20

// Site is an app on a peer. It must be safe for concurrent use; a viewer is the number of a user.
type Site interface {
	// Load stores d. The site is empty.
	Load(ctx context.Context, d *Data) error
	Close() error

	Feed(ctx context.Context, viewer int) (*conduit.ArticlePage, error) // by the authors that viewer follows
	Article(ctx context.Context, viewer int, slug string) (*Reading, error)
	Profile(ctx context.Context, viewer int, username string) (*Author, error)
	Tag(ctx context.Context, viewer int, tag string) (*conduit.ArticlePage, error)

	Favorite(ctx context.Context, viewer int, slug string, likes bool) (*conduit.ArticleView, error)
	Comment(ctx context.Context, viewer int, slug, body string) (*conduit.CommentView, error)
	Publish(ctx context.Context, viewer int, n conduit.NewArticle) (*conduit.ArticleView, error)

	// Flush returns when all writes are visible in every answer.
	Flush(ctx context.Context) error
}
