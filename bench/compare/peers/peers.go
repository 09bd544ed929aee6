// Package peers does the same work on everything that a program could use instead of
// ringtree, and on ringtree: each peer in a file of its own, written as its
// documentation says, with prepared statements and the indexes that the work needs.
package peers

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// Page is the record of every workload. Its tags are those of GORM and badgerhold.
type Page struct {
	ID        int64     `gorm:"primaryKey" badgerhold:"key"`
	Slug      string    `gorm:"uniqueIndex;not null" badgerhold:"unique"`
	Title     string    `gorm:"not null"`
	Body      string    `gorm:"not null"`
	Author    string    `gorm:"not null"`
	Tags      []string  `gorm:"serializer:json;not null"`
	UpdatedAt time.Time `gorm:"index;not null"`
	Views     int64     `gorm:"index;not null"`
}

// Page returns p.
func (p *Page) Page() *Page { return p }

// Row is a page in the form in which a peer gives it to its users. So none of them
// pays for the forms of the others.
type Row interface{ Page() *Page }

// Visit is a footprint: Visitor was at someone's at the time At.
type Visit struct{ Visitor, At int64 } // in microseconds since 1970

// Peer does the work of the workloads. Its methods may be called at the same time.
type Peer interface {
	// Load makes the pages, visits and followers of a data set of n pages. The peer is empty.
	Load(ctx context.Context, n int) error
	Close() error

	Get(ctx context.Context, id int64) (Row, error)
	Newest(ctx context.Context, at string, limit int) ([]Row, error) // by UpdatedAt, from "" or a link on
	Link(ctx context.Context, offset int) (at string, err error)     // to the pages behind the newest offset ones
	Top(ctx context.Context, limit int) ([]Row, error)               // by Views
	Rank(ctx context.Context, id int64) (int, error)                 // by Views, 1 is the top
	Update(ctx context.Context, id int64, body string) error         // and UpdatedAt becomes now
	View(ctx context.Context, id int64) error                        // adds 1 to Views
	Insert(ctx context.Context, p *Page) error                       // without an ID; ErrTaken if its slug is

	Visit(ctx context.Context, owner int64, v Visit) error                  // keeps each visitor once, the last 30
	Visits(ctx context.Context, owner int64, limit int) ([]Visit, error)    // newest first
	Follow(ctx context.Context, topic, user int64) error                    // nothing if it does already
	Unfollow(ctx context.Context, topic, user int64) error                  // nothing if it does not
	Followers(ctx context.Context, topic int64, limit int) ([]int64, error) // in any order

	// Flush returns when all that was written is in every answer.
	Flush(ctx context.Context) error
}

// Keyset is a peer that can continue behind a page that the caller has.
type Keyset interface {
	After(ctx context.Context, last *Page, limit int) ([]Row, error)
}

// Layer is a peer that can tell what it costs above its store.
type Layer interface {
	// Trips returns how many requests have gone to the store.
	Trips() int64

	// Replay calls work, and returns a function that makes the same reads of the store
	// alone, without the layer, and decodes the pages among them.
	Replay(ctx context.Context, work func() error) (replay func(context.Context) error, err error)
}

// offsetLink is the link of peers that skip what is before a page.
type offsetLink struct{}

func (offsetLink) Link(_ context.Context, offset int) (string, error) {
	return strconv.Itoa(offset), nil
}

func (offsetLink) offset(at string) int {
	n, _ := strconv.Atoi(at) // 0 of ""
	return n
}

// ErrTaken says that another page has the slug.
var ErrTaken = errors.New("the slug is taken")

// Clients is how many clients there are at most.
const Clients = 32

// Kept is how many visits of an owner are kept.
const Kept = 30

// Place is where the peers of a run keep their data.
type Place struct {
	Dir                        string // for files
	Postgres, Redis, Memcached string // HOST:PORT of servers that hold nothing yet
}

// Kind is a peer to be opened.
type Kind struct {
	Name    string
	Server  string // the program of the server it stands on; "" is none
	Durable string // what a crash of the machine or the server takes
	Written string // how it is written, in a few words
	Open    func(context.Context, Place) (Peer, error)
}

const (
	synced   = "nothing: synced at each write"
	relaxed  = "the last writes"
	volatile = "everything: in memory"
)

// All are the peers, ringtree's stores last.
var All = []Kind{
	{"gorm-postgres", Postgres, synced, "GORM as its guides begin: default pool, default transaction", openGormPostgres(false)},
	{"gorm-postgres-tuned", Postgres, synced, "GORM with PrepareStmt, SkipDefaultTransaction, a pool of 32", openGormPostgres(true)},
	{"pgx", Postgres, synced, "SQL by hand, prepared, a pool of 32", openPgx},
	{"gorm-sqlite", "", relaxed, "GORM, WAL, synchronous=NORMAL", openGormSQLite("NORMAL")},
	{"gorm-sqlite-full", "", synced, "GORM, WAL, synchronous=FULL", openGormSQLite("FULL")},
	{"ent-sqlite", "", relaxed, "ent, WAL, synchronous=NORMAL", openEnt},
	{"rueidis", Redis, volatile, "Redis by hand: msgpack, sorted sets, pipelines; no guard against lost updates", openRueidis},
	{"badgerhold", "", relaxed, "badgerhold, its default options", openBadgerhold},
	{"bbolt", "", synced, "bbolt by hand: Update, msgpack, a bucket for each order", openBbolt("bbolt.db", false, false)},
	{"bbolt-batch", "", synced, "the same with Batch, of a millisecond", openBbolt("bbolt-batch.db", false, true)},
	{"bbolt-relaxed", "", relaxed + ", or the file", "the same with Update and NoSync", openBbolt("bbolt-relaxed.db", true, false)},
	{"ringtree-redis", Redis, volatile, "redis://", openRingtree("redis://%redis/0")},
	{"ringtree-redis-near", Redis, volatile, "redis://?near=64MB, a near cache", openRingtree("redis://%redis/2?near=64MB")},
	{"ringtree-memcached", Memcached, volatile, "memcached://", openRingtree("memcached://%memcached")},
	{"ringtree-bolt", "", synced, "bolt:", openRingtree("bolt:%s/ringtree.db?durability=synced")},
	{"ringtree-bolt-relaxed", "", "the last second", "bolt:?durability=periodic", openRingtree("bolt:%s/ringtree-relaxed.db?durability=periodic")},
	{"ringtree-memory", "", volatile, "mem:", openRingtree("mem:")},
}

// Modules are those whose versions matter to the results.
var Modules = []string{
	"github.com/a-h/templ", "gorm.io/gorm", "gorm.io/driver/postgres", "github.com/jackc/pgx/v5", "entgo.io/ent", sqlite.Module, "github.com/redis/rueidis",
	"github.com/timshannon/badgerhold/v4", "github.com/dgraph-io/badger/v4", "go.etcd.io/bbolt", "github.com/bradfitz/gomemcache",
}

// rows returns ps as rows.
func rows[T Row](ps []T) []Row {
	all := make([]Row, len(ps))
	for i, p := range ps {
		all[i] = p
	}
	return all
}

// pages returns the addresses of ps.
func pages(ps []Page) []Row {
	all := make([]Row, len(ps))
	for i := range ps {
		all[i] = &ps[i]
	}
	return all
}
