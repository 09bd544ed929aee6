package kvmodel

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// firstLook is the delay of the first look after the last model was registered, in a DB that holds
// the store alone.
const firstLook = 100 * time.Millisecond

// watch schedules the looks for dead processes, from the first model on. Processes started together
// look at different moments.
type watch struct {
	once  sync.Once
	timer *time.Timer // for the next look
	alone bool        // dead processes are known immediately, so the first look comes soon
	known atomic.Int64

	trouble trouble // used by one look at a time
}

func newWatch(alone bool) *watch {
	first := firstLook
	if !alone {
		first = times.Look - kv.Jitter(times.Look/2)
	}
	return &watch{timer: time.NewTimer(first), alone: alone}
}

func (w *watch) knownNow() int { return int(w.known.Load()) }

// knowsMore records another model, index or handler. The first starts the looks. A DB that holds
// the store alone looks again soon.
func (db *DB) knowsMore() {
	db.watch.known.Add(1)
	if db.core.Refusal != nil {
		return
	}
	db.watch.once.Do(func() { go db.core.Work.Every(db.watch.timer, times.Look, db.look) })
	if db.watch.alone {
		db.watch.timer.Reset(firstLook)
	}
}

func (db *DB) look(ctx context.Context) error {
	ctx, end := db.core.BeginWork(ctx, kv.Work{Verb: "repair"})
	defer end()
	if db.disk != nil {
		db.watch.trouble.tell(db.core.Log, db.core.Now(), db.disk())
	}
	errs := []error{db.Repair(ctx)}
	for _, m := range db.allModels() {
		if db.watch.alone {
			errs = append(errs, m.builds.BeginBuild(ctx))
		}
	}
	return kv.Join(errs...)
}

// Repair looks once for unfinished changes of dead processes and finishes them, recounts counts in
// doubt, and cleans tombstones an hour old, as every DB with models does every 15 seconds. A
// process is dead after 30 seconds without a sign, or at once on a store held by one process. Work
// that must wait is left to a later call. A damaged format marker is an ErrCorrupt.
func (db *DB) Repair(ctx context.Context) error {
	if err := db.Writable(); err != nil {
		return err
	}
	ctx, end := db.core.BeginWork(ctx, kv.Work{Verb: "Repair"})
	defer end()
	repaired := db.core.Repairer.Repair(db.marked.ReadAgain(ctx))
	_, recounted := db.recountDoubtful(ctx)
	errs := []error{repaired, recounted}
	if errors.Is(repaired, ErrUnknownFormat) || db.marked.IsDamaged() {
		errs = append(errs, db.marked.Damage(ctx))
	}
	for _, m := range db.allModels() {
		errs = append(errs, erase.ForgetDue(ctx, m.Model))
	}
	return kv.Join(errs...)
}

// troubleEvery is the interval at which persistent trouble with a file is logged.
const troubleEvery = 10 * time.Minute

// trouble is the state of the log about a store's file that cannot be written or shipped.
type trouble struct{ began, said time.Time }

func (t *trouble) tell(log *slog.Logger, now time.Time, disk kv.Disk) {
	switch {
	case disk.Trouble == nil && !t.began.IsZero():
		log.Info("ringtree: the store's file works again", "after", now.Sub(t.began).Round(time.Second))
		*t = trouble{}
	case disk.Trouble != nil && now.Sub(t.said) >= troubleEvery:
		if t.began.IsZero() {
			t.began = now
		}
		t.said = now
		log.Warn("ringtree: the store's file has a problem; retrying", "since", t.began.Format(time.RFC3339), "err", work.Clip(disk.Trouble))
	}
}
