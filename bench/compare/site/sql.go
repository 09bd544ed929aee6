package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/conduit"
)

// database runs SQL. Parameters are $1, $2, ...
type database interface {
	// read runs queries, in one flight where there is a network.
	read(ctx context.Context, queries ...query) error
	// write runs statements, all or none, in one flight where there is a network.
	write(ctx context.Context, statements ...query) error
	// change runs f in a transaction.
	change(ctx context.Context, f func(tx transaction) error) error
	load(ctx context.Context, schema string, tables ...place.Table) error
	close() error
}

type transaction interface {
	exec(ctx context.Context, sql string, args ...any) (affected int64, err error)
	get(ctx context.Context, sql string, args []any, to ...any) (bool, error)
}

// query is a statement with a function for each row of its answer.
type query struct {
	sql  string
	args []any
	row  func(scan func(...any) error) error
}

var errTaken = errors.New("taken")

// sqlSite is handwritten SQL, with an index for each page, and an article's favorites and tags in
// columns too.
type sqlSite struct{ database }

func onSQL(d database) Site { return sqlSite{d} }

const schema = `
CREATE TABLE users (id SERIAL, username text NOT NULL UNIQUE, email text NOT NULL UNIQUE, bio text NOT NULL, image text NOT NULL);
CREATE TABLE follows (reader bigint, author bigint, PRIMARY KEY (reader, author));
CREATE TABLE articles (id SERIAL, slug text NOT NULL UNIQUE, title text NOT NULL, description text NOT NULL, body text NOT NULL,
	author bigint NOT NULL, tags text NOT NULL, made bigint NOT NULL, edited bigint NOT NULL, favorites bigint NOT NULL);
CREATE INDEX articles_by_author ON articles (author, id);
CREATE TABLE article_tags (tag text, article bigint, PRIMARY KEY (tag, article));
CREATE TABLE favorites (user_id bigint, article bigint, PRIMARY KEY (user_id, article));
CREATE INDEX favorites_by_article ON favorites (article);
CREATE TABLE comments (id SERIAL, article bigint NOT NULL, author bigint NOT NULL, body text NOT NULL, made bigint NOT NULL, edited bigint NOT NULL);
CREATE INDEX comments_by_article ON comments (article, id);
`

// tablesOf numbers the records from 1.
func tablesOf(d *Data) []place.Table {
	favorites := make([]int, len(d.Articles))
	for _, f := range d.Favorites {
		favorites[f[1]]++
	}
	at := func(n int) int64 { return made(n).UnixMicro() }
	return []place.Table{
		place.NewTable("users", "id username email bio image", d.Users, func(i int) []any {
			return []any{i + 1, Username(i), email(i), bio(i), image(i)}
		}),
		pairsOf("follows", "reader author", d.Follows),
		place.NewTable("articles", "id slug title description body author tags made edited favorites", len(d.Articles), func(i int) []any {
			a := d.Articles[i]
			return []any{i + 1, Slug(i), title(i), description(i), Body(i), a.Author + 1, strings.Join(a.tags(), ","), at(i), at(i), favorites[i]}
		}),
		place.NewTable("article_tags", "tag article", 3*len(d.Articles), func(i int) []any {
			return []any{Tag(d.Articles[i/3].Tags[i%3]), i/3 + 1}
		}),
		pairsOf("favorites", "user_id article", d.Favorites),
		place.NewTable("comments", "id article author body made edited", len(d.Comments), func(i int) []any {
			c := d.Comments[i]
			return []any{i + 1, c[1] + 1, c[0] + 1, comment(i), at(i), at(i)}
		}),
	}
}

func pairsOf(table, columns string, all [][2]int) place.Table {
	return place.NewTable(table, columns, len(all), func(i int) []any { return []any{all[i][0] + 1, all[i][1] + 1} })
}

func (s sqlSite) Load(ctx context.Context, d *Data) error {
	return s.load(ctx, schema, tablesOf(d)...)
}

func (s sqlSite) Close() error                { return s.close() }
func (s sqlSite) Flush(context.Context) error { return nil }

func of(viewer int) int64 { return int64(viewer) + 1 }

const (
	profileColumns = `u.username, u.bio, u.image, EXISTS (SELECT 1 FROM follows WHERE reader = $1 AND author = u.id)`
	articleColumns = `SELECT a.slug, a.title, a.description, a.tags, a.made, a.edited, a.favorites,
		EXISTS (SELECT 1 FROM favorites WHERE user_id = $1 AND article = a.id), ` + profileColumns
	articleTables = ` FROM articles a JOIN users u ON u.id = a.author `
)

type profile struct{ bio, image string }

func (p *profile) into(to *conduit.Profile) []any {
	return []any{&to.Username, &p.bio, &p.image, &to.Following}
}

func (p *profile) fill(to *conduit.Profile) {
	if p.bio != "" {
		to.Bio = &p.bio
	}
	if p.image != "" {
		to.Image = &p.image
	}
}

// scanArticle leaves out the body; more are further columns.
func scanArticle(scan func(...any) error, more ...any) (v conduit.ArticleView, err error) {
	var tags string
	var made, edited int64
	var by profile
	to := append([]any{&v.Slug, &v.Title, &v.Description, &tags, &made, &edited, &v.FavoritesCount, &v.Favorited}, by.into(&v.Author)...)
	err = scan(append(to, more...)...)
	by.fill(&v.Author)
	v.TagList = strings.Split(tags, ",")
	v.CreatedAt, v.UpdatedAt = time.UnixMicro(made).UTC(), time.UnixMicro(edited).UTC()
	return v, err
}

// list queries the newest articles that satisfy where, with parameter $2, and their number, with
// $1.
func list(page *conduit.ArticlePage, viewer int, where, count string, of2 any) []query {
	page.Articles = make([]conduit.ArticleView, 0, Shown)
	return []query{
		{articleColumns + articleTables + where + " LIMIT 20", []any{of(viewer), of2}, func(scan func(...any) error) error {
			v, err := scanArticle(scan)
			page.Articles = append(page.Articles, v)
			return err
		}},
		{count, []any{of2}, func(scan func(...any) error) error { return scan(&page.ArticlesCount) }},
	}
}

func (s sqlSite) Feed(ctx context.Context, viewer int) (*conduit.ArticlePage, error) {
	var page conduit.ArticlePage
	err := s.read(ctx, list(&page, viewer,
		"WHERE a.author IN (SELECT author FROM follows WHERE reader = $2) ORDER BY a.id DESC",
		"SELECT count(*) FROM articles WHERE author IN (SELECT author FROM follows WHERE reader = $1)", of(viewer))...)
	page.ArticlesCount = min(page.ArticlesCount, 1000) // the length of the app's feed
	return &page, err
}

func (s sqlSite) Tag(ctx context.Context, viewer int, tag string) (*conduit.ArticlePage, error) {
	var page conduit.ArticlePage
	err := s.read(ctx, list(&page, viewer,
		"JOIN article_tags t ON t.article = a.id WHERE t.tag = $2 ORDER BY t.article DESC",
		"SELECT count(*) FROM article_tags WHERE tag = $1", tag)...)
	return &page, err
}

func (s sqlSite) Profile(ctx context.Context, viewer int, username string) (*Author, error) {
	page := &Author{Articles: new(conduit.ArticlePage)}
	queries := list(page.Articles, viewer,
		"WHERE a.author = (SELECT id FROM users WHERE username = $2) ORDER BY a.id DESC",
		"SELECT count(*) FROM articles WHERE author = (SELECT id FROM users WHERE username = $1)", username)
	err := s.read(ctx, append(queries, query{"SELECT " + profileColumns + " FROM users u WHERE u.username = $2", []any{of(viewer), username}, func(scan func(...any) error) error {
		var by profile
		page.Profile = new(conduit.Profile)
		err := scan(by.into(page.Profile)...)
		by.fill(page.Profile)
		return err
	}})...)
	return page, err
}

func oneArticle(to *conduit.ArticleView, viewer int, slug string) query {
	return query{articleColumns + ", a.body" + articleTables + "WHERE a.slug = $2", []any{of(viewer), slug}, func(scan func(...any) error) (err error) {
		var body string
		*to, err = scanArticle(scan, &body)
		to.Body = body
		return err
	}}
}

func (s sqlSite) Article(ctx context.Context, viewer int, slug string) (*Reading, error) {
	page := &Reading{Article: new(conduit.ArticleView), Comments: []conduit.CommentView{}}
	comments := query{"SELECT c.id, c.body, c.made, c.edited, " + profileColumns + ` FROM comments c JOIN users u ON u.id = c.author
		WHERE c.article = (SELECT id FROM articles WHERE slug = $2) ORDER BY c.id LIMIT 1000`, []any{of(viewer), slug}, func(scan func(...any) error) error {
		var c conduit.CommentView
		var made, edited int64
		var by profile
		err := scan(append([]any{&c.ID, &c.Body, &made, &edited}, by.into(&c.Author)...)...)
		by.fill(&c.Author)
		c.CreatedAt, c.UpdatedAt = time.UnixMicro(made).UTC(), time.UnixMicro(edited).UTC()
		page.Comments = append(page.Comments, c)
		return err
	}}
	return page, s.read(ctx, oneArticle(page.Article, viewer, slug), comments)
}

func (s sqlSite) Favorite(ctx context.Context, viewer int, slug string, likes bool) (*conduit.ArticleView, error) {
	edge, count := "DELETE FROM favorites WHERE user_id = $1 AND article = (SELECT id FROM articles WHERE slug = $2)", "UPDATE articles SET favorites = favorites - 1 WHERE slug = $1"
	if likes {
		edge, count = "INSERT INTO favorites SELECT CAST($1 AS bigint), id FROM articles WHERE slug = $2 ON CONFLICT DO NOTHING", "UPDATE articles SET favorites = favorites + 1 WHERE slug = $1"
	}
	err := s.change(ctx, func(tx transaction) error {
		changed, err := tx.exec(ctx, edge, of(viewer), slug)
		if err == nil && changed > 0 {
			_, err = tx.exec(ctx, count, slug)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v := new(conduit.ArticleView)
	return v, s.read(ctx, oneArticle(v, viewer, slug))
}

func (s sqlSite) Comment(ctx context.Context, viewer int, slug, body string) (*conduit.CommentView, error) {
	now := time.Now().UTC()
	c := &conduit.CommentView{CreatedAt: now, UpdatedAt: now, Body: body}
	return c, s.write(ctx,
		query{"INSERT INTO comments (article, author, body, made, edited) SELECT id, CAST($1 AS bigint), CAST($2 AS text), CAST($3 AS bigint), CAST($3 AS bigint) FROM articles WHERE slug = $4 RETURNING id",
			[]any{of(viewer), body, now.UnixMicro(), slug}, func(scan func(...any) error) error { return scan(&c.ID) }},
		query{"SELECT " + profileColumns + " FROM users u WHERE u.id = $1", []any{of(viewer)}, func(scan func(...any) error) error {
			var by profile
			err := scan(by.into(&c.Author)...)
			by.fill(&c.Author)
			return err
		}})
}

func (s sqlSite) Publish(ctx context.Context, viewer int, n conduit.NewArticle) (*conduit.ArticleView, error) {
	slug := slugOf(n.Title)
	v, err := s.publish(ctx, viewer, slug, n)
	if errors.Is(err, errTaken) {
		v, err = s.publish(ctx, viewer, slug+"-"+strings.ToLower(rand.Text()[:6]), n)
	}
	return v, err
}

func (s sqlSite) publish(ctx context.Context, viewer int, slug string, n conduit.NewArticle) (*conduit.ArticleView, error) {
	statements := []query{{`INSERT INTO articles (slug, title, description, body, author, tags, made, edited, favorites) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 0)`,
		[]any{slug, n.Title, n.Description, n.Body, of(viewer), strings.Join(n.TagList, ","), time.Now().UnixMicro()}, nil}}
	if len(n.TagList) > 0 {
		rows, args := make([]string, len(n.TagList)), []any{slug}
		for i, tag := range n.TagList {
			rows[i] = fmt.Sprintf("($%d, (SELECT id FROM articles WHERE slug = $1))", i+2)
			args = append(args, tag)
		}
		statements = append(statements, query{"INSERT INTO article_tags VALUES " + strings.Join(rows, ", "), args, nil})
	}
	v := new(conduit.ArticleView)
	return v, s.write(ctx, append(statements, oneArticle(v, viewer, slug))...)
}

func slugOf(title string) string {
	return strings.Join(strings.Fields(strings.ToLower(title)), "-")
}
