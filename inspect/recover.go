package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// RecoverOptions configure Recover. The zero RecoverOptions wait for an operator after a loss.
type RecoverOptions struct {
	// Accept accepts a loss without an operator. It is for stores that can lose anything at any
	// time, such as memcached.
	Accept bool

	// Log receives losses and their repair. The default is slog.Default.
	Log *slog.Logger
}

// Health is the state of an app's data.
type Health int32

// The states of Health.
const (
	Well       Health = iota
	Lost              // data is lost, and nobody has accepted that yet
	Rebuilding        // some lists are unreadable until they are rebuilt
)

// String returns "ok", "lost" or "rebuilding".
func (h Health) String() string { return [...]string{"ok", "lost", "rebuilding"}[h] }

// A Recovery recovers a database after a loss. A nil Recovery watches nothing, and is Well.
type Recovery struct {
	db      *kvmodel.DB
	in      *Inspector
	accepts bool
	lease   lease
	log     *slog.Logger

	noticed chan struct{}
	health  atomic.Int32
	failed  string // the last logged error
	end     func()
}

// Recover recovers db after its store has lost data, in the background, until ctx ends or Stop is
// called; call Stop before closing db. All models must be registered in db before:
//
//	defer inspect.Recover(ctx, db, inspect.RecoverOptions{}).Stop()
//
// It notices that a server has lost its memory or that an index is not built. With Accept it
// accepts the loss, logs the lost data, and rescues the rest, as Rescue does; only one of several
// processes rescues. Without Accept it logs the loss and waits until an operator has called the
// verb recover. In both cases, it builds indexes that are not built.
func Recover(ctx context.Context, db *kvmodel.DB, o RecoverOptions) *Recovery {
	log := cmp.Or(o.Log, slog.Default())
	ctx, cancel := context.WithCancel(ctx)
	r := &Recovery{
		db: db, in: New(db), accepts: o.Accept, log: log, noticed: make(chan struct{}, 1),
		lease: lease{db.Store(), []byte(kv.RandomName()), log},
	}
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx) })
	r.end = func() {
		cancel()
		running.Wait()
	}
	return r
}

// Stop stops r, and waits for its end.
func (r *Recovery) Stop() { r.end() }

// Health returns the state of the data, as far as r knows.
func (r *Recovery) Health() Health {
	if r == nil {
		return Well
	}
	return Health(r.health.Load())
}

// Notice makes r check the database at once if err, from a request, is an ErrLost. Otherwise a loss
// seen by only some requests may stay unnoticed.
func (r *Recovery) Notice(err error) {
	if r == nil || !errors.Is(err, kvmodel.ErrLost) {
		return
	}
	select {
	case r.noticed <- struct{}{}:
	default:
	}
}

// recoverPause is the interval between two checks of the database, which need no trip. While there
// is something to do, r asks the store at the same interval.
const recoverPause = time.Second

// run checks once, and then whenever there may be something to do, until ctx ends.
func (r *Recovery) run(ctx context.Context) {
	tick := time.NewTicker(recoverPause)
	defer tick.Stop()
	for due := true; ; {
		if due || r.Health() != Well || r.isHurt() {
			r.note(ctx, r.step(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.noticed:
			due = true
		case <-tick.C:
			due = false
		}
	}
}

// isHurt reports whether the database knows of a loss, or of an index to build.
func (r *Recovery) isHurt() bool {
	stats := r.db.Stats()
	return stats.Lost > 0 || len(stats.Unbuilt) > 0
}

// note logs an error of step, unless it is the same as the last one.
func (r *Recovery) note(ctx context.Context, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && text != r.failed {
		r.log.Error("inspect: the recovery of lost data failed and will be tried again", "err", err)
	}
	r.failed = text
}

// step checks the database, and takes the next step of its recovery.
func (r *Recovery) step(ctx context.Context) error {
	st, err := r.in.Status(ctx)
	if err != nil {
		return err // The store cannot be asked, so nothing new is known.
	}
	unbuilt, building := unbuiltIn(st)
	lost := st.Lost != nil || st.Stats.Lost > 0
	switch {
	case lost && !r.accepts:
		if r.enter(Lost) {
			r.log.Error("inspect: the store has lost data; db recover shows what is lost", "err", lossOf(st))
		}
		return nil
	case lost:
		r.enter(Rebuilding)
		return r.accept(ctx, st)
	case st.Next == "recover" && r.accepts:
		r.enter(Rebuilding)
		return r.rescue(ctx)
	case len(unbuilt) > 0:
		r.enter(Rebuilding)
		return r.build(ctx, unbuilt)
	case building:
		r.enter(Rebuilding)
	case r.enter(Well):
		r.log.Info("inspect: recovery is complete, without the lost data", "records", recordsIn(st))
	}
	return nil
}

// enter sets the health, and reports whether it has changed.
func (r *Recovery) enter(h Health) bool { return Health(r.health.Swap(int32(h))) != h }

// accept accepts the loss for all processes, and logs the lost data.
func (r *Recovery) accept(ctx context.Context, st Status) error {
	servers, err := r.db.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	r.log.Warn("inspect: the loss was accepted: records on these servers are gone, with all data outside records",
		"servers", servers, "err", lossOf(st), "gone", strings.Join(r.in.Unbuildable(), ", "))
	if len(servers) > 0 {
		return nil // The next step rescues, since the loss has begun an edition.
	}
	return r.rescue(ctx)
}

// rescue rescues the remaining data, unless another process does.
func (r *Recovery) rescue(ctx context.Context) error {
	return r.lease.hold(ctx, func(ctx context.Context) error {
		err := r.in.Rescue(ctx, Pace{})
		if errors.Is(err, ErrNoKeys) {
			return nil // The next step builds the indexes that are not built.
		}
		return err
	})
}

// build builds indexes of models concurrently: on servers each build waits for writes in flight. Of
// several processes one builds, and the others wait.
func (r *Recovery) build(ctx context.Context, models []string) error {
	r.log.Info("inspect: indexes are built", "of", models)
	return errors.Join(beside(models, func(model string) error { return r.in.Build(ctx, model, false, nil) })...)
}

// unbuiltIn returns the models with an index that is not built, and whether an index is being
// built.
func unbuiltIn(st Status) (unbuilt []string, building bool) {
	for _, m := range st.Models {
		for _, i := range m.Indexes {
			building = building || i.State == "building"
			if i.State == "not built" && !slices.Contains(unbuilt, m.Name) {
				unbuilt = append(unbuilt, m.Name)
			}
		}
	}
	return unbuilt, building
}

// recordsIn returns the approximate number of records of each model.
func recordsIn(st Status) string {
	var all []string
	for _, m := range st.Models {
		all = append(all, fmt.Sprintf("%s %d", m.Name, m.IDs))
	}
	return strings.Join(all, ", ")
}

// lossOf returns the loss reported in st.
func lossOf(st Status) error { return cmp.Or(st.Lost, kv.ErrLost) }
