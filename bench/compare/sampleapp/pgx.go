package sampleapp

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pgx is SQL by hand on PostgreSQL: what a page shows and no more, in one trip, or in two
// if the second needs what the first has found.
type Pgx struct{ Pool *pgxpool.Pool }

const pgxSchema = `
CREATE TABLE members (id bigint PRIMARY KEY, handle text NOT NULL UNIQUE, about text NOT NULL, followers bigint NOT NULL);
CREATE TABLE articles (id bigint PRIMARY KEY, slug text NOT NULL UNIQUE, title text NOT NULL, body text NOT NULL,
	author_id bigint NOT NULL REFERENCES members, topics text[] NOT NULL, published timestamptz NOT NULL, views bigint NOT NULL, comments bigint NOT NULL);
CREATE INDEX ON articles (published);
CREATE INDEX ON articles (author_id, published);
CREATE INDEX ON articles (views);
CREATE TABLE comments (id bigint PRIMARY KEY, article_id bigint NOT NULL REFERENCES articles, author_id bigint NOT NULL REFERENCES members, text text NOT NULL, at timestamptz NOT NULL);
CREATE INDEX ON comments (article_id, at);
CREATE TABLE day_views (day int, article_id bigint REFERENCES articles, views bigint NOT NULL, PRIMARY KEY (day, article_id));`

const listedColumns = "SELECT a.slug, a.title, m.handle, a.topics, a.views, a.published FROM articles a JOIN members m ON m.id = a.author_id "

// collect puts the rows of a query into all.
func collect[T any](all *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	}
}

// Home sends all queries at once. No article was deleted, so the last id says how many there
// are.
func (p *Pgx) Home(ctx context.Context) (home Home, err error) {
	var all pgx.Batch
	home.Members = members
	all.Queue("SELECT max(id) FROM articles").QueryRow(func(row pgx.Row) error { return row.Scan(&home.Pages) })
	all.Queue(listedColumns+"ORDER BY a.published DESC LIMIT $1", newest+1).Query(collect(&home.Newest))
	all.Queue(`SELECT a.slug, a.title, m.handle, a.topics, w.views, a.published
		FROM (SELECT article_id, sum(views)::bigint AS views FROM day_views WHERE day > $1 GROUP BY article_id ORDER BY views DESC LIMIT $2) w
		JOIN articles a ON a.id = w.article_id JOIN members m ON m.id = a.author_id ORDER BY w.views DESC`, today()-weekDays, popular).Query(collect(&home.Week))
	err = p.Pool.SendBatch(ctx, &all).Close()
	return home, err
}

const countRanked = "SELECT count(*) FROM articles WHERE views > 0"

// Ranking sends both queries at once.
func (p *Pgx) Ranking(ctx context.Context) (ranks Ranking, err error) {
	var both pgx.Batch
	both.Queue(listedColumns+"WHERE a.views > 0 ORDER BY a.views DESC LIMIT $1", top).Query(collect(&ranks.Top))
	both.Queue(countRanked).QueryRow(func(row pgx.Row) error { return row.Scan(&ranks.Of) })
	err = p.Pool.SendBatch(ctx, &both).Close()
	if n := len(ranks.Top); n == top {
		ranks.Next = strconv.FormatInt(ranks.Top[n-1].Views, 10)
	}
	return ranks, err
}

// Article finds the article, and then sends all other queries at once.
func (p *Pgx) Article(ctx context.Context, slug string) (a Article, err error) {
	var id, author int64
	err = p.Pool.QueryRow(ctx, `SELECT a.id, a.author_id, a.slug, a.title, m.handle, a.topics, a.views, a.published, a.body, m.about, m.followers, a.comments
		FROM articles a JOIN members m ON m.id = a.author_id WHERE a.slug = $1`, slug).
		Scan(&id, &author, &a.Slug, &a.Title, &a.Author, &a.Topics, &a.Views, &a.Published, &a.Body, &a.About, &a.Followers, &a.Comments)
	if err != nil {
		return a, err
	}
	var around pgx.Batch
	around.Queue("SELECT m.handle, c.text, c.at FROM comments c JOIN members m ON m.id = c.author_id WHERE c.article_id = $1 ORDER BY c.at DESC LIMIT $2", id, remarks).Query(collect(&a.Remarks))
	around.Queue("SELECT count(*) + 1 FROM articles WHERE views > $1", a.Views).QueryRow(func(row pgx.Row) error { return row.Scan(&a.Rank) })
	around.Queue(countRanked).QueryRow(func(row pgx.Row) error { return row.Scan(&a.Of) })
	around.Queue(listedColumns+"WHERE a.author_id = $1 AND a.id <> $2 ORDER BY a.published DESC LIMIT $3", author, id, more).Query(collect(&a.More))
	return a, p.Pool.SendBatch(ctx, &around).Close()
}

// Load makes the data of a site with n articles.
func (p *Pgx) Load(ctx context.Context, n int) error {
	if _, err := p.Pool.Exec(ctx, pgxSchema); err != nil {
		return err
	}
	var people [][]any
	for i := range int64(members) {
		people = append(people, []any{i + 1, handle(i + 1), about(i + 1), int64(followers)})
	}
	if err := p.copy(ctx, "members", []string{"id", "handle", "about", "followers"}, people); err != nil {
		return err
	}
	err := eachBatch(n, func(batch []entry) error { return p.loadArticles(ctx, batch) })
	if err != nil {
		return err
	}
	_, err = p.Pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

func (p *Pgx) loadArticles(ctx context.Context, batch []entry) error {
	var articles, comments, days [][]any
	for _, e := range batch {
		articles = append(articles, []any{e.id, e.Slug, e.Title, e.body, e.author, e.Topics, e.Published, e.Views, len(e.comments)})
		for _, c := range e.comments {
			comments = append(comments, []any{c.id, e.id, c.author, c.text, c.at})
		}
		for day, views := range e.days {
			if views > 0 {
				days = append(days, []any{today() - day, e.id, views})
			}
		}
	}
	err := p.copy(ctx, "articles", []string{"id", "slug", "title", "body", "author_id", "topics", "published", "views", "comments"}, articles)
	if err == nil {
		err = p.copy(ctx, "comments", []string{"id", "article_id", "author_id", "text", "at"}, comments)
	}
	if err == nil {
		err = p.copy(ctx, "day_views", []string{"day", "article_id", "views"}, days)
	}
	return err
}

func (p *Pgx) copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	_, err := p.Pool.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	return err
}
