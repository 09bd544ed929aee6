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
	// Accept accepts a loss without an operator. It is for stores that can lose
	// anything at any time, such as memcached.
	Accept bool

	// Log is where a loss and its repair are logged. The default is slog.Default.
	Log *slog.Logger
}

// Health is how the data of an app is.
type Health int32

// The states of Health.
const (
	Well       Health = iota
	Lost              // data is lost, and nobody has accepted that yet
	Rebuilding        // some lists cannot be read until they are built again
)

// String returns "ok", "lost" or "rebuilding".
func (h Health) String() string { return [...]string{"ok", "lost", "rebuilding"}[h] }

// A Recovery brings a database back after a loss. A nil Recovery watches nothing, and is Well.
type Recovery struct {
	db      *kvmodel.DB
	in      *Inspector
	accepts bool
	lease   lease
	log     *slog.Logger

	noticed chan struct{}
	health  atomic.Int32
	failed  string // the last error that was logged
	end     func()
}

// Recover brings db back after its store has lost data, in the background, until ctx ends or
// Stop is called; call Stop before db is closed. db has all its models by now:
//
//	defer inspect.Recover(ctx, db, inspect.RecoverOptions{}).Stop()
//
// It notices that a server has lost its memory or that an index is not built. With Accept it
// accepts the loss, logs what is gone, and rescues what is left, as Rescue does; of several
// processes, one rescues. Without Accept it logs the loss and waits until an operator has called
// the verb recover. With either, it builds indexes that are not built.
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

// Stop ends what r does, and waits for it.
func (r *Recovery) Stop() { r.end() }

// Health returns how the data is, as far as r knows.
func (r *Recovery) Health() Health {
	if r == nil {
		return Well
	}
	return Health(r.health.Load())
}

// Notice makes r look at once if err, which a request got, is an ErrLost. Otherwise a loss that
// only some requests see may stay unnoticed.
func (r *Recovery) Notice(err error) {
	if r == nil || !errors.Is(err, kvmodel.ErrLost) {
		return
	}
	select {
	case r.noticed <- struct{}{}:
	default:
	}
}

// recoverPause is how often a Recovery asks the database, and not the store, whether there is
// something to do. While there is, it asks the store as often.
const recoverPause = time.Second

// run looks once, and then whenever there may be something to do, until ctx ends.
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

// note logs an error of step, once for as long as it stays the same.
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

// step looks how the database is, and does what is next.
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
			r.log.Error("inspect: the store has lost data; the verb recover of the db command says what is gone", "err", lossOf(st))
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
		r.log.Info("inspect: the data is whole again, without what was lost", "records", recordsIn(st))
	}
	return nil
}

// enter sets the health and reports whether it was another one.
func (r *Recovery) enter(h Health) bool { return Health(r.health.Swap(int32(h))) != h }

// accept accepts what is lost, for all processes, and logs what that is.
func (r *Recovery) accept(ctx context.Context, st Status) error {
	servers, err := r.db.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	r.log.Warn("inspect: lost data was accepted: records on these servers are gone, and what no record says",
		"servers", servers, "err", lossOf(st), "gone", strings.Join(r.in.Unbuildable(), ", "))
	if len(servers) > 0 {
		return nil // The next step rescues, since the loss has begun an edition.
	}
	return r.rescue(ctx)
}

// rescue rescues what is left, unless another process does that.
func (r *Recovery) rescue(ctx context.Context) error {
	return r.lease.hold(ctx, func(ctx context.Context) error {
		err := r.in.Rescue(ctx, Pace{})
		if errors.Is(err, ErrNoKeys) {
			return nil // The next step builds what is not built.
		}
		return err
	})
}

// build builds indexes of models, side by side: on servers each build waits for writes in
// flight. Of several processes one builds, and the others wait.
func (r *Recovery) build(ctx context.Context, models []string) error {
	r.log.Info("inspect: indexes are built", "of", models)
	return errors.Join(beside(models, func(model string) error { return r.in.Build(ctx, model, false, nil) })...)
}

// unbuiltIn returns the models of which an index is not built, and whether one is being
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

// recordsIn returns about how many records each model has.
func recordsIn(st Status) string {
	var all []string
	for _, m := range st.Models {
		all = append(all, fmt.Sprintf("%s %d", m.Name, m.IDs))
	}
	return strings.Join(all, ", ")
}

// lossOf returns why st says that data is lost.
func lossOf(st Status) error { return cmp.Or(st.Lost, kv.ErrLost) }
