// Moving moves the site in a SQLite file to a store of ringtree, and compares the two:
//
//	go run ./moving old.sqlite bolt:new.db
//
// Docs/moving-here.md explains it.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/bench/moving/site"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: moving FILE STORE")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// run moves the site in the SQLite file to the store at url.
func run(ctx context.Context, file, url string) error {
	old, err := sql.Open(sqlite.Driver, sqlite.DSN(file, "normal"))
	if err != nil {
		return err
	}
	defer old.Close()
	db, err := kvopen.Open(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	m := site.New(db)
	// After a power cut, the next run stores the lost records.
	if err := move(kvmodel.Relaxed(ctx), old, m); err != nil {
		return err
	}
	return compare(ctx, old, db, m)
}

// move loads all rows. Called again, it continues where it ended.
func move(ctx context.Context, old *sql.DB, m *site.Models) error {
	users := rows(ctx, old, "SELECT id, name, password, joined FROM users ORDER BY joined, id", func(scan scan) (*site.User, error) {
		var id, joined int64
		v := new(site.User)
		err := scan(&id, &v.Name, &v.OldHash, &joined)
		v.ID, v.Joined = text(id), time.Unix(joined, 0)
		return v, err
	})
	if err := load(ctx, "users", m.Users.Records, users); err != nil {
		return err
	}
	stories := rows(ctx, old, "SELECT id, author, url, title, made, edited FROM stories ORDER BY made, id", func(scan scan) (*site.Story, error) {
		var id, author, made, edited int64
		v := new(site.Story)
		err := scan(&id, &author, &v.URL, &v.Title, &made, &edited)
		v.ID, v.Author, v.Made, v.Edited = text(id), text(author), time.Unix(made, 0), time.Unix(edited, 0)
		return v, err
	})
	if err := load(ctx, "stories", m.Stories.Records, stories); err != nil {
		return err
	}
	votes := rows(ctx, old, "SELECT user, story, value FROM votes", func(scan scan) (*site.Vote, error) {
		var user, story int64
		v := new(site.Vote)
		err := scan(&user, &story, &v.Value)
		v.User, v.Story = text(user), text(story)
		return v, err
	})
	if err := load(ctx, "votes", m.Votes.Records, votes); err != nil {
		return err
	}
	comments := rows(ctx, old, "SELECT id, story, author, parent, text, made FROM comments ORDER BY made, id", func(scan scan) (*site.Comment, error) {
		var id, story, author, parent, made int64
		v := new(site.Comment)
		err := scan(&id, &story, &author, &parent, &v.Text, &made)
		v.ID, v.Story, v.Author, v.Made = text(id), text(story), text(author), time.Unix(made, 0)
		if parent > 0 {
			v.Parent = text(parent)
		}
		return v, err
	})
	return load(ctx, "comments", m.Comments.Records, comments)
}

func text(id int64) string { return strconv.FormatInt(id, 10) }

type scan = func(...any) error

// rows returns the records that read makes of the rows of a query.
func rows[T any](ctx context.Context, old *sql.DB, query string, read func(scan) (*T, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		found, err := old.QueryContext(ctx, query)
		if err != nil {
			yield(nil, err)
			return
		}
		defer found.Close()
		for found.Next() {
			if v, err := read(found.Scan); !yield(v, err) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// load prints how many records it stored.
func load[T any, K comparable](ctx context.Context, table string, r *kvmodel.Records[T, K], all iter.Seq2[*T, error]) error {
	began := time.Now()
	n, err := r.Load(ctx, all, kvmodel.LoadOptions{})
	log.Printf("%s: %d rows in %v", table, n, time.Since(began).Round(time.Millisecond))
	return err
}

// compare returns an error if the numbers differ, or a check finds a fault.
func compare(ctx context.Context, old *sql.DB, db *kvmodel.DB, m *site.Models) error {
	if err := db.Flush(ctx); err != nil {
		return err
	}
	scores := int64(0)
	for story, err := range m.Stories.All(ctx) {
		if err != nil {
			return err
		}
		scores += story.Score
	}
	for query, got := range map[string]func() (int64, error){
		"SELECT COUNT(*) FROM users":                func() (int64, error) { return count(ctx, m.Users.Records) },
		"SELECT COUNT(*) FROM stories":              func() (int64, error) { return count(ctx, m.Stories.Records) },
		"SELECT COUNT(*) FROM votes":                func() (int64, error) { return count(ctx, m.Votes.Records) },
		"SELECT COUNT(*) FROM comments":             func() (int64, error) { return count(ctx, m.Comments.Records) },
		"SELECT COALESCE(SUM(value), 0) FROM votes": func() (int64, error) { return scores, nil },
	} {
		var want int64
		if err := old.QueryRowContext(ctx, query).Scan(&want); err != nil {
			return err
		}
		if n, err := got(); err != nil || n != want {
			return fmt.Errorf("%s: %d, here %d, %w", query, want, n, err)
		}
	}
	report, err := inspect.New(db).Check(ctx, inspect.CheckOptions{})
	if err == nil && !report.Well() {
		err = fmt.Errorf("check: %v", report.Faults)
	}
	return err
}

func count[T any, K comparable](ctx context.Context, r *kvmodel.Records[T, K]) (n int64, err error) {
	for _, err := range r.All(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
