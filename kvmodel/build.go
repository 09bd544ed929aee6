package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// shortBuild is the largest number of remaining records for which a reader waits for the build
	// of its index, on a store held by one process. For a longer build it gets an error.
	shortBuild = 1000

	// buildPatience is how long a reader without a deadline waits for a build that is short or
	// whose length is not known yet.
	buildPatience = 5 * time.Second

	// joinEvery is how often a build checks whether the build of another process has ended.
	joinEvery = 250 * time.Millisecond

	// buildAgain is the pause after a failed background build.
	buildAgain = 10 * time.Second
)

// builds are a model's builds in this process, one at a time.
type builds struct {
	*model
	running *running // of the DB
	item    *build.Item

	mu    sync.Mutex // never held during a trip
	now   *run       // nil if none is running
	last  error      // of the last build
	ended time.Time  // end of the last build
}

func newBuilds(m *model, r *running) *builds {
	db := m.db
	return &builds{model: m, running: r, item: &build.Item{Store: db.store, Now: db.now, Model: m.name, Owner: db.base.name, Alone: db.alone}}
}

// begin returns the build under way, which is mine if there was none.
func (b *builds) begin(mine *run) (r *run, own bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		b.now = mine
	}
	return b.now, b.now == mine
}

// current returns the build under way, or nil, and the end and error of the last one.
func (b *builds) current() (r *run, ended time.Time, last error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now, b.ended, b.last
}

// end records the result of r.
func (b *builds) end(r *run, err error, now time.Time) {
	b.mu.Lock()
	b.now, b.last, b.ended = nil, err, now
	b.mu.Unlock()
	r.err = err
	close(r.done)
}

// rebuild enters every record into every index and marks the indexes as built. Processes with the
// same indexes may write meanwhile. If a build is under way, rebuild waits for it.
func (m *builds) rebuild(ctx context.Context) error {
	for {
		r, own := m.begin(newRun(m.name, nil))
		if own {
			return m.do(ctx, r)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return m.failure("rebuild", fmt.Errorf("%w: %v, and %w", kv.ErrUnavailable, r.state(), kv.Ended(ctx)))
		}
		// Its caller may have given up, or its connection may have failed.
		if !kv.Failed(r.err) || ctx.Err() != nil || m.db.work.IsClosed() {
			return r.err
		}
	}
}

// do runs r. Closing the DB ends it.
func (m *builds) do(ctx context.Context, r *run) (err error) {
	ctx, leave, err := m.running.life.enter(ctx)
	if err == nil {
		defer leave()
		ctx, end := m.db.Begin(ctx, "build")
		defer end()
		ended := m.running.report(ctx, r)
		err = work.Recover("the build of "+m.name, func() error { return m.build(ctx, r) })
		ended(err)
	}
	m.end(r, err, m.db.now())
	return err
}

// buildMissing builds the missing indexes in the background, unless a build failed just now or
// records are in conflict.
func (m *builds) buildMissing(missing []string) {
	now, ended, last := m.current()
	var duplicates *DuplicatesError
	if now != nil || errors.As(last, &duplicates) || last != nil && m.db.now().Sub(ended) < buildAgain {
		return
	}
	r, own := m.begin(newRun(m.name, missing))
	if !own {
		return
	}
	go func() {
		// Waiting readers get the error.
		_ = m.do(context.Background(), r)
	}()
}

// build runs builds until no process without the index has begun to write meanwhile. While another
// process builds, it waits.
func (m *builds) build(ctx context.Context, r *run) error {
	joined := false
	for stops := 0; ; {
		err := m.buildOnce(ctx, r, joined)
		var busy *build.Busy
		switch {
		case errors.Is(err, built.ErrStopped):
			if stops++; stops == maxTries {
				return fmt.Errorf("rebuild %s: %w: %w", m.name, plug.ErrNeedsRebuild, err)
			}
		case errors.As(err, &busy):
			joined = true
			r.saw(busy.State)
			if !kv.Sleep(ctx, joinEvery) {
				return m.failure("rebuild", fmt.Errorf("%w: %w, and %w", kv.ErrUnavailable, err, context.Cause(ctx)))
			}
		case errors.Is(err, build.ErrTaken):
			joined = true
		default:
			return err
		}
	}
}

// awaitBuilt returns nil once index holds all records. It waits for a short build until ctx ends,
// or for buildPatience if ctx has no deadline.
func (m *builds) awaitBuilt(ctx context.Context, index plug.Index) error {
	if r, _, _ := m.current(); r != nil {
		ctx, cancel := kv.Patient(ctx, buildPatience)
		defer cancel()
		select {
		case <-r.done:
			if kv.Failed(r.err) {
				return m.failure("build", r.err)
			}
		case <-r.long:
		case <-ctx.Done():
		}
	}
	if m.isBuilt(index) {
		return nil
	}
	return m.unbuilt(ctx, index)
}

// unbuilt returns an ErrNeedsRebuild with the progress of index.
func (m *builds) unbuilt(ctx context.Context, index plug.Index) error {
	how := "run db build, or call Rebuild of the data class, once all writers know the index"
	switch r, _, last := m.current(); {
	case r != nil:
		how = r.state().String()
	case last != nil:
		how = last.Error()
	default:
		how = cmp.Or(m.far(ctx), how)
	}
	return fmt.Errorf("%s.%s: %w: %s", m.name, index.Name(), plug.ErrNeedsRebuild, how)
}

// far describes the progress of the build that is stored, or returns "".
func (m *builds) far(ctx context.Context) string {
	if st, exists, err := m.item.Read(ctx); err == nil && exists {
		return howFar(st)
	}
	return ""
}

// life is the time a DB is open. Closing it ends the builds and waits for them.
type life struct {
	ctx context.Context
	end context.CancelCauseFunc

	mu    sync.Mutex // never held during a trip
	over  bool
	works sync.WaitGroup
}

func newLife() *life {
	l := new(life)
	l.ctx, l.end = context.WithCancelCause(context.Background())
	return l
}

// enter returns a ctx that ends with l. The caller must call leave at the end. The error means that
// l has already ended.
func (l *life) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return ctx, nil, kv.Unavailable(errDBClosed)
	}
	l.works.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(errDBClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		l.works.Done()
	}, nil
}

// close ends l and waits, until ctx ends, for everyone who entered it.
func (l *life) close(ctx context.Context) {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.end(errDBClosed)
	left := make(chan struct{})
	go func() {
		l.works.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
}
