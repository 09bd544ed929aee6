// Package recovery brings the site back after its store has lost data. It notices that a
// server has lost its memory or that an index needs a rebuild, accepts the loss if it may,
// and has made again what can be, in the background.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// State is how the data of the site is.
type State int32

// The states.
const (
	Well       State = iota
	Lost             // data is lost, and nobody has accepted that yet
	Rebuilding       // some lists cannot be read until they have been made again
)

// String returns the state as /healthz says it.
func (s State) String() string { return [...]string{"ok", "lost", "rebuilding"}[s] }

// pause is how often a Recovery asks the database, and not the store, whether there is
// something to do. While there is, it asks the store as often.
const pause = time.Second

// Recovery watches one database. A nil Recovery watches nothing: all is well for it.
type Recovery struct {
	db      *kvmodel.DB
	in      *inspect.Inspector
	accepts bool
	told    chan struct{}
	state   atomic.Int32
	failed  string // the last error that was logged
}

// New returns a Recovery of db, which has all its models by now. With accepts it accepts
// what is lost, without asking anybody.
func New(db *kvmodel.DB, accepts bool) *Recovery {
	return &Recovery{db: db, in: inspect.New(db), accepts: accepts, told: make(chan struct{}, 1)}
}

// State returns how the data is, as far as r knows.
func (r *Recovery) State() State {
	if r == nil {
		return Well
	}
	return State(r.state.Load())
}

// Accepts reports whether r accepts a loss by itself.
func (r *Recovery) Accepts() bool { return r != nil && r.accepts }

// Told makes r look at once, if err says that data is lost.
func (r *Recovery) Told(err error) {
	if r == nil || !errors.Is(err, kvmodel.ErrLost) {
		return
	}
	select {
	case r.told <- struct{}{}:
	default:
	}
}

// Run looks once, and then whenever there may be something to do, until ctx ends.
func (r *Recovery) Run(ctx context.Context) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for due := true; ; {
		if due || r.State() != Well || r.isHurt() {
			r.note(ctx, r.step(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.told:
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
		slog.Error("the recovery of lost data goes on later", "err", err)
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
	switch {
	case st.Next == "accept" && !r.accepts:
		if r.enter(Lost) {
			slog.Error("the store has lost data: example-app db recover says what is gone", "err", lossOf(st))
		}
		return nil
	case st.Next == "accept":
		r.enter(Rebuilding)
		return r.accept(ctx, st)
	case st.Next == "rescue" && r.accepts:
		r.enter(Rebuilding)
		return r.rescue(ctx)
	case len(unbuilt) > 0:
		r.enter(Rebuilding)
		return r.build(ctx, unbuilt)
	case building:
		r.enter(Rebuilding)
	case r.enter(Well):
		slog.Info("the data is whole again, without what was lost", "records", recordsIn(st))
	}
	return nil
}

// enter sets the state and reports whether it was another one.
func (r *Recovery) enter(s State) bool { return State(r.state.Swap(int32(s))) != s }

// accept accepts what is lost, for all processes, and logs what that is.
func (r *Recovery) accept(ctx context.Context, st inspect.Status) error {
	servers, err := r.db.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	slog.Warn("lost data was accepted: records on these servers are gone, and what no record says",
		"servers", servers, "err", lossOf(st), "gone", strings.Join(r.in.Unbuildable(), ", "))
	if len(servers) > 0 {
		return nil // The next step rescues, since the loss has begun an edition.
	}
	return r.rescue(ctx)
}

// rescue has all records named that are left, and all indexes built, unless another process
// does that.
func (r *Recovery) rescue(ctx context.Context) error {
	return r.alone(ctx, func() error {
		err := r.in.Rescue(ctx, inspect.Pace{})
		if errors.Is(err, inspect.ErrNoKeys) {
			return nil // The next step builds what is not built.
		}
		return err
	})
}

// build builds indexes of models, side by side: on servers each build waits for what may be
// on its way. Of several processes one builds, and the others wait.
func (r *Recovery) build(ctx context.Context, models []string) error {
	slog.Info("indexes are built", "of", models)
	errs := make([]error, len(models))
	var builds sync.WaitGroup
	for i, model := range models {
		builds.Go(func() { errs[i] = r.in.Build(ctx, model, false, nil) })
	}
	builds.Wait()
	return errors.Join(errs...)
}

// unbuiltIn returns the models of which an index is not built, and whether one is being
// built.
func unbuiltIn(st inspect.Status) (unbuilt []string, building bool) {
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
func recordsIn(st inspect.Status) string {
	var all []string
	for _, m := range st.Models {
		all = append(all, fmt.Sprintf("%s %d", m.Name, m.IDs))
	}
	return strings.Join(all, ", ")
}

// lossOf returns why st says that data is lost.
func lossOf(st inspect.Status) error {
	if st.Lost != nil {
		return st.Lost
	}
	return kv.ErrLost
}
