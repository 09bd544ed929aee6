package kvmodel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// How long what is deleted stays marked as such. It exceeds the longest time
// a request can be late.
const tombstoneTTL = 24 * time.Hour

// A DB is a store with what a process needs to write to it: the journal that
// finds what a crash left behind, the work that is done after the reply, the
// clock and the tenant. A process opens one per store.
type DB struct {
	store  kv.Store
	atomic func(context.Context, func(kv.Store) error) error // nil: the store has none
	now    func() time.Time
	log    *slog.Logger

	journal *journal
	hand    *hand
	turns   *turns

	mu      sync.Mutex // never held during a trip
	models  map[string]repairer
	tallies map[[2]string]*Tally // by model and counter
	closed  bool
	stop    chan struct{} // closed by Close; the loops end
	background

	lostRaces atomic.Int64

	signs   map[string]*sign // of other processes' life
	watches bool
}

// repairer is a data class, whatever its type, to the DB.
type repairer interface {
	repairLine(ctx context.Context, s kv.Store, l line) error
	changed(ctx context.Context, id string, created bool) error
	listens() bool
	shape() string
	archive(ctx context.Context, ids []string) error
}

// An Option changes how a DB behaves.
type Option func(*options)

type options struct {
	now    func() time.Time
	log    *slog.Logger
	tenant string
}

// Clock makes the DB read the time from now.
func Clock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// Log makes the DB tell l what goes wrong after the reply. The default is
// slog.Default.
func Log(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// Tenant puts all keys of the DB under a prefix of their own.
func Tenant(name string) Option { return func(o *options) { o.tenant = name } }

// Open returns a DB on s, which from now on belongs to the DB: Close closes
// it. It asks nothing of the store yet. The error is an ErrBadKey for a tenant
// that cannot be one.
func Open(s kv.Store, opts ...Option) (*DB, error) {
	o := options{now: time.Now, log: slog.Default()}
	for _, opt := range opts {
		opt(&o)
	}
	s = kv.Count(s)
	if o.tenant != "" {
		tenant, err := kv.Prefix(s, o.tenant)
		if err != nil {
			return nil, err
		}
		s = tenant
	}
	db := &DB{
		store:   sided{s},
		atomic:  kv.PowersOf(s).Atomic,
		now:     o.now,
		log:     o.log,
		hand:    new(hand),
		turns:   newTurns(),
		models:  make(map[string]repairer),
		tallies: make(map[[2]string]*Tally),
		stop:    make(chan struct{}),
		signs:   make(map[string]*sign),
	}
	db.journal = newJournal(db)
	return db, nil
}

// Store returns the store the DB works on, with the tenant's prefix.
func (db *DB) Store() kv.Store { return db.store }

// Now returns the time by the DB's clock.
func (db *DB) Now() time.Time { return db.now() }

// Stats is what a DB is doing, for a metrics page.
type Stats struct {
	Background int // things being done after the reply, or waiting for their turn
	Waiting    int // things that failed or had to wait, and will be tried again
	Failed     int // how often one has failed
	Lines      int // changes in the journal that are not known to be complete
	Retries    int // how often a change lost a race and started over
}

// Stats returns what the DB is doing now.
func (db *DB) Stats() Stats {
	lines := db.journal.openLines()
	db.mu.Lock()
	defer db.mu.Unlock()
	return Stats{Background: db.busy, Waiting: len(db.again), Failed: db.failed, Lines: lines, Retries: int(db.lostRaces.Load())}
}

// Close does what is still to be done until ctx ends, then closes the store.
// What remains, because it failed or its time has not come yet, is left in the
// journal for the next process to repair. A second Close does nothing.
func (db *DB) Close(ctx context.Context) error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	close(db.stop)
	db.mu.Unlock()

	err := db.Flush(ctx)
	if err == nil {
		err = db.journal.finish(ctx)
	}
	return errors.Join(err, db.store.Close())
}

var errDBClosed = errors.New("the DB is closed")

func (db *DB) isClosed() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.closed
}

// watchOnce starts the repair loop when the DB first writes.
func (db *DB) watchOnce() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.watches && !db.closed {
		db.watches = true
		go db.watch()
	}
}

// register makes a data class known to repair.
func (db *DB) register(name string, m repairer) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.models[name] != nil {
		panic("kvmodel: the DB has a model " + name + " already")
	}
	db.models[name] = m
}

func (db *DB) model(name string) repairer {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.models[name]
}

// shapes returns the shape of every model, by name.
func (db *DB) shapes() []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []string
	for name, m := range db.models {
		all = append(all, name+"="+m.shape())
	}
	slices.Sort(all)
	return all
}
