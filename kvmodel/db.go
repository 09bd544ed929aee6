package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// How long what is deleted stays marked as such. It exceeds the longest time
// a request can be late.
const tombstoneTTL = 24 * time.Hour

// maxBackground is how many things a DB does at once after the reply; what
// comes on top is done before the reply.
const maxBackground = 64

// A DB is a store with what a process needs to write to it: the journal that
// finds what a crash left behind, the work that is done after the reply, the
// clock and the tenant. A process opens one per store.
type DB struct {
	store  Store
	atomic func(context.Context, func(Store) error) error // nil: the store has none
	now    func() time.Time
	log    *slog.Logger

	journal *journal
	hand    *hand
	turns   *turns

	mu     sync.Mutex // never held during a trip
	models map[string]repairer
	busy   int           // things being done in the background
	idle   chan struct{} // closed when busy has become 0; nil while nobody waits
	closed bool
	stop   chan struct{} // closed by Close; the loops end

	failed  int // background work that ended in an error
	again   []func(context.Context) error
	signs   map[string]sign // of other processes' life
	watches bool
}

// repairer is a data class, whatever its type, to the DB.
type repairer interface {
	repairLine(ctx context.Context, s Store, l line) error
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
func Open(s Store, opts ...Option) (*DB, error) {
	o := options{now: time.Now, log: slog.Default()}
	for _, opt := range opts {
		opt(&o)
	}
	s = Count(s)
	if o.tenant != "" {
		tenant, err := Prefix(s, o.tenant)
		if err != nil {
			return nil, err
		}
		s = tenant
	}
	db := &DB{
		store:  s,
		atomic: PowersOf(s).Atomic,
		now:    o.now,
		log:    o.log,
		hand:   new(hand),
		turns:  newTurns(),
		models: make(map[string]repairer),
		stop:   make(chan struct{}),
		signs:  make(map[string]sign),
	}
	db.journal = newJournal(db)
	return db, nil
}

// Store returns the store the DB works on, with the tenant's prefix.
func (db *DB) Store() Store { return db.store }

// Stats is what a DB is doing, for a metrics page.
type Stats struct {
	Background int // things being done after the reply
	Waiting    int // of those that failed, how many wait to be tried again
	Failed     int // how often one has failed
	Lines      int // changes in the journal that are not known to be complete
}

// Stats returns what the DB is doing now.
func (db *DB) Stats() Stats {
	lines := db.journal.openLines()
	db.mu.Lock()
	defer db.mu.Unlock()
	return Stats{Background: db.busy, Waiting: len(db.again), Failed: db.failed, Lines: lines}
}

// Flush returns when all that was to be done after replies is done, or when
// ctx ends.
func (db *DB) Flush(ctx context.Context) error {
	for {
		idle := db.whenIdle()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("flush: %d things still to do: %w", db.Stats().Background, ctx.Err())
		}
	}
}

// Close does what is still to be done until ctx ends, then closes the store.
// What remains is left in the journal for the next process to repair. A
// second Close does nothing.
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
		db.tryAgain()
		err = db.Flush(ctx)
	}
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

// whenIdle returns a channel that is closed when nothing is being done in the
// background, or nil if that is so now.
func (db *DB) whenIdle() <-chan struct{} {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.busy == 0 {
		return nil
	}
	if db.idle == nil {
		db.idle = make(chan struct{})
	}
	return db.idle
}

// later does work in the background, or at once if there is much to do
// already. An error is logged; the journal keeps what is to be repaired.
func (db *DB) later(work func(context.Context) error) {
	if db.begin(maxBackground) {
		go db.inBackground(work)
		return
	}
	db.begin(0)
	db.inBackground(work)
}

// Surely does work in the background, and where it fails, again every 15 seconds
// until it succeeds or the process ends.
func (db *DB) Surely(work func(context.Context) error) { db.surely(work) }

// Soon does work in the background if there is little to do and the DB is open,
// and else not at all: it is for upkeep that others can do as well.
func (db *DB) Soon(work func(context.Context) error) {
	if !db.begin(maxBackground / 2) {
		return
	}
	go db.inBackground(func(ctx context.Context) error {
		if !db.isClosed() {
			if err := work(ctx); err != nil {
				db.log.Debug("ringtree: upkeep failed; others will do it", "err", err)
			}
		}
		return nil
	})
}

// Now returns the time by the DB's clock.
func (db *DB) Now() time.Time { return db.now() }

// maxAgain is how much failed work a process keeps to try again.
const maxAgain = 1000

// surely does work in the background like later, and where it fails, again
// until it succeeds or the process ends. It is for what the journal holds open.
func (db *DB) surely(work func(context.Context) error) {
	db.later(func(ctx context.Context) error {
		err := work(ctx)
		if err != nil {
			db.keep(work)
		}
		return err
	})
}

func (db *DB) keep(work func(context.Context) error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.again) < maxAgain {
		db.again = append(db.again, work)
	}
}

// tryAgain does once more what has failed.
func (db *DB) tryAgain() {
	db.mu.Lock()
	again := db.again
	db.again = nil
	db.mu.Unlock()
	for _, work := range again {
		db.surely(work)
	}
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

// beginUnlessClosed counts one more thing in the background, which Close waits
// for, unless it has been called.
func (db *DB) beginUnlessClosed() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed {
		db.busy++
	}
	return !db.closed
}

// begin counts one more thing in the background, unless there are limit
// already; a limit of 0 is none.
func (db *DB) begin(limit int) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if limit > 0 && db.busy >= limit {
		return false
	}
	db.busy++
	return true
}

// backgroundTime bounds one thing done after the reply.
const backgroundTime = 30 * time.Second

func (db *DB) inBackground(work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), backgroundTime)
	defer cancel()
	err := work(ctx)
	if err != nil {
		db.log.Warn("ringtree: work after the reply failed; repair will do it", "err", err)
	}
	db.end(err)
}

// end counts one thing less in the background.
func (db *DB) end(err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err != nil {
		db.failed++
	}
	if db.busy--; db.busy == 0 && db.idle != nil {
		close(db.idle)
		db.idle = nil
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
