package kvmodel

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/release"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
	"github.com/ringtree/ringtree/kvmodel/internal/format"
	"github.com/ringtree/ringtree/kvmodel/internal/intent"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/rebuild"
	"github.com/ringtree/ringtree/kvmodel/internal/recent"
	"github.com/ringtree/ringtree/kvmodel/internal/repair"
	"github.com/ringtree/ringtree/kvmodel/internal/sides"
	"github.com/ringtree/ringtree/kvmodel/internal/turns"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A DB is a store together with everything a process needs to write to it, such as its journal and
// the work done after replies. A process opens one per store.
type DB struct {
	core    *core.DB
	builds  *rebuild.Running
	marked  format.Store   // below the store
	disk    func() kv.Disk // nil: none
	held    bool           // no other process has the store
	outages *outages
	trips   *listeners // see OnTrip
	watch   *watch

	mu      sync.Mutex // never held during a trip
	models  []*class
	owners  map[string]repair.Owner      // of journal lines, by name
	gone    map[string]bool              // names that journal lines may hold although this release removed them
	tallies map[[2]string]*tally.Tally   // by model and counter
	derived map[[2]string]*tally.Derived // by model and counter
	windows []plug.Window                // on stored data without a model
	intents []*intent.Intent
}

// Build is the progress of building a model's indexes: its Model and Indexes (none: a Rebuild of
// all), and the number of records that are Done, of about Total (0: not known yet).
type Build = rebuild.Build

// Cascade is a deletion with children left to delete: the Model and the text of the ID of the
// deleted record, and the number of children Deleted so far by this process.
type Cascade = core.Cascade

// Open returns a DB on s, which Close closes. It makes no request yet. The error is an ErrBadKey
// for an invalid tenant and an ErrInvalid for a release whose name is too long.
func Open(s kv.Store, opts ...Option) (*DB, error) {
	o := options{now: time.Now, log: slog.Default(), release: release.Name()}
	for _, opt := range opts {
		opt(&o)
	}
	origin, err := originOf(o.release, o.now())
	if err != nil {
		return nil, err
	}
	trips := newListeners(o.wrapped(s))
	s = trips
	if o.tenant != "" {
		tenant, err := kv.Prefix(s, o.tenant)
		if err != nil {
			return nil, err
		}
		s = tenant
	}
	marked := format.New(s, o.now)
	s = marked
	held := kv.PowersOf(s)
	if o.readOnly {
		s = kv.ReadOnly(s, errReadOnly)
	}
	powers := kv.PowersOf(s)
	failures := work.NewFailures(o.log)
	inner := &core.DB{
		Store:    sides.On(s),
		Walk:     powers.Walk,
		Losses:   powers.Losses,
		Alone:    powers.Alone && powers.ReadOnly == nil,
		Ordered:  powers.Ordered,
		Patience: powers.Patience,
		Now:      o.now,
		Log:      o.log,
		Refusal:  powers.ReadOnly,
		Owner:    kv.RandomName(),
		Failures: failures,
		Work:     work.NewQueue(failures),
		Recent:   new(recent.Reads),
		Turns:    turns.New(),
		Handling: turns.New(),
	}
	for _, h := range o.hooks {
		inner.Hooks = append(inner.Hooks, h.Verb)
	}
	if inner.Walk != nil {
		inner.Atomic = powers.Atomic
	}
	db := &DB{
		core:    inner,
		builds:  rebuild.NewRunning(o.log, o.told),
		marked:  marked,
		held:    held.Alone && held.ReadOnly == nil,
		disk:    powers.Disk,
		trips:   trips,
		watch:   newWatch(inner.Alone),
		owners:  make(map[string]repair.Owner),
		gone:    make(map[string]bool),
		tallies: make(map[[2]string]*tally.Tally),
		derived: make(map[[2]string]*tally.Derived),
		outages: &outages{log: o.log, away: make(map[string]bool)},
	}
	if powers.Outages != nil {
		powers.Outages(db.outages.hear)
	}
	inner.Model = func(name string) *core.Model {
		if m, ok := db.owner(name).(*core.Model); ok {
			return m
		}
		return nil
	}
	inner.Journal = journal.New(journal.Config{
		Store: inner.Store, Now: o.now, Closed: inner.Work.Closed(),
		Failed: func(err error) {
			failures.Log(slog.LevelWarn, "the journal could not begin its next segment; it will be tried again", err)
		},
		Origin: origin, Shapes: db.shapes,
		Archive: db.archive,
		Begin: func(ctx context.Context) (context.Context, func()) {
			return inner.BeginWork(ctx, kv.Work{Verb: "journal"})
		},
	})
	inner.Repairer = repair.New(repair.Config{
		Store: inner.Store, Now: o.now, IsOwn: inner.Journal.IsOwn, Alone: powers.Alone,
		Process: inner.Journal.Process, Unlisted: inner.Journal.Abandon,
		Owner: db.repairs, Known: db.watch.knownNow,
		Archive: db.archive,
		Lost:    db.linesLost,
		Recount: db.recountDoubtful,
		Looked:  db.forgetEnded,
	})
	if db.core.Losses != nil {
		db.core.Losses.Watch(db.logLoss)
	}
	return db, nil
}

func (db *DB) logLoss(servers []string, lost error) {
	if lost != nil {
		db.core.Log.Error("ringtree: servers have lost their memory; nothing on them can be read or written until someone runs db recover, or the app calls DB.Accept", "servers", clipped(servers), "err", work.Clip(lost))
		return
	}
	db.core.Log.Warn("ringtree: the loss of servers' memory was accepted; run db recover, or Rebuild every model", "servers", clipped(servers))
}

func clipped(names []string) []string {
	const most = 8
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprint("and ", len(names)-most, " more"))
}

// Accept accepts, for all processes, that servers of the store have lost their memory or were added
// or removed; until then their keys are ErrLost. It returns those servers. A DB without a request
// so far checks first, so a program that only accepts needs nothing else; it should have all
// models, and be the newest release that has written the store, since Accept also mends a damaged
// marker. All servers must answer.
//
// Afterwards lost items are absent and every index returns ErrNeedsRebuild. Rebuild restores the
// indexes of the remaining records. Lost records and plain counters do not come back.
func (db *DB) Accept(ctx context.Context) (servers []string, err error) {
	if err := db.Writable(); err != nil {
		return nil, err
	}
	ctx, end := db.core.BeginWork(ctx, kv.Work{Verb: "Accept"})
	defer end()
	ctx, cancel := db.Patient(ctx)
	defer cancel()
	if db.core.Losses != nil {
		if servers, err = db.core.Losses.Accept(ctx); err != nil {
			return servers, err
		}
	}
	if err := db.marked.Rewrite(ctx); err != nil {
		return servers, err
	}
	var errs []error
	for _, m := range db.allModels() {
		errs = append(errs, m.Accept(ctx))
	}
	return servers, kv.Join(errs...)
}

// Store returns the DB's store, with the tenant's prefix.
func (db *DB) Store() kv.Store { return db.core.Store }

// Relaxed returns a context for writes that need not wait for the disk, such as counting a view. A
// crash of the machine can undo those of the last second, newest first; a crash of the process
// undoes none. On stores other than a synced file it changes nothing. The tag kv:"model,relaxed"
// makes all changes of a model relaxed.
func Relaxed(ctx context.Context) context.Context { return kv.Relaxed(ctx) }

// Now returns the time on the DB's clock.
func (db *DB) Now() time.Time { return db.core.Now() }

// Stats is the state of a DB, for a metrics page.
type Stats struct {
	Background int // tasks after replies, running or waiting for their turn
	Queued     int // tasks among them that wait for another to end
	Room       int // limit of Queued; tasks beyond it run before the reply, until its context ends, and upkeep is skipped
	Waiting    int // tasks that failed or had to wait, and will be retried
	Failed     int // failed attempts
	Lines      int // changes in the journal not known to be complete
	Retries    int // races lost by changes, which then started over
	Lost       int // servers, or parts of a cluster, that have lost their memory: see Accept
	InDoubt    int // derived counts to be recounted because an answer was missing or a process died

	Oldest  time.Duration // age of the oldest of Lines, to about a second
	Away    []string      // servers of the store that refuse or do not answer
	Unbuilt []string      // indexes known to return ErrNeedsRebuild, each as Model.Index
	Builds  []Build       // builds of this DB

	// Disk is the state of a store in its own file; nil: it has none.
	Disk *kv.Disk

	// Cascades are the deletions whose children this DB is still deleting.
	Cascades []Cascade

	// Intents are the intents with failures so far.
	Intents []IntentStats

	// Failures counts the failures after replies, by kind: "lost", "unclear" and "unavailable" from
	// the store, "corrupt", "conflict", "late" when time ran out, and "other".
	Failures map[string]int
}

// Stats returns the current state of the DB.
func (db *DB) Stats() Stats {
	background := db.core.Work.Stats()
	s := Stats{
		Background: background.Busy, Queued: background.Queued, Room: background.Room,
		Waiting: background.Waiting, Failed: background.Failed, Failures: db.core.Failures.Counts(),
		Lines: db.core.Journal.OpenLines(), Retries: int(db.core.LostRaces.Load()), InDoubt: db.inDoubt(),
		Oldest: db.core.Journal.Oldest(), Away: db.outages.servers(), Unbuilt: db.unbuilt(), Builds: db.builds.All(),
		Cascades: db.core.Cascades.Now(), Intents: db.intentStats(),
	}
	if db.disk != nil {
		disk := db.disk()
		s.Disk = &disk
	}
	if db.core.Losses != nil {
		s.Lost = len(db.core.Losses.Lost())
	}
	return s
}

func (db *DB) unbuilt() (all []string) {
	for _, m := range db.allModels() {
		all = append(all, m.UnbuiltIndexes()...)
	}
	return all
}

func (db *DB) inDoubt() (n int) {
	for _, d := range db.deriveds() {
		n += d.InDoubt()
	}
	return n
}

// Close finishes pending work until ctx ends, then closes the store. Other work stays in the
// journal for the next process. Builds stop immediately; another process continues them. A second
// Close does nothing.
func (db *DB) Close(ctx context.Context) error {
	if !db.core.Work.Close() {
		return nil
	}
	db.builds.Life.Close(ctx)
	ctx, end := db.core.BeginWork(ctx, kv.Work{Verb: "Close"})
	defer end()
	err := db.Flush(ctx)
	if err == nil {
		err = db.core.Journal.Close(ctx, db.core.Work.Stats().Waiting > 0)
	} else {
		err = kv.Join(err, db.core.Journal.Leave(ctx))
	}
	db.core.Failures.Flush()
	return kv.Join(err, db.core.Store.Close())
}

// Later runs f in the background, or immediately until ctx ends if too many tasks are queued. Flush
// and Close wait for it. An error is only logged. A DB opened with ReadOnly ignores Later, Soon,
// Surely and Latch.
func (db *DB) Later(ctx context.Context, f func(context.Context) error) { db.core.Later(ctx, f) }

// Soon runs f in the background and returns true, unless too many tasks are queued or the DB is
// closed. It is for upkeep that others can do as well.
func (db *DB) Soon(f func(context.Context) error) bool { return db.core.Soon(f) }

// Surely is Later, but repeats f every 15 seconds until it succeeds or the process ends. While
// 2,000 tasks await a retry, f runs immediately and once, and Surely returns its error.
func (db *DB) Surely(ctx context.Context, f func(context.Context) error) error {
	return db.core.Surely(ctx, f)
}

// Latch returns a latch for f, to be created once, at start-up. Set runs f in the background until
// it succeeds: once, however often it is set meanwhile.
func (db *DB) Latch(f func(context.Context) error) plug.Latch { return db.core.Latch(f) }

// AtFlush makes Flush and Close call f first, to write data gathered in memory. Call it at
// start-up.
func (db *DB) AtFlush(f func(context.Context) error) { db.core.AtFlush(f) }

// Flush writes the data this process has gathered and waits for all tasks after replies. Failed
// tasks are tried once more. The error says how many still fail and why, or that ctx ended first.
func (db *DB) Flush(ctx context.Context) error { return db.core.Flush(ctx) }

// SideBySide runs works, each with its own context, until all have ended, and returns the first
// error in their order. Their requests share trips as by [kv.Together]: the first request of each
// in one trip, the second in the next. Works run one at a time, so they may set variables that the
// caller reads afterwards.
//
// A trip leaves when each work has made a request or ended, so a work must not wait for another,
// for example by changing the same record. Once a work has failed, no trip leaves. If a work
// panics, so does SideBySide. On a store with [kv.Powers.Local] works run one after another until
// one fails.
func (db *DB) SideBySide(ctx context.Context, works ...func(context.Context) error) error {
	ctx, cancel := db.Patient(ctx)
	defer cancel()
	trips, end := db.core.BeginWork(ctx, kv.Work{Verb: "SideBySide"})
	defer end()
	return sides.Run(ctx, trips, db.core.Store, works...)
}

// Tally returns the model's counter of that name, the same one in every call.
func (db *DB) Tally(model, counter string) *tally.Tally {
	db.mu.Lock()
	defer db.mu.Unlock()
	of := [2]string{model, counter}
	if db.tallies[of] == nil {
		db.tallies[of] = tally.New(db.tallyBase(), model, counter)
	}
	return db.tallies[of]
}

// Derived returns the model's derived count of that name, the same one in every call.
func (db *DB) Derived(model, counter string) *tally.Derived {
	return db.derive(model, counter, tally.NewDerived)
}

// Sum is Derived for a sum, which may be negative.
func (db *DB) Sum(model, counter string) *tally.Derived {
	return db.derive(model, counter, tally.NewSum)
}

func (db *DB) derive(model, counter string, make func(_ tally.Base, model, counter string) *tally.Derived) *tally.Derived {
	db.mu.Lock()
	defer db.mu.Unlock()
	of := [2]string{model, counter}
	if db.derived[of] == nil {
		db.derived[of] = make(db.tallyBase(), model, counter)
	}
	return db.derived[of]
}

func (db *DB) tallyBase() tally.Base {
	return tally.Base{
		Store: db.core.Store, Atomic: db.core.Atomic, Now: db.core.Now, Work: db.core.Work, Failures: db.core.Failures,
		Begin: func(ctx context.Context, model, counter string) (context.Context, func()) {
			return db.core.BeginWork(ctx, kv.Work{Model: model, Index: counter, Verb: "upkeep"})
		},
	}
}

func (db *DB) deriveds() []*tally.Derived {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Collect(maps.Values(db.derived))
}

func (db *DB) recountDoubtful(ctx context.Context) (bool, error) {
	var errs []error
	for _, d := range db.deriveds() {
		errs = append(errs, d.RecountDoubtful(ctx))
	}
	return db.inDoubt() == 0, kv.Join(errs...)
}

// Plug shows package inspect w, a view of stored data without a model.
func (db *DB) Plug(w plug.Window) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.windows = append(db.windows, w)
}

// Windows returns the models, and the views given to Plug, for package inspect.
func (db *DB) Windows() (models []plug.Class, others []plug.Window) {
	for _, m := range db.allModels() {
		models = append(models, untyped{m})
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	return models, slices.Clone(db.windows)
}

// HasCounter reports whether a model has a counter or derived count of that name.
func (db *DB) HasCounter(model, counter string) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	of := [2]string{model, counter}
	return db.tallies[of] != nil || db.derived[of] != nil
}

func (db *DB) allModels() []*class {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.SortedFunc(slices.Values(db.models), func(a, b *class) int { return strings.Compare(a.Name, b.Name) })
}

func (db *DB) shapes() []string {
	var all []string
	for _, m := range db.allModels() {
		all = append(all, core.ShapeOf(m.Name, m.Definitions()))
		if m.Handles() {
			all = append(all, journal.Handling(m.Name))
		}
	}
	slices.Sort(all)
	return all
}

// DropModel removes everything stored under the stored name of a model that no release in use has.
// It is an ErrInvalid if this program has the model or the store cannot list its keys, and an
// ErrConflict if after a minute another process still has the model. After an error call it again.
func (db *DB) DropModel(ctx context.Context, name string) error {
	ctx, end := db.core.BeginWork(ctx, kv.Work{Model: name, Verb: "DropModel"})
	defer end()
	if err := db.Writable(); err != nil {
		return err
	}
	if o := db.owner(name); name == "" || o != nil {
		return fmt.Errorf("drop model %s: %w: this program has it", kv.Quote(name), ErrInvalid)
	}
	db.addGone(name)
	return erase.DropModel(ctx, db.core, name)
}

// Patient returns a ctx for one call of several trips, which share the store's patience unless ctx
// has a deadline. The caller must call the func when the call ends.
func (db *DB) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return db.core.Patient(ctx)
}

// Writable returns an [ErrReadOnly] if the DB was opened with [ReadOnly], for callers that would
// notice late.
func (db *DB) Writable() error { return db.core.Writable() }
