package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
)

type Build struct {
	Model   string
	Indexes []string // incomplete at the start; none: a Rebuild of all
	Done    int      // by this process and earlier ones
	Total   int      // approximate; 0: not known yet
}

func (b Build) String() string {
	if b.Total == 0 {
		return "building"
	}
	return fmt.Sprintf("building: %s of about %s records", thousands(b.Done), thousands(max(b.Done, b.Total)))
}

func howFar(st build.State) string {
	far := Build{Done: int(st.Done), Total: int(st.Total)}.String()
	switch {
	case st.Stage == build.Finished:
		return "held back, with " + thousands(len(st.Losers)+int(st.More)) + " in conflict: run db build, or call Rebuild of the data class, to see which"
	case !st.IsOwned():
		return far + ", and no one goes on: run db build, or call Rebuild of the data class"
	}
	return far
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

type run struct {
	long chan struct{} // closed once the build is known not to be short
	done chan struct{} // closed at the end, after err is set
	err  error
	all  bool // requested by Rebuild

	mu  sync.Mutex
	now Build
}

func newRun(model string, missing []string) *run {
	return &run{long: make(chan struct{}), done: make(chan struct{}), all: missing == nil, now: Build{Model: model, Indexes: core.Names(missing)}}
}

func (r *run) state() Build {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *run) saw(st build.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Done, r.now.Total = int(st.Done), int(st.Total)
	if st.Total-st.Done <= shortBuild {
		return
	}
	select {
	case <-r.long:
	default:
		close(r.long)
	}
}

func (r *run) builds(missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Indexes = core.Names(missing)
}

const logEvery = 10 * time.Second

type Running struct {
	log     *slog.Logger
	onBuild func(Build) // see kvmodel.Hooks
	Life    *life

	mu   sync.Mutex
	runs map[*run]bool
}

func NewRunning(log *slog.Logger, onBuild func(Build)) *Running {
	return &Running{log: log, onBuild: onBuild, Life: newLife(), runs: make(map[*run]bool)}
}

func (a *Running) report(ctx context.Context, r *run) (ended func(error)) {
	a.mu.Lock()
	a.runs[r] = true
	a.mu.Unlock()
	began, ticker := time.Now(), time.NewTicker(logEvery)
	ticking, cancel := context.WithCancel(ctx)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				b := r.state()
				a.log.Info("ringtree: building indexes", "model", b.Model, "indexes", b.Indexes, "done", b.Done, "total", b.Total)
			case <-ticking.Done():
				return
			}
		}
	}()
	return func(err error) {
		cancel()
		a.mu.Lock()
		delete(a.runs, r)
		a.mu.Unlock()
		b := r.state()
		a.onBuild(b)
		if d, ok := errors.AsType[*DuplicatesError](err); ok && d.More == 0 && len(b.Indexes) > 0 {
			b.Indexes = d.Indexes() // the others are built
		}
		about := []any{"model", b.Model, "indexes", b.Indexes, "done", b.Done, "took", time.Since(began).Round(time.Millisecond)}
		switch {
		case err == nil:
			a.log.Info("ringtree: indexes are built", about...)
		case work.Waits(err), ctx.Err() != nil:
			a.log.Info("ringtree: building indexes was interrupted and will resume", append(about, "err", err)...)
		case len(b.Indexes) > 0:
			a.log.Error("ringtree: building indexes failed; they return ErrNeedsRebuild", append(about, "err", err)...)
		default:
			a.log.Error("ringtree: rebuilding indexes failed; they can still be read", append(about, "err", err)...)
		}
	}
}

func (a *Running) All() (all []Build) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for r := range a.runs {
		all = append(all, r.state())
	}
	return all
}

type steps struct {
	*building
	name string
}

func (s steps) From() []byte { return []byte(s.state.Own[s.name]) }

// The first progress of an index is saved immediately, so that even a process killed soon after has
// made some.
func (s steps) Reached(ctx context.Context, to []byte, n int) error {
	b := s.building
	own := maps.Clone(b.state.Own)
	if own == nil {
		own = make(map[string]string)
	}
	own[s.name] = string(to)
	b.state.Own = own
	b.ownDone += n
	if b.noted[s.name] && b.ownDone < keepRecords && b.Db.Now().Sub(b.kept) < times.Beat {
		return nil
	}
	b.noted[s.name] = true
	return b.keep(ctx)
}
