package peers

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ringtree/ringtree/bench/compare/place"
)

// pgx prepares each statement once for a connection.
type pgxPeer struct{ pool *pgxpool.Pool }

func onPgx(pool *pgxpool.Pool) Peer { return &pgxPeer{pool} }

const pgxSchema = `
CREATE TABLE pages (id SERIAL, slug text NOT NULL UNIQUE, title text NOT NULL,
	body text NOT NULL, author text NOT NULL, tags text[] NOT NULL, updated_at timestamptz NOT NULL, views bigint NOT NULL);
CREATE INDEX ON pages (updated_at);
CREATE INDEX ON pages (views);
CREATE TABLE footprints (owner bigint, visitor bigint, at bigint NOT NULL, PRIMARY KEY (owner, visitor));
CREATE INDEX ON footprints (owner, at DESC);
CREATE TABLE followers (topic bigint, user_id bigint, PRIMARY KEY (topic, user_id));`

func (p *pgxPeer) Load(ctx context.Context, n int) error {
	return p.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return place.CopyAll(ctx, conn.Conn(), pgxSchema, tablesOf(n, func(tags []string) any { return tags }))
	})
}

func (p *pgxPeer) Close() error { p.pool.Close(); return nil }

var selectPages = "SELECT " + strings.Join(strings.Fields(pageColumns), ", ") + " FROM pages "

func scanPage(row pgx.Row) (*Page, error) {
	p := new(Page)
	return p, row.Scan(&p.ID, &p.Slug, &p.Title, &p.Body, &p.Author, &p.Tags, &p.UpdatedAt, &p.Views)
}

func (p *pgxPeer) Get(ctx context.Context, id int64) (Row, error) {
	return scanPage(p.pool.QueryRow(ctx, selectPages+"WHERE id = $1", id))
}

func (p *pgxPeer) list(ctx context.Context, sql string, args ...any) ([]Row, error) {
	// CollectRows returns the error of Query, too.
	found, _ := p.pool.Query(ctx, selectPages+sql, args...)
	return pgx.CollectRows(found, func(row pgx.CollectableRow) (Row, error) { return scanPage(row) })
}

func (p *pgxPeer) Newest(ctx context.Context, at string, limit int) ([]Row, error) {
	if at == "" {
		return p.list(ctx, "ORDER BY updated_at DESC LIMIT $1", limit)
	}
	before, err := momentOf(at)
	if err != nil {
		return nil, err
	}
	return p.list(ctx, "WHERE updated_at < $1 ORDER BY updated_at DESC LIMIT $2", before, limit)
}

func (p *pgxPeer) Link(ctx context.Context, offset int) (string, error) {
	var last time.Time
	err := p.pool.QueryRow(ctx, "SELECT updated_at FROM pages ORDER BY updated_at DESC OFFSET $1 LIMIT 1", offset-1).Scan(&last)
	return momentLink(last), err
}

func (p *pgxPeer) Top(ctx context.Context, limit int) ([]Row, error) {
	return p.list(ctx, "ORDER BY views DESC LIMIT $1", limit)
}

func (p *pgxPeer) Rank(ctx context.Context, id int64) (rank int, err error) {
	err = p.pool.QueryRow(ctx, "SELECT count(*) + 1 FROM pages WHERE views > (SELECT views FROM pages WHERE id = $1)", id).Scan(&rank)
	return rank, err
}

func (p *pgxPeer) exec(ctx context.Context, sql string, args ...any) error {
	_, err := p.pool.Exec(ctx, sql, args...)
	return err
}

func (p *pgxPeer) Update(ctx context.Context, id int64, body string) error {
	return p.exec(ctx, "UPDATE pages SET body = $2, updated_at = now() WHERE id = $1", id, body)
}

func (p *pgxPeer) View(ctx context.Context, id int64) error {
	return p.exec(ctx, "UPDATE pages SET views = views + 1 WHERE id = $1", id)
}

func (p *pgxPeer) Insert(ctx context.Context, page *Page) error {
	err := p.pool.QueryRow(ctx, `INSERT INTO pages (slug, title, body, author, tags, updated_at, views)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (slug) DO NOTHING RETURNING id`,
		page.Slug, page.Title, page.Body, page.Author, page.Tags, page.UpdatedAt, page.Views).Scan(&page.ID)
	if err == pgx.ErrNoRows {
		return ErrTaken
	}
	return err
}

// Visit sends both statements at once, as one transaction.
func (p *pgxPeer) Visit(ctx context.Context, owner int64, v Visit) error {
	var both pgx.Batch
	both.Queue("INSERT INTO footprints VALUES ($1, $2, $3) ON CONFLICT (owner, visitor) DO UPDATE SET at = excluded.at", owner, v.Visitor, v.At)
	both.Queue("DELETE FROM footprints WHERE owner = $1 AND at < (SELECT at FROM footprints WHERE owner = $1 ORDER BY at DESC OFFSET $2 LIMIT 1)", owner, Kept-1)
	return p.pool.SendBatch(ctx, &both).Close()
}

func (p *pgxPeer) Visits(ctx context.Context, owner int64, limit int) ([]Visit, error) {
	found, _ := p.pool.Query(ctx, "SELECT visitor, at FROM footprints WHERE owner = $1 ORDER BY at DESC LIMIT $2", owner, limit)
	return pgx.CollectRows(found, pgx.RowToStructByPos[Visit])
}

func (p *pgxPeer) Follow(ctx context.Context, topic, user int64) error {
	return p.exec(ctx, "INSERT INTO followers VALUES ($1, $2) ON CONFLICT DO NOTHING", topic, user)
}

func (p *pgxPeer) Unfollow(ctx context.Context, topic, user int64) error {
	return p.exec(ctx, "DELETE FROM followers WHERE topic = $1 AND user_id = $2", topic, user)
}

func (p *pgxPeer) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	found, _ := p.pool.Query(ctx, "SELECT user_id FROM followers WHERE topic = $1 LIMIT $2", topic, limit)
	return pgx.CollectRows(found, pgx.RowTo[int64])
}

func (p *pgxPeer) Flush(context.Context) error { return nil }
