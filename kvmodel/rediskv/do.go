package rediskv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel"
)

// The pause between two tries grows from the first to the last.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Do carries out ops in one flight of commands, and repeats what may be
// repeated while the server fails over.
func (s *Store) Do(ctx context.Context, ops []kvmodel.Op) error {
	good := kvmodel.Check(ops, s.Powers())
	if good == 0 {
		return nil
	}
	pending := make([]*kvmodel.Op, 0, good)
	for i := range ops {
		if ops[i].Result.Err == nil {
			pending = append(pending, &ops[i])
		}
	}
	for len(pending) > 0 {
		n := s.flightLen(pending)
		s.carryOut(ctx, pending[:n])
		if pending = pending[n:]; len(pending) > 0 && failedAny(ops) {
			s.giveUp(pending, errStopped)
			break
		}
	}
	return kvmodel.Unanswered(ops)
}

// carryOut sends pending until each op has its answer or may not be repeated.
func (s *Store) carryOut(ctx context.Context, pending []*kvmodel.Op) {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(s.opts.Patience)
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := s.over(ctx); err != nil {
			s.giveUp(pending, err)
			return
		}
		s.fly(ctx, pending)
		if pending = repeatable(pending); len(pending) == 0 {
			return
		}
		if !sleep(ctx, end, pause/2+rand.N(pause/2)) {
			return
		}
	}
}

// over returns why nothing can be sent any more, or nil.
func (s *Store) over(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	return ctx.Err()
}

// giveUp fails ops that were not carried out, with what was in their way
// before, if anything was.
func (s *Store) giveUp(ops []*kvmodel.Op, err error) {
	for _, op := range ops {
		cause := err
		if before := op.Result.Err; before != nil {
			cause = fmt.Errorf("%w; before that: %w", err, before)
		}
		op.Result = kvmodel.Result{Err: s.failed(kvmodel.ErrUnavailable, cause)}
	}
}

// fly sends pending once. Requests whose script the server does not have were
// not carried out; they are sent again with the script's text.
func (s *Store) fly(ctx context.Context, pending []*kvmodel.Op) {
	reqs := s.plan(pending, s.script.sha)
	replies, err := s.ask(ctx, reqs)
	if err != nil {
		s.abandon(reqs, err)
		return
	}
	var unknown []*kvmodel.Op
	for i, req := range reqs {
		if isNoScript(replies[i]) {
			unknown = append(unknown, req.ops...)
			continue
		}
		s.answer(req, replies[i])
	}
	if unknown != nil {
		s.teach(ctx, unknown)
	}
}

// teach sends ops with the text of the script.
func (s *Store) teach(ctx context.Context, ops []*kvmodel.Op) {
	reqs := s.plan(ops, "")
	replies, err := s.ask(ctx, reqs)
	if err != nil {
		s.abandon(reqs, err)
		return
	}
	for i, req := range reqs {
		s.answer(req, replies[i])
	}
}

// ask sends the requests and returns the reply to each, or ctx's error if it
// ends before. The client never sees ctx: it would close a connection that
// others use too, and does not look at ctx while it connects.
func (s *Store) ask(ctx context.Context, reqs []request) ([]rueidis.RedisResult, error) {
	if ctx.Done() == nil {
		return s.send(reqs), nil
	}
	done := make(chan []rueidis.RedisResult, 1)
	go func() { done <- s.send(reqs) }()
	select {
	case replies := <-done:
		return replies, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// repeatable returns the ops that were not carried out and may be sent again.
func repeatable(ops []*kvmodel.Op) []*kvmodel.Op {
	var again []*kvmodel.Op
	for _, op := range ops {
		if f, ok := op.Result.Err.(*failure); ok && f.again {
			again = append(again, op)
		}
	}
	return again
}

func failedAny(ops []kvmodel.Op) bool { return kvmodel.Unanswered(ops) != nil }

// sleep waits for d, or until ctx ends, and returns true. It returns false at
// once if d would pass end.
func sleep(ctx context.Context, end time.Time, d time.Duration) bool {
	if time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return true
}
