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
//
// In a transaction, where there are no trips to be saved, works run one after another.
func Together(ctx context.Context, s Store, works ...func(Store) error) []error {
	errs := make([]error, len(works))
	powers := PowersOf(s)
	if len(works) < 2 || powers.Inside {
		for i, work := range works {
			errs[i] = work(s)
		}
		return errs
	}
	// A transaction inside a shared trip would not be one.
	powers.Atomic = nil
	c := &convoy{ctx: ctx, store: s, powers: powers, parts: make([]part, len(works))}
	for i := range c.parts {
		c.parts[i].convoy = c
	}
	for i := len(works) - 1; i > 0; i-- {
		c.parts[i].start(works[i])
		defer c.parts[i].stop()
	}
	first := &c.parts[0]
	first.err = works[0](first)
	first.ops, first.pause = nil, 0
	for c.travel() {
	}
	for i := range c.parts {
		errs[i] = c.parts[i].err
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
	return p.wait(nil) && p.woke && ctx.Err() == nil
}

// convoy is works that travel together.
type convoy struct {
	ctx    context.Context
	store  Store
	powers Powers
	parts  []part
	flight []Op
	owned  []bool // which results of flight a work has

	reads map[string]int // where of the first known ops of flight, if they are many, read a key
	known int
}

// travel makes a trip for what all parts wait for, or pauses if they want that, and lets
// all but the first run on. It returns false if none waits for anything.
func (c *convoy) travel() bool {
	pause := c.load()
	if len(c.flight) == 0 && pause == 0 {
		return false
	}
	if len(c.flight) > 0 {
		// Each op's result says what became of it.
		_ = c.store.Do(c.ctx, c.flight)
	}
	woke := pause == 0 || Pause(c.ctx, c.store, pause)
	c.deliver()
	for i := len(c.parts) - 1; i >= 0; i-- {
		p := &c.parts[i]
		if len(p.ops) == 0 && p.pause == 0 {
			continue
		}
		p.woke, p.ops, p.pause = woke, nil, 0
		if i > 0 {
			p.run()
		}
	}
	return true
}

// load makes the flight of a trip, and notes in the parts where their ops are in it. pause
// is how long the parts that want to pause do so.
func (c *convoy) load() (pause time.Duration) {
	clear(c.flight)
	c.flight = c.flight[:0]
	clear(c.reads)
	c.known = 0
	for i := range c.parts {
		p := &c.parts[i]
		pause = max(pause, p.pause)
		p.positions = p.positions[:0]
		for _, op := range p.ops {
			position := -1
			if op.Kind == Get {
				position = c.reading(op.Key)
			}
			if position >= 0 && !op.Near {
				c.flight[position].Near = false
			}
			if position < 0 {
				position = len(c.flight)
				c.flight = append(c.flight, op)
			}
			p.positions = append(p.positions, position)
		}
	}
	return pause
}

// manyReads is how many ops of a trip are looked through for one that reads the same key.
const manyReads = 16

// reading returns where in the flight key is read, -1 if it is not.
func (c *convoy) reading(key string) int {
	if len(c.flight) <= manyReads {
		return slices.IndexFunc(c.flight, func(op Op) bool { return op.Kind == Get && op.Key == key })
	}
	if c.reads == nil {
		c.reads = make(map[string]int)
	}
	for ; c.known < len(c.flight); c.known++ {
		if op := &c.flight[c.known]; op.Kind == Get {
			c.reads[op.Key] = c.known
		}
	}
	if position, ok := c.reads[key]; ok {
		return position
	}
	return -1
}

// deliver hands the results to the parts that asked.
func (c *convoy) deliver() {
	c.owned = append(c.owned[:0], make([]bool, len(c.flight))...)
	for i := len(c.parts) - 1; i >= 0; i-- {
		p := &c.parts[i]
		for j, position := range p.positions {
			result := c.flight[position].Result
			// A value belongs to the work that gets it.
			if c.owned[position] {
				result.Value = bytes.Clone(result.Value)
			}
			c.owned[position] = true
			p.ops[j].Result = result
		}
	}
}

// part is one work of Together: the first in the goroutine of the caller, and any other a
// coroutine. It stops when it has ops to send or pauses, and has ended when there is
// neither.
type part struct {
	*convoy
	ops       []Op          // waiting to be sent
	positions []int         // where they are in the trip
	pause     time.Duration // how long it wants to pause; 0: it does not
	woke      bool          // the last pause was not cut short
	err       error

	// Of a coroutine:
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

func (p *part) start(work func(Store) error) {
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		p.err = work(p)
		p.ops, p.pause = nil, 0
	})
	p.run()
}

// run lets the work run until it has ops to send, pauses or ends.
func (p *part) run() { p.next() }

// wait lets the others run until ops are carried out, and the pause that the work wants is
// over. It returns false if that will never be.
func (p *part) wait(ops []Op) bool {
	p.ops = ops
	if p.yield == nil {
		return p.travel()
	}
	return p.yield(struct{}{})
}

// Do hands ops to the shared trip.
func (p *part) Do(_ context.Context, ops []Op) error {
	if len(ops) == 0 {
		return nil
	}
	if !p.wait(ops) {
		return Fail(ops, ErrUnavailable)
	}
	return Unanswered(ops)
}

func (p *part) Close() error { return nil }

func (p *part) Powers() Powers { return p.convoy.powers }
