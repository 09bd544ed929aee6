package boltkv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	maxTurns = 1000 // of a commit
	maxBytes = 16 << 20

	keptRoom = 1 << 20
)

// batch is a commit in progress. Writers take turns with it, each on its own goroutine, so no
// goroutine touches another caller's data.
type batch struct {
	turns   int
	in      *live
	relaxed bool // no turn needs the commit on the disk

	done chan struct{}
	fail *failure
}

// write runs change in a turn and returns when it is committed. If change fails or writes too much,
// it is undone. If ctx ends after the turn has begun, the commit continues.
func (s *Store) write(ctx context.Context, change func(*live) *failure) *failure {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	s.writers.Add(1)
	defer s.writers.Add(-1)
	b, fail := s.takeTurn(ctx, change)
	if fail != nil {
		return fail
	}
	select {
	case <-b.done:
		return b.fail
	default:
	}
	select {
	case <-b.done:
		return b.fail
	case <-ctx.Done():
		return unclear(ctx.Err())
	}
}

func (s *Store) takeTurn(ctx context.Context, change func(*live) *failure) (*batch, *failure) {
	select {
	case b := <-s.turn:
		defer func() { s.back <- struct{}{} }()
		if err := ctx.Err(); err != nil {
			return nil, unavailable(err)
		}
		if fail := s.failed.Load(); fail != nil {
			return nil, fail
		}
		if b.in == nil {
			b.in, b.relaxed = &live{base: s.look(), changes: s.changes, undo: s.undo}, true
		}
		b.relaxed = b.relaxed && kv.IsRelaxed(ctx)
		b.turns++
		s.tell(func(st *Stats) { st.Trips++ })
		return b, b.in.turn(change)
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	case <-s.closing:
		return nil, errClosed
	}
}

func (s *Store) commitBatches() {
	defer close(s.stopped)
	tick := time.NewTicker(s.limits.tick)
	defer tick.Stop()
	for {
		if !s.brake() {
			return
		}
		b := &batch{done: make(chan struct{})}
		select {
		case s.turn <- b:
			<-s.back
			s.gather(b)
		case <-tick.C:
			s.tick()
			continue
		case <-s.closing:
			return
		}
		b.fail = s.finish(b)
		close(b.done)
	}
}

func (s *Store) gather(b *batch) {
	for b.turns < maxTurns && (b.in == nil || b.in.bytes < maxBytes) {
		// Let the writers woken by the last commit join this one.
		runtime.Gosched()
		select {
		case s.turn <- b:
			<-s.back
		default:
			return
		}
	}
}

func (s *Store) finish(b *batch) *failure {
	if b.in == nil {
		return s.failed.Load()
	}
	defer s.reuse(b.in)
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	if len(b.in.changes) == 0 {
		return nil
	}
	if fail := s.full(); fail != nil {
		return fail
	}
	return s.commit(b.in, s.opts.Durability == Synced && !b.relaxed)
}

const keptUndo = 1 << 10

func (s *Store) reuse(in *live) {
	clear(s.changes)
	if s.undo = nil; cap(in.undo) <= keptUndo {
		clear(in.undo[:cap(in.undo)])
		s.undo = in.undo[:0]
	}
}

// commit appends the changes of in to the log, and then lets the readers see them.
func (s *Store) commit(in *live, synced bool) *failure {
	began := time.Now()
	body := encodeChanges(slices.Grow(s.body[:0], in.bytes), in.changes)
	s.lastTime = max(s.lastTime, time.Now().UnixNano())
	r := commitlog.Record{Time: s.lastTime, Version: s.version, Durable: s.durable.Load(), Body: body}
	if fail := s.appended(s.log.Append(&r)); fail != nil {
		return fail
	}
	if s.body = nil; cap(body) <= keptRoom {
		s.body = body
	}
	if synced {
		if fail := s.sync(s.log, r.Seq); fail != nil {
			return fail
		}
	}
	s.mu.Lock()
	s.filling.add(in.changes, after(&r))
	s.forget(in.changes)
	s.seen = s.log.Bytes()
	s.mu.Unlock()
	s.used = time.Now()
	s.tell(func(st *Stats) {
		st.Commits++
		st.Committing += s.used.Sub(began)
		st.Refused = nil
	})
	if s.load() >= s.limits.turn {
		s.note(s.turnLog())
	}
	return nil
}

func (s *Store) appended(err error) *failure {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("append to %s: %w", s.logPath(s.log.Epoch), err)
	if !errors.Is(err, commitlog.ErrStuck) {
		s.tell(func(st *Stats) { st.Refused = err })
		return unavailable(err)
	}
	s.stop(err)
	return unclear(err)
}

// sync syncs the records of log up to last. If it fails, the state on disk is unknown, and the
// store stops.
func (s *Store) sync(log *commitlog.Log, last uint64) *failure {
	if err := log.Sync(); err != nil {
		err = fmt.Errorf("sync %s: %w", s.logPath(log.Epoch), err)
		s.stop(err)
		return unclear(err)
	}
	for known := s.durable.Load(); known < last && !s.durable.CompareAndSwap(known, last); {
		known = s.durable.Load()
	}
	return nil
}

func (s *Store) tick() {
	if s.failed.Load() != nil {
		return
	}
	idle := time.Since(s.used) >= s.limits.idle
	if s.load() >= s.limits.turn || idle && uint64(len(s.filling.items)) > s.Stats().Carried {
		s.note(s.turnLog())
	}
	s.wake()
}

func (s *Store) syncPeriodically() {
	tick := time.NewTicker(s.limits.tick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.closing:
			return
		}
		if s.failed.Load() == nil {
			s.syncSeen()
		}
	}
}

func (s *Store) syncSeen() *failure {
	s.holding.Lock()
	defer s.holding.Unlock()
	s.mu.RLock()
	log, last, ended := s.log, s.filling.seq, s.ended
	isMoving := s.moving != nil
	s.mu.RUnlock()
	if last <= s.durable.Load() {
		return nil
	}
	if isMoving {
		if fail := s.sync(ended, log.First-1); fail != nil {
			return fail
		}
	}
	return s.sync(log, last)
}
