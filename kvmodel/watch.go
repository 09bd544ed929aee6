package kvmodel

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// settleTime is how long after the last model was registered a DB that is alone
// looks for the first time.
const settleTime = 100 * time.Millisecond

// watch is when a DB looks for processes that died. It does from the first model
// on, whether it writes or not. Of the processes that began together, each looks at
// a moment of its own.
type watch struct {
	once  sync.Once
	timer *time.Timer // for the next look
	alone bool        // the dead are known at once, so the first look comes soon
	known atomic.Int64

	trouble trouble // for one look at a time
}

func newWatch(alone bool) *watch {
	first := settleTime
	if !alone {
		first = times.Look - kv.Jitter(times.Look/2)
	}
	return &watch{timer: time.NewTimer(first), alone: alone}
}

// knownNow returns how many models, indexes and handlers the DB was told of.
func (w *watch) knownNow() int { return int(w.known.Load()) }

// knowsMore notes that the DB was told of another model, index or handler. The first
// makes the looks begin. A DB that is alone looks again soon, since there may be more
// that it can repair now.
func (db *DB) knowsMore() {
	db.watch.known.Add(1)
	if db.refusal != nil {
		return
	}
	db.watch.once.Do(func() { go db.work.Every(db.watch.timer, times.Look, db.look) })
	if db.watch.alone {
		db.watch.timer.Reset(settleTime)
	}
}

// look is what a DB does by itself every 15 seconds.
func (db *DB) look(ctx context.Context) error {
	ctx, end := db.begin(ctx, kv.Work{Verb: "repair"})
	defer end()
	if db.disk != nil {
		db.watch.trouble.tell(db.log, db.now(), db.disk())
	}
	errs := []error{db.Repair(ctx)}
	for _, m := range db.allModels() {
		if db.watch.alone {
			errs = append(errs, m.beginBuild(ctx))
		}
	}
	return kv.Join(errs...)
}

// Repair looks once for what processes that died have left half done, and
// finishes it. Every DB that has models does so by itself every 15 seconds. A
// process counts as dead when this DB has seen no sign of it for 30 seconds, so the
// first call of a new DB only looks. On a store that one process holds alone, what
// the first call finds is dead. It also counts again what is in doubt, and takes out of
// tombstones where the records were that this DB has deleted an hour ago. What has to
// wait for its time is left to a later call. If the marker of the store's format is
// damaged, the error is an ErrCorrupt that names it.
func (db *DB) Repair(ctx context.Context) error {
	if err := db.Writable(); err != nil {
		return err
	}
	ctx, end := db.begin(ctx, kv.Work{Verb: "Repair"})
	defer end()
	repaired := db.repairer.Repair(db.marked.readAgain(ctx))
	_, settled := db.recountDoubtful(ctx)
	errs := []error{repaired, settled}
	if errors.Is(repaired, ErrUnknownFormat) || db.marked.isDamaged() {
		errs = append(errs, db.marked.damage(ctx))
	}
	for _, m := range db.allModels() {
		errs = append(errs, m.forgetDue(ctx))
	}
	return kv.Join(errs...)
}
