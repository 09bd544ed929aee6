package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

// conduitMix makes about n records of a conduit: a twentieth users, a tenth articles and as many
// follows, a quarter comments and half favorites.
type conduitMix int

func (n conduitMix) users() int    { return int(n) / 20 }
func (n conduitMix) articles() int { return int(n) / 10 }

func (n conduitMix) userID(i int) string    { return fmt.Sprintf("u%025d", i%n.users()) }
func (n conduitMix) articleID(i int) string { return fmt.Sprintf("a%025d", i%n.articles()) }
func (n conduitMix) at(i int) time.Time     { return began.Add(time.Duration(i) * time.Minute) }

func (n conduitMix) user(i int) *conduit.User {
	return &conduit.User{ID: n.userID(i), Email: fmt.Sprint("reader", i, "@example.org"), Username: fmt.Sprint("reader", i), Password: conduit.Hash{Passes: 1, Key: []byte("none")}, Bio: strings.Repeat("I write. ", i%5)}
}

func (n conduitMix) article(i int) *conduit.Article {
	return &conduit.Article{
		ID: n.articleID(i), Slug: fmt.Sprint("the-title-of-", i), Title: fmt.Sprint("The title of ", i), Description: "About it",
		Body: strings.Repeat("This is what I think of it. ", 5+i%20), Author: n.userID(favored(i, n.users())),
		Tags: []string{fmt.Sprint("tag", i%20), fmt.Sprint("tag", 20+i%17)}, Made: n.at(i),
	}
}

func (n conduitMix) follow(i int) *conduit.Follow {
	return &conduit.Follow{Reader: n.userID(i), Author: n.userID(i + 1 + i/n.users()*7)}
}

func (n conduitMix) favorite(i int) *conduit.Favorite {
	a := i * 7919 % n.articles()
	return &conduit.Favorite{User: n.userID(i + i/n.articles()), Article: n.articleID(a), Author: n.userID(favored(a, n.users()))}
}

func (n conduitMix) comment(i int) *conduit.Comment {
	a := n.articles() - 1 - favored(i, n.articles())
	return &conduit.Comment{Article: n.articleID(a), Author: n.userID(i * 31), Body: strings.Repeat("I do not agree. ", 1+i%9), Made: n.at(i)}
}

func loadConduit(ctx context.Context, b *testing.B, db *kvmodel.DB, records int, p *peak) int {
	n, m := conduitMix(records), conduit.New(db)
	done := loadAll(ctx, b, m.Users.Records, p, n.users(), n.user)
	done += loadAll(ctx, b, m.Articles.Records, p, n.articles(), n.article)
	done += loadAll(ctx, b, m.Follows.Records, p, records/10, n.follow)
	done += loadAll(ctx, b, m.Favorites.Records, p, records/2, n.favorite)
	done += loadAll(ctx, b, m.Comments.Records, p, records/4, n.comment)
	must(b, db.Flush(ctx))
	p.sample(0)
	return done
}

const conduitTables = `
CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE, username TEXT UNIQUE, password TEXT, bio TEXT, image TEXT) WITHOUT ROWID;
CREATE TABLE articles (id TEXT PRIMARY KEY, slug TEXT UNIQUE, title TEXT, description TEXT, body TEXT, author TEXT, made INTEGER, edited INTEGER);
CREATE INDEX articles_made ON articles (made);
CREATE INDEX articles_author ON articles (author, made);
CREATE TABLE tags (tag TEXT, made INTEGER, article TEXT, PRIMARY KEY (tag, made, article)) WITHOUT ROWID;
CREATE TABLE follows (reader TEXT, author TEXT, PRIMARY KEY (reader, author)) WITHOUT ROWID;
CREATE TABLE favorites (user TEXT, article TEXT, author TEXT, PRIMARY KEY (user, article)) WITHOUT ROWID;
CREATE INDEX favorites_article ON favorites (article);
CREATE TABLE comments (id INTEGER PRIMARY KEY, article TEXT, author TEXT, body TEXT, made INTEGER, edited INTEGER);
CREATE INDEX comments_article ON comments (article);
`

// BenchmarkLoadSQLite stores the records of BenchmarkLoad -mix conduit in SQLite, in one
// transaction.
func BenchmarkLoadSQLite(b *testing.B) {
	for b.Loop() {
		db, err := sql.Open(sqlite.Driver, sqlite.DSN(filepath.Join(b.TempDir(), "new.db"), "normal"))
		must(b, err)
		_, err = db.Exec(conduitTables)
		must(b, err)
		start, cpu := time.Now(), usedCPU()
		tx, err := db.Begin()
		must(b, err)
		stored := 0
		insert := func(table string, n int, row func(i int) []any) {
			columns := len(row(0))
			q, err := tx.Prepare(fmt.Sprintf("INSERT OR IGNORE INTO %s VALUES (?%s)", table, strings.Repeat(", ?", columns-1)))
			must(b, err)
			for i := range n {
				_, err := q.Exec(row(i)...)
				must(b, err)
			}
			stored += n
			must(b, q.Close())
		}
		n := conduitMix(*loaded)
		insert("users", n.users(), func(i int) []any {
			v := n.user(i)
			return []any{v.ID, v.Email, v.Username, v.Password.Key, v.Bio, v.Image}
		})
		insert("articles", n.articles(), func(i int) []any {
			v := n.article(i)
			return []any{v.ID, v.Slug, v.Title, v.Description, v.Body, v.Author, v.Made.Unix(), v.Made.Unix()}
		})
		for tag := range 2 {
			insert("tags", n.articles(), func(i int) []any {
				v := n.article(i)
				return []any{v.Tags[tag], v.Made.Unix(), v.ID}
			})
		}
		stored -= 2 * n.articles()
		insert("follows", *loaded/10, func(i int) []any {
			v := n.follow(i)
			return []any{v.Reader, v.Author}
		})
		insert("favorites", *loaded/2, func(i int) []any {
			v := n.favorite(i)
			return []any{v.User, v.Article, v.Author}
		})
		insert("comments", *loaded/4, func(i int) []any {
			v := n.comment(i)
			return []any{nil, v.Article, v.Author, v.Body, v.Made.Unix(), v.Made.Unix()}
		})
		must(b, tx.Commit())
		wall, used := time.Since(start), usedCPU()-cpu
		must(b, db.Close())
		b.ReportMetric(float64(stored)/wall.Seconds(), "records/s")
		b.ReportMetric(float64(used.Nanoseconds())/1000/float64(stored), "cpu-us/record")
	}
}
