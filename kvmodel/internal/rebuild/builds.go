// Package rebuild enters the records of a model into its indexes: builds.go has the builds of a
// process, and waits for processes without an index. attempt.go runs one attempt: enter.go enters
// the records.
package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// shortBuild is the number of remaining records up to which a reader waits for its index, on a
	// store held by one process.
	shortBuild = 1000

	// buildPatience is how long it waits without a deadline.
	buildPatience = 5 * time.Second

	joinEvery = 250 * time.Millisecond

	// buildAgain is the pause after a failed background build.
	buildAgain = 10 * time.Second
)

type Builds struct {
	*core.Model
	running *Running
	item    *build.Item

	mu    sync.Mutex
	now   *run // nil if none is running
	last  error
	ended time.Time
}

func NewBuilds(m *core.Model, r *Running) *Builds {
	db := m.Db
	return &Builds{Model: m, running: r, item: &build.Item{Store: db.Store, Now: db.Now, Model: m.Name, Owner: db.DB.Owner, Alone: db.Alone}}
}

// begin returns the build under way, or else mine.
func (m *Builds) begin(mine *run) (r *run, own bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil {
		m.now = mine
	}
	return m.now, m.now == mine
}

func (m *Builds) current() (r *run, ended time.Time, last error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, m.ended, m.last
}

func (m *Builds) end(r *run, err error, now time.Time) {
	m.mu.Lock()
	m.now, m.last, m.ended = nil, err, now
	m.mu.Unlock()
	r.err = err
	close(r.done)
}

func (m *Builds) Rebuild(ctx context.Context) error {
	for {
		r, own := m.begin(newRun(m.Name, nil))
		if own {
			return m.do(ctx, r)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return m.Failure("rebuild", fmt.Errorf("%w: %v, and %w", kv.ErrUnavailable, r.state(), kv.Ended(ctx)))
		}
		// Its caller may have given up, or its connection may have failed.
		if !kv.Failed(r.err) || ctx.Err() != nil || m.Db.Work.IsClosed() {
			return r.err
		}
	}
}

func (m *Builds) do(ctx context.Context, r *run) (err error) {
	ctx, leave, err := m.running.Life.enter(ctx)
	if err == nil {
		defer leave()
		ctx, end := m.Db.Begin(ctx, "build")
		defer end()
		ended := m.running.report(ctx, r)
		err = work.Recover("the build of "+m.Name, func() error { return m.build(ctx, r) })
		ended(err)
	}
	m.end(r, err, m.Db.Now())
	return err
}

// BuildMissing builds in the background, unless a build failed just now or records are in conflict.
func (m *Builds) BuildMissing(missing []string) {
	now, ended, last := m.current()
	var duplicates *DuplicatesError
	if now != nil || errors.As(last, &duplicates) || last != nil && m.Db.Now().Sub(ended) < buildAgain {
		return
	}
	r, own := m.begin(newRun(m.Name, missing))
	if !own {
		return
	}
	go func() {
		// Waiting readers get the error.
		_ = m.do(context.Background(), r)
	}()
}

// build repeats attempts that a process without the index has stopped.
func (m *Builds) build(ctx context.Context, r *run) error {
	joined := false
	for stops := 0; ; {
		err := m.buildOnce(ctx, r, joined)
		var busy *build.Busy
		switch {
		case errors.Is(err, built.ErrStopped):
			if stops++; stops == core.MaxTries {
				return fmt.Errorf("rebuild %s: %w: %w", m.Name, plug.ErrNeedsRebuild, err)
			}
		case errors.As(err, &busy):
			joined = true
			r.saw(busy.State)
			if !kv.Sleep(ctx, joinEvery) {
				return m.Failure("rebuild", fmt.Errorf("%w: %w, and %w", kv.ErrUnavailable, err, context.Cause(ctx)))
			}
		case errors.Is(err, build.ErrTaken):
			joined = true
		default:
			return err
		}
	}
}

func (m *Builds) awaitBuilt(ctx context.Context, index plug.Index) error {
	if r, _, _ := m.current(); r != nil {
		ctx, cancel := kv.Patient(ctx, buildPatience)
		defer cancel()
		select {
		case <-r.done:
			if kv.Failed(r.err) {
				return m.Failure("build", r.err)
			}
		case <-r.long:
		case <-ctx.Done():
		}
	}
	if m.IsBuilt(index) {
		return nil
	}
	return m.unbuilt(ctx, index)
}

func (m *Builds) unbuilt(ctx context.Context, index plug.Index) error {
	how := "run db build, or call Rebuild of the data class, once all writers know the index"
	switch r, _, last := m.current(); {
	case r != nil:
		how = r.state().String()
	case last != nil:
		how = last.Error()
	default:
		how = cmp.Or(m.Far(ctx), how)
	}
	return fmt.Errorf("%s.%s: %w: %s", m.Name, index.Name(), plug.ErrNeedsRebuild, how)
}

func (m *Builds) Far(ctx context.Context) string {
	if st, exists, err := m.item.Read(ctx); err == nil && exists {
		return howFar(st)
	}
	return ""
}

type life struct {
	ctx context.Context
	end context.CancelCauseFunc

	mu    sync.Mutex
	over  bool
	works sync.WaitGroup
}

func newLife() *life {
	l := new(life)
	l.ctx, l.end = context.WithCancelCause(context.Background())
	return l
}

// enter returns a ctx that ends with l. The caller must call leave at the end.
func (l *life) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return ctx, nil, kv.Unavailable(core.ErrDBClosed)
	}
	l.works.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(core.ErrDBClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		l.works.Done()
	}, nil
}

func (l *life) Close(ctx context.Context) {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.end(core.ErrDBClosed)
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

// awaitOthers returns when no live process writes the model without one of its indexes, or an
// ErrNeedsRebuild that names one. If it finds dead ones, b is fencing, because requests may be in
// flight.
func (b *building) awaitOthers(ctx context.Context) error {
	if b.Db.Alone {
		return nil // no other process has the store
	}
	if err := b.awaitPast(ctx); err != nil {
		return err
	}
	living, dead, err := b.Db.AwaitEnd(ctx, b.Lacks)
	if err != nil {
		return err
	}
	if living != "" {
		return fmt.Errorf("%w, but process %s writes %s with other indexes: end it first", plug.ErrNeedsRebuild, living, b.Name)
	}
	if b.fencing = len(dead) > 0; !b.fencing {
		return nil
	}
	// A process that checked the built item just before may have sent a change.
	if wait := core.GoodFor - b.Db.Now().Sub(b.named); wait > 0 && !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	return b.repairAll(ctx, dead)
}

// awaitPast returns when all processes know of the last accepted loss.
func (b *building) awaitPast(ctx context.Context) error {
	number, _ := kv.EditionOf(b.Db.Losses)
	if number <= 1 || number == b.past || !b.isWhole() || len(b.missing()) == 0 {
		return nil
	}
	if !kv.Sleep(ctx, core.GoodFor) {
		return kv.TooLate(ctx)
	}
	b.past = number
	return nil
}

func (b *building) repairAll(ctx context.Context, processes []string) error {
	for _, process := range processes {
		j, err := journal.Read(ctx, b.Db.Store, process)
		if err != nil {
			return err
		}
		lines := slices.DeleteFunc(j.Lines, func(l journal.Line) bool { return l.Model != b.Name })
		for batch := range slices.Chunk(journal.Merge(lines), core.RecordsAtOnce) {
			errs := kv.Each(ctx, b.Db.Store, batch, func(s kv.Store, _ int, l journal.Line) error { return b.RepairLine(ctx, s, l) })
			if err := work.FirstError(errs...); err != nil && !work.Waits(err) {
				return err
			}
		}
	}
	return nil
}
