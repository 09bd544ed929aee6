package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/bench/moving/site"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

const schema = `
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, password TEXT, joined INTEGER);
CREATE TABLE stories (id INTEGER PRIMARY KEY, author INTEGER, url TEXT, title TEXT, made INTEGER, edited INTEGER);
CREATE TABLE votes (user INTEGER, story INTEGER, value INTEGER, PRIMARY KEY (user, story));
CREATE TABLE comments (id INTEGER PRIMARY KEY, story INTEGER, author INTEGER, parent INTEGER, text TEXT, made INTEGER);
`

// The old site has a story every hour.
var began = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// oldSite returns a SQLite file with n rows, of which seven in ten are votes.
func oldSite(t testing.TB, n int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "old.sqlite")
	db, err := sql.Open(sqlite.Driver, sqlite.DSN(file, "off"))
	must(t, err)
	defer db.Close()
	tx, err := db.Begin()
	must(t, err)
	_, err = tx.Exec(schema)
	must(t, err)
	insert := func(query string, args ...any) {
		_, err := tx.Exec(query, args...)
		must(t, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	users, stories, comments := n/100, n/10, n*19/100
	hour := func(i int) int64 { return began.Add(time.Duration(i) * time.Hour).Unix() }
	for i := range users {
		insert("INSERT INTO users VALUES (?, ?, ?, ?)", i+1, fmt.Sprint("user", i+1), fmt.Sprint("$2a$10$", i), hour(i))
	}
	for i := range stories {
		// Every hundredth story has the URL of an earlier one.
		insert("INSERT INTO stories VALUES (?, ?, ?, ?, ?, ?)", i+1, 1+rng.IntN(users), fmt.Sprint("https://example.org/", i%100), fmt.Sprint("Story ", i+1), hour(i), hour(i+1))
	}
	for i := range comments {
		insert("INSERT INTO comments VALUES (?, ?, ?, ?, ?, ?)", i+1, 1+rng.IntN(stories), 1+rng.IntN(users), rng.IntN(i+1), "I read this.", hour(i))
	}
	for left := n - users - stories - comments; left > 0; {
		r, err := tx.Exec("INSERT OR IGNORE INTO votes VALUES (?, ?, ?)", 1+rng.IntN(users), 1+rng.IntN(stories), 1-2*(rng.IntN(5)/4))
		must(t, err)
		added, err := r.RowsAffected()
		must(t, err)
		left -= int(added)
	}
	must(t, tx.Commit())
	return file
}

func TestMove_TheStoreHasWhatTheTablesHave(t *testing.T) {
	log.SetOutput(io.Discard)
	ctx, old, url := context.Background(), oldSite(t, 5000), "bolt:"+filepath.Join(t.TempDir(), "new.db")
	must(t, run(ctx, old, url))
	must(t, run(ctx, old, url)) // nothing more to do
	db, err := kvopen.Open(ctx, url)
	must(t, err)
	defer db.Close(ctx)
	m := site.New(db)

	newest, err := m.Stories.Newest.Page(ctx, "", 3)
	must(t, err)
	for i, s := range newest.Items {
		if want := text(int64(500 - i)); s.ID != want || !s.Made.Equal(began.Add(time.Duration(499-i)*time.Hour)) || !s.Edited.Equal(s.Made.Add(time.Hour)) {
			t.Errorf("want story %s, got %+v", want, s)
		}
	}
	user, err := m.Users.ByName.Find(ctx, "user7")
	if must(t, err); user.ID != "7" || user.OldHash != "$2a$10$6" || !user.Joined.Equal(began.Add(6*time.Hour)) {
		t.Errorf("%+v", user)
	}
	// Its URL was posted twice, years ago.
	must(t, m.Stories.Create(ctx, &site.Story{Author: "7", URL: newest.Items[0].URL}))
}

func TestMove_IsWhatThePageSays(t *testing.T) {
	var code string
	for _, file := range []string{"main.go", "site/models.go"} {
		text, err := os.ReadFile(file)
		must(t, err)
		code += plainly(string(text)) + " "
	}
	page, err := os.ReadFile("../../docs/moving-here.md")
	must(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Error("the page has no code")
	}
	for _, b := range blocks {
		proof.Contains(t, code, plainly(b[1]))
	}
}

func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestMove_GoesOnAfterARowThatCannotBeRead(t *testing.T) {
	log.SetOutput(io.Discard)
	ctx, file := context.Background(), oldSite(t, 1000)
	old, err := sql.Open(sqlite.Driver, sqlite.DSN(file, "off"))
	must(t, err)
	defer old.Close()
	proof.Done(t)(old.Exec("UPDATE users SET name = NULL WHERE id = 3"))
	db, err := kvopen.Open(ctx, "mem:")
	must(t, err)
	defer db.Close(ctx)
	m := site.New(db)
	proof.Contains(t, fmt.Sprint(move(ctx, old, m)), "record 2 of those to load")
	proof.Done(t)(old.Exec("UPDATE users SET name = 'user3' WHERE id = 3"))
	must(t, move(ctx, old, m))
	must(t, compare(ctx, old, db, m))
}

// BenchmarkMove moves 100,000 rows to a file, for docs/moving-here.md.
func BenchmarkMove(b *testing.B) {
	old := oldSite(b, 100_000)
	for b.Loop() {
		must(b, run(b.Context(), old, "bolt:"+filepath.Join(b.TempDir(), "new.db")))
	}
}

var must = proof.Must
