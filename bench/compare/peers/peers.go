// Package peers implements single operations, W1 to W9, on ringtree and its alternatives, each as
// its documentation advises, with prepared statements and the necessary indexes.
package peers

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

type Page struct {
	ID        int64     `gorm:"primaryKey"`
	Slug      string    `gorm:"uniqueIndex;not null"`
	Title     string    `gorm:"not null"`
	Body      string    `gorm:"not null"`
	Author    string    `gorm:"not null"`
	Tags      []string  `gorm:"serializer:json;not null"`
	UpdatedAt time.Time `gorm:"index;not null"`
	Views     int64     `gorm:"index;not null"`
}

func (p *Page) Page() *Page { return p }

// Row is a page in a peer's own form, so that none pays for conversions.
type Row interface{ Page() *Page }

type Visit struct{ Visitor, At int64 }

// Peer must be safe for concurrent use.
type Peer interface {
	Load(ctx context.Context, n int) error
	Close() error

	Get(ctx context.Context, id int64) (Row, error)
	Newest(ctx context.Context, at string, limit int) ([]Row, error) // by UpdatedAt, from "" or a link on
	Link(ctx context.Context, offset int) (at string, err error)     // to the pages after the newest offset ones
	Top(ctx context.Context, limit int) ([]Row, error)
	Rank(ctx context.Context, id int64) (int, error)         // by Views, 1 is the top
	Update(ctx context.Context, id int64, body string) error // and UpdatedAt becomes now
	View(ctx context.Context, id int64) error
	Insert(ctx context.Context, p *Page) error // without an ID; ErrTaken if its slug is

	Visit(ctx context.Context, owner int64, v Visit) error // keeps each visitor once, the last 30
	Visits(ctx context.Context, owner int64, limit int) ([]Visit, error)
	Follow(ctx context.Context, topic, user int64) error                    // no effect if it exists
	Unfollow(ctx context.Context, topic, user int64) error                  // no effect if it does not exist
	Followers(ctx context.Context, topic int64, limit int) ([]int64, error) // in any order

	// Flush returns when all writes are visible.
	Flush(ctx context.Context) error
}

var ErrTaken = errors.New("the slug is taken")

const Kept = 30

// All has ringtree's stores last.
var All = append([]place.Kind[Peer]{
	{Name: "gorm-postgres", Server: place.Postgres, Durable: place.Nothing, Open: place.Over(place.GormPostgres("gorm"), onGorm)},
	{Name: "gorm-sqlite-full", Durable: place.Nothing, File: "gorm-full", Open: place.Over(place.GormSQLite("gorm-full.db", "FULL"), onGorm)},
	{Name: "gorm-sqlite", Durable: place.LastWrites, File: "gorm-normal", Open: place.Over(place.GormSQLite("gorm-normal.db", "NORMAL"), onGorm)},
	{Name: "pgx", Server: place.Postgres, Durable: place.Nothing, Open: place.Over(place.Pgx("pgx", "on"), onPgx)},
	{Name: "bbolt", Durable: place.Nothing, File: "bbolt", Open: openBbolt},
	{Name: "rueidis", Server: place.Redis, Durable: place.Everything, Open: openRueidis},
}, place.OnStores("ringtree", 0, 2, onStore)...)

func momentLink(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func momentOf(link string) (time.Time, error) {
	us, err := strconv.ParseInt(link, 10, 64)
	return time.UnixMicro(us).UTC(), err
}

func rows[T Row](ps []T) []Row {
	all := make([]Row, len(ps))
	for i, p := range ps {
		all[i] = p
	}
	return all
}
