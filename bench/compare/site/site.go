// Package site has the pages of two apps, [conduit] and [forum], on ringtree and its alternatives,
// each written as its documentation advises. All show the same.
package site

import (
	"context"

	"github.com/ringtree/ringtree/bench/compare/place"
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

// All has ringtree's stores last.
var All = append([]place.Kind[Site]{
	{Name: "gorm-postgres", Server: place.Postgres, Durable: place.Nothing, Open: place.Over(place.GormPostgres("gorm_site"), onGorm)},
	{Name: "gorm-sqlite-full", Durable: place.Nothing, File: "gorm-site-full", Open: place.Over(place.GormSQLite("gorm-site-full.db", "FULL"), onGorm)},
	{Name: "gorm-sqlite", Durable: place.LastWrites, File: "gorm-site-normal", Open: place.Over(place.GormSQLite("gorm-site-normal.db", "NORMAL"), onGorm)},
	{Name: "pgx", Server: place.Postgres, Durable: place.Nothing, Open: place.Over(onPgx("pgx_site", "on"), onSQL)},
	{Name: "pgx-async", Server: place.Postgres, Durable: place.LastWrites, Open: place.Over(onPgx("pgx_async_site", "off"), onSQL)},
	{Name: "sqlite-full", Durable: place.Nothing, File: "sqlite-full", Open: place.Over(onSQLite("sqlite-full.db", "FULL"), onSQL)},
	{Name: "sqlite", Durable: place.LastWrites, File: "sqlite-normal", Open: place.Over(onSQLite("sqlite-normal.db", "NORMAL"), onSQL)},
}, place.OnStores("site", 3, 4, onStore)...)

// Forums are the peers with a forum, ringtree's stores last.
var Forums = append([]place.Kind[Forum]{
	{Name: "pgx", Server: place.Postgres, Durable: place.Nothing, Open: place.Over(onPgx("pgx_forum", "on"), forumOnPgx)},
	{Name: "pgx-async", Server: place.Postgres, Durable: place.LastWrites, Open: place.Over(onPgx("pgx_async_forum", "off"), forumOnPgx)},
	{Name: "sqlite-full", Durable: place.Nothing, File: "forum-sqlite-full", Open: place.Over(onSQLite("forum-sqlite-full.db", "FULL"), forumOnSQLite)},
	{Name: "sqlite", Durable: place.LastWrites, File: "forum-sqlite-normal", Open: place.Over(onSQLite("forum-sqlite-normal.db", "NORMAL"), forumOnSQLite)},
	{Name: "ringtree-file-relaxed", Durable: place.LastWrites, File: "forum-relaxed", Open: place.Over(forumOnStore("bolt:%s/forum-relaxed.db?durability=synced"), relaxed)},
}, place.OnStores("forum", 5, 6, forumOnStore)...)
