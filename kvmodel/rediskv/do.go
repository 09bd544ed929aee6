package rediskv

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Do sends ops, and repeats those that were certainly not carried out, and gets, while the server
// says that it cannot serve them yet.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	good := kv.Check(ops, s.Powers())
	if good == 0 {
		return nil
	}
	pending := make([]*kv.Op, 0, good)
	for i := range ops {
		if ops[i].Result.Err == nil {
			pending = append(pending, &ops[i])
		}
	}
	var chains kv.Chains
	for len(pending) > 0 {
		n := s.flightLen(pending)
		s.carryOut(ctx, pending[:n], &chains)
		pending = slices.DeleteFunc(pending[n:], chains.Skips)
		if len(pending) > 0 && kv.Unanswered(ops) != nil {
			s.giveUp(pending, errStopped)
			break
		}
	}
	return kv.Unanswered(ops)
}

func (s *Store) carryOut(ctx context.Context, pending []*kv.Op, chains *kv.Chains) {
	var end time.Time
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := s.over(ctx); err != nil {
			s.giveUp(pending, err)
			return
		}
		s.flyMet(ctx, pending)
		if pending = repeatable(pending, chains); len(pending) == 0 {
			return
		}
		if end.IsZero() {
			end = s.endOf(ctx)
		}
		d := pause/2 + kv.Jitter(pause/2)
		if time.Until(end) < d {
			return
		}
		kv.Sleep(ctx, d)
	}
}

func (s *Store) endOf(ctx context.Context) time.Time {
	if end, ok := ctx.Deadline(); ok {
		return end
	}
	return time.Now().Add(s.opts.Patience)
}

func (s *Store) over(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	return kv.Ended(ctx)
}

func (s *Store) giveUp(ops []*kv.Op, err error) {
	for _, op := range ops {
		cause := err
		if before := op.Result.Err; before != nil {
			cause = fmt.Errorf("%w; before that: %w", err, before)
		}
		op.Result = kv.Result{Err: s.failed(kv.ErrUnavailable, cause)}
	}
}

// fly sends pending, and again with the script's text if the server does not have the script.
func (s *Store) fly(ctx context.Context, pending []*kv.Op) {
	if unknown := s.flyOnce(ctx, pending, s.script.sha); unknown != nil {
		s.flyOnce(ctx, unknown, "")
	}
}

// flyOnce returns the ops whose script the server does not know.
func (s *Store) flyOnce(ctx context.Context, pending []*kv.Op, sha string) []*kv.Op {
	f := s.newFlight(pending, sha)
	if err := f.send(ctx); err != nil {
		f.abandon(err)
		return nil
	}
	unknown := f.land()
	f.recycle()
	return unknown
}

// repeatable returns the ops that may be sent again. It notes the chains broken by the others.
func repeatable(ops []*kv.Op, chains *kv.Chains) []*kv.Op {
	var again []*kv.Op
	for _, op := range ops {
		if f, ok := op.Result.Err.(*failure); ok && f.again {
			again = append(again, op)
			continue
		}
		chains.Note(op)
	}
	return slices.DeleteFunc(again, chains.Skips)
}
