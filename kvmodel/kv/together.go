package kv

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"
)

// Together runs works side by side, each on a store of its own, and sends what
// they ask for at the same time as one trip: the first Do of each in the first
// trip, the second of each in the next, and so on. So code that is written as
// one step after another costs as many trips as its longest part.
//
// Works run one at a time, in one goroutine, from the last to the first, and
// their ops stand in the trip from the first to the last. A key that several of
// them read in one trip is read once. A work must use its store from nowhere
// else, must not keep it, and must not wait for another work; to wait for time to
// pass it calls [Pause]. Together returns what the works returned, in their order.
func Together(ctx context.Context, s Store, works ...func(Store) error) []error {
	if len(works) == 1 {
		return []error{works[0](s)}
	}
	parts := make([]*part, len(works))
	for i := len(works) - 1; i >= 0; i-- {
		parts[i] = startPart(works[i], PowersOf(s))
		defer parts[i].stop()
	}
	for {
		flight, pause := load(parts)
		if len(flight) == 0 && pause == 0 {
			break
		}
		if len(flight) > 0 {
			// Each op's result says what became of it.
			_ = s.Do(ctx, flight)
		}
		woke := pause == 0 || Pause(ctx, s, pause)
		deliver(parts, flight, woke)
	}
	errs := make([]error, len(works))
	for i, p := range parts {
		errs[i] = p.err
	}
	return errs
}

// Each does work for values side by side, as [Together] does, and returns an
// error for each, in their order.
func Each[V any](ctx context.Context, s Store, values []V, work func(s Store, i int, v V) error) []error {
	works := make([]func(Store) error, len(values))
	for i, v := range values {
		works[i] = func(s Store) error { return work(s, i, v) }
	}
	return Together(ctx, s, works...)
}

// Pause is Sleep for code that may be a work of [Together], which works on s. The
// works that pause at the same time do so together, so many of them take no longer
// than one. What the others ask for is sent first.
func Pause(ctx context.Context, s Store, d time.Duration) bool {
	p, ok := s.(*part)
	if !ok {
		return Sleep(ctx, d)
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	p.pause = max(d, 1)
	return p.yield(nil) && p.woke && ctx.Err() == nil
}

// load returns the ops of a trip, and notes in parts where their ops are in it.
// pause is how long the parts that want to pause do so.
func load(parts []*part) (flight []Op, pause time.Duration) {
	reads := make(map[string]int)
	for _, p := range parts {
		pause = max(pause, p.pause)
		p.positions = p.positions[:0]
		for _, op := range p.ops {
			position, taken := reads[op.Key]
			if op.Kind != Get || !taken {
				position = len(flight)
				flight = append(flight, op)
			}
			if op.Kind == Get {
				reads[op.Key] = position
			}
			p.positions = append(p.positions, position)
		}
	}
	return flight, pause
}

// deliver hands the results to the parts that asked and lets them run on, as well
// as those that have paused.
func deliver(parts []*part, flight []Op, woke bool) {
	owned := make([]bool, len(flight))
	for _, p := range slices.Backward(parts) {
		for i, position := range p.positions {
			result := flight[position].Result
			// A value belongs to the work that gets it.
			if owned[position] {
				result.Value = bytes.Clone(result.Value)
			}
			owned[position] = true
			p.ops[i].Result = result
		}
	}
	for _, p := range slices.Backward(parts) {
		if len(p.ops) > 0 || p.pause > 0 {
			p.woke = woke
			p.run()
		}
	}
}

// part is one work of Together: a coroutine that stops when it has ops to
// send or pauses. It has ended when there is neither.
type part struct {
	ops       []Op          // waiting to be sent
	positions []int         // where they are in the trip
	pause     time.Duration // how long it wants to pause; 0: it does not
	woke      bool          // the last pause was not cut short
	err       error
	powers    Powers
	next      func() ([]Op, bool)
	stop      func()
	yield     func([]Op) bool
}

func startPart(work func(Store) error, powers Powers) *part {
	// A transaction inside a shared trip would not be one.
	powers.Atomic = nil
	p := &part{powers: powers}
	p.next, p.stop = iter.Pull(func(yield func([]Op) bool) {
		p.yield = yield
		p.err = work(p)
	})
	p.run()
	return p
}

// run lets the work run until it has ops to send, pauses or ends.
func (p *part) run() {
	p.pause = 0
	p.ops, _ = p.next()
}

// Do hands ops to the shared trip.
func (p *part) Do(_ context.Context, ops []Op) error {
	if len(ops) == 0 {
		return nil
	}
	if !p.yield(ops) {
		return Fail(ops, ErrUnavailable)
	}
	return Unanswered(ops)
}

func (p *part) Close() error { return nil }

func (p *part) Powers() Powers { return p.powers }
