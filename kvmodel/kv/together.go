package kv

import (
	"bytes"
	"context"
	"slices"
	"time"
)

// Together runs works side by side, each on its own store, and sends their concurrent requests as
// one trip: the first Do of each work in the first trip, the second of each in the next, and so on.
// Sequential code then costs only as many trips as its longest work. The errors are in the order of
// works.
//
// Works run one at a time, in the caller's goroutine until one makes a request or pauses, and from
// then on in coroutines. A key that several works read in one trip is read once, so they must not
// change its value. Appends to one key, or increments of it, are sent as one op if each work makes
// them by [One]. A work must use its store from nowhere else, must not keep it, and must not wait
// for another work; to let time pass it calls [Pause].
//
// In a transaction, and on a store with [Powers.Local], there are no trips to save, so works run
// one after another. There each makes its own trips, and a [Meter] counts the trips they would have
// shared had none paused.
func Together(ctx context.Context, s Store, works ...func(Store) error) []error {
	powers := PowersOf(s)
	if errs, done := inOrder(powers, len(works), func(i int) error { return works[i](s) }); done {
		return errs
	}
	errs := make([]error, len(works))
	c := newConvoy(ctx, s, powers, works)
	defer c.stop()
	c.run()
	for i := range c.parts {
		errs[i] = c.parts[i].err
	}
	c.recycle()
	return errs
}

// inOrder runs n works one after another if they have no trips to share.
func inOrder(powers Powers, n int, work func(i int) error) (errs []error, done bool) {
	if n > 1 && !powers.Inside {
		return nil, false
	}
	errs = make([]error, n)
	for i := range errs {
		errs[i] = work(i)
	}
	return errs, true
}

// Each is [Together] of work for all values.
func Each[V any](ctx context.Context, s Store, values []V, work func(s Store, i int, v V) error) []error {
	if errs, done := inOrder(PowersOf(s), len(values), func(i int) error { return work(s, i, values[i]) }); done {
		return errs
	}
	works := make([]func(Store) error, len(values))
	for i, v := range values {
		works[i] = func(s Store) error { return work(s, i, v) }
	}
	return Together(ctx, s, works...)
}

// Pause is Sleep for code that may be a work of [Together] using s. Works that pause briefly do so
// together, and the others wait with them once their ops were sent. While a work pauses for longer,
// the others go on.
func Pause(ctx context.Context, s Store, d time.Duration) bool {
	p, ok := s.(*part)
	if !ok {
		return Sleep(ctx, d)
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	p.until = time.Now().Add(d)
	return p.wait(nil) && p.woke && ctx.Err() == nil
}

const shortPause = 50 * time.Millisecond

// convoy is works that share trips. Works begin one after another in the caller's goroutine, and
// those behind the first that has to wait begin in runners. On a local store works wait only in a
// pause.
type convoy struct {
	ctx    context.Context
	store  Store
	powers Powers
	works  []func(Store) error
	*crew
	alone   ride // of all parts there, always empty
	begun   int  // how many works have begun: the first ones
	runners []*runner
	stopped bool
	root    *convoy   // the outermost
	idle    []*runner // of the root
	apart   *apart    // on a local store under a Meter
	*cargo            // of the last trip; nil: none
}

func newConvoy(ctx context.Context, s Store, powers Powers, works []func(Store) error) *convoy {
	powers.Atomic = nil
	c := &convoy{ctx: ctx, store: s, powers: powers, works: works, crew: takeCrew(len(works), powers.Local)}
	c.root = c
	outer, nested := s.(*part)
	if nested {
		c.root = outer.root
	}
	if powers.Local {
		c.apart = newApart(meterOf(ctx, powers), nested)
	}
	for i := range c.parts {
		p := &c.parts[i]
		p.convoy, p.ride, p.meter = c, &c.alone, c.apart.next()
		if !powers.Local {
			p.ride = &c.rides[i]
		}
	}
	return c
}

func (c *convoy) run() {
	for c.next(nil) {
	}
	for c.travel() {
	}
}

// recycle takes back the memory of works that have all ended.
func (c *convoy) recycle() {
	c.crew.recycle()
	c.cargo.recycle()
	c.crew, c.cargo = nil, nil
}

// next runs the next work to its end, in the runner in unless that is nil. It returns false if none
// is left.
func (c *convoy) next(in *runner) bool {
	if c.begun == len(c.works) {
		return false
	}
	p, work := &c.parts[c.begun], c.works[c.begun]
	c.begun++
	p.runner = in
	p.err = work(p)
	p.ops, p.until = nil, time.Time{}
	return true
}

// crew is the parts of a convoy and their rides.
type crew struct {
	class int
	parts []part
	rides []ride // none on a local store
}

var crews pools[crew]

func takeCrew(n int, local bool) *crew {
	c := crews.take(n)
	c.class, c.parts = classOf(n), slices.Grow(c.parts, n)[:n]
	if !local {
		c.rides = slices.Grow(c.rides, n)[:n]
	}
	return c
}

func (c *crew) recycle() {
	clear(c.parts)
	for i := range c.rides {
		c.rides[i].empty()
	}
	c.parts, c.rides = c.parts[:0], c.rides[:0]
	crews.put(c.class, c)
}

type cargo struct {
	class  int
	flight []Op
	joins  []bool // which ops of flight may be joined with others like them

	places map[target]int // index in flight of the last joinable op by target, once there are many
	placed int            // how many ops of flight are in places
}

var cargos pools[cargo]

// fit returns an empty cargo with room for n ops: c, which may be nil, or another.
func (c *cargo) fit(n int) *cargo {
	if class := classOf(n); c == nil || class > c.class {
		c.recycle()
		c = cargos.take(n)
		c.class = class
	} else {
		c.empty()
	}
	c.flight, c.joins = slices.Grow(c.flight, n), slices.Grow(c.joins, n)
	return c
}

func (c *cargo) empty() {
	clear(c.flight)
	c.flight, c.joins = c.flight[:0], c.joins[:0]
	clear(c.places)
	c.placed = 0
}

func (c *cargo) recycle() {
	if c != nil {
		c.empty()
		cargos.put(c.class, c)
	}
}

type target struct {
	kind Kind
	key  string
}

// travel makes one trip for all waiting parts, or pauses, and resumes those that were answered. It
// returns false if no part is waiting.
func (c *convoy) travel() bool {
	c.cargo = c.load(c.rides)
	end, pauses := c.rest()
	if len(c.flight) == 0 && !pauses {
		return false
	}
	if len(c.flight) > 0 {
		if outer, ok := c.store.(*part); ok {
			outer.flown = c.joins
		}
		_ = c.store.Do(c.ctx, c.flight)
	}
	pause := time.Until(end)
	woke := pause <= 0 || Pause(c.ctx, c.store, pause)
	c.deliver(c.rides)
	for i := range c.parts {
		p := &c.parts[i]
		if len(p.ops) == 0 && (p.until.IsZero() || woke && p.until.After(end)) {
			continue
		}
		p.woke, p.ops, p.until = woke, nil, time.Time{}
		if p.runner != nil {
			p.goOn()
		}
	}
	return true
}

// rest returns the end of the pause after the trip: the longest of the short pauses or, without a
// trip, the first of the longer ones.
func (c *convoy) rest() (end time.Time, pauses bool) {
	var first time.Time
	for i := range c.parts {
		until := c.parts[i].until
		switch {
		case until.IsZero():
			continue
		case time.Until(until) > shortPause:
			if first.IsZero() || until.Before(first) {
				first = until
			}
		case until.After(end):
			end = until
		}
		pauses = true
	}
	if end.IsZero() && len(c.flight) == 0 {
		end = first
	}
	return end, pauses
}

// load composes a trip, in c if it is large enough, and records the positions of the ops in rides.
func (c *cargo) load(rides []ride) *cargo {
	ops := 0
	for i := range rides {
		ops += len(rides[i].ops)
	}
	c = c.fit(ops)
	for i := range rides {
		r := &rides[i]
		r.positions, r.sums = slices.Grow(r.positions[:0], len(r.ops)), r.sums[:0]
		for k := range r.ops {
			op := &r.ops[k]
			joins := r.joins(k)
			position := -1
			if joins {
				position = c.like(op)
			}
			if position < 0 || !c.joins[position] || !c.flight[position].join(op) {
				position = len(c.flight)
				c.flight, c.joins = append(c.flight, *op), append(c.joins, joins)
				c.flight[position].Value = slices.Clip(op.Value)
			}
			r.positions = append(r.positions, position)
			if op.Kind == Increment {
				r.sums = append(r.sums, c.flight[position].Delta)
			}
		}
	}
	return c
}

// joins reports whether the kth op of r may be joined with others like it. If a work sends several
// ops at once, their order counts.
func (r *ride) joins(k int) bool {
	op := &r.ops[k]
	switch {
	case op.Kind == Get:
		return true
	case op.Chain != 0:
		return false
	case r.flown != nil:
		return r.flown[k]
	case op.Kind == Append:
		return len(r.ops) == 1
	case op.Kind == Increment:
		return len(r.ops) == 1 && op.Delta > 0
	}
	return false
}

const maxJoined = 16 << 10

func (op *Op) join(other *Op) bool {
	switch op.Kind {
	case Get:
		op.Near, op.Sparse = op.Near && other.Near, op.Sparse && other.Sparse
	case Increment:
		op.Delta += other.Delta
	case Append:
		// The second of two appends is refused if the first ends with its Unless.
		if len(op.Value)+len(other.Value) > maxJoined || !bytes.Equal(op.Unless, other.Unless) ||
			len(op.Unless) > 0 && (len(op.Value) < len(op.Unless) || bytes.HasSuffix(op.Value, op.Unless)) {
			return false
		}
		op.Value = append(op.Value, other.Value...)
	}
	return true
}

const few = 16

// like returns the index of the last op with the kind and key of op, or -1.
func (c *cargo) like(op *Op) int {
	if len(c.flight) <= few {
		for i := len(c.flight) - 1; i >= 0; i-- {
			if c.flight[i].Kind == op.Kind && c.flight[i].Key == op.Key {
				return i
			}
		}
		return -1
	}
	if c.places == nil {
		c.places = make(map[target]int)
	}
	for ; c.placed < len(c.flight); c.placed++ {
		c.places[target{c.flight[c.placed].Kind, c.flight[c.placed].Key}] = c.placed
	}
	if position, ok := c.places[target{op.Kind, op.Key}]; ok {
		return position
	}
	return -1
}

func (c *cargo) deliver(rides []ride) {
	for i := range rides {
		r := &rides[i]
		sums := r.sums
		for j, position := range r.positions {
			result := c.flight[position].Result
			if r.ops[j].Kind == Increment {
				result.Number -= c.flight[position].Delta - sums[0] // without the amounts others added after it
				sums = sums[1:]
			}
			r.ops[j].Result = result
		}
	}
}

type ride struct {
	ops       []Op    // waiting to be sent
	flown     []bool  // the joins of the flight that ops are, if they come from a nested Together; nil if they are the work's own
	positions []int   // of ops in the trip
	sums      []int64 // for each increment, the joined delta up to it
}

const keptPositions = 32

func (r *ride) empty() {
	*r = ride{positions: r.positions[:0], sums: r.sums[:0]}
	if cap(r.positions) > keptPositions {
		r.positions, r.sums = nil, nil
	}
}

// part is one work of Together. It stops when it has ops to send or pauses, and has ended when
// there is neither.
type part struct {
	*convoy
	*ride
	runner *runner   // nil in the goroutine of the caller
	until  time.Time // end of its pause; zero: none
	woke   bool      // the last pause was not cut short
	meter  *Meter    // of its own trips, on a local store
	err    error
}

// runner is a coroutine that runs works one after another until one stops. When none is left to
// begin, it waits for another convoy with the same root.
type runner struct {
	convoy *convoy // nil: idle
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

func (c *convoy) start() {
	for c.begun < len(c.works) {
		r := c.root.takeRunner()
		r.convoy = c
		c.runners = append(c.runners, r)
		r.next()
	}
}

func (c *convoy) takeRunner() *runner {
	if n := len(c.idle); n > 0 {
		r := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return r
	}
	r := new(runner)
	r.next, r.stop = pull(func(yield func(struct{}) bool) {
		r.yield = yield
		growStack(0)
		for {
			for r.convoy.next(r) {
			}
			if r.convoy.stopped {
				return
			}
			r.convoy, c.idle = nil, append(c.idle, r)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return r
}

// growStack makes room for most works while the stack of their coroutine is still empty. Growing it
// later means copying it, several times.
//
//go:noinline
func growStack(i int) byte {
	if i == 0 {
		return 0 // The stack has grown, and the room need not be cleared.
	}
	var room [10 << 10]byte
	return room[i]
}

// stop ends the works still running, as after a panic.
func (c *convoy) stop() {
	c.begun, c.stopped = len(c.works), true
	for _, r := range c.runners {
		if r.convoy == c {
			r.stop()
		}
	}
	for _, r := range c.idle {
		r.stop()
	}
	c.apart.count()
}

func (p *part) goOn() { p.runner.next() }

// wait lets the other works run until ops are carried out and the pause is over. It returns false
// if that will never happen.
func (p *part) wait(ops []Op) bool {
	p.ops = ops
	if p.runner != nil {
		return p.runner.yield(struct{}{})
	}
	p.start()
	for len(p.ops) > 0 || !p.until.IsZero() {
		if !p.travel() {
			return false
		}
	}
	return true
}

func (p *part) Do(ctx context.Context, ops []Op) error {
	if len(ops) == 0 {
		return nil
	}
	if p.powers.Local {
		return p.store.Do(p.meter.under(ctx), ops)
	}
	travels := p.wait(ops)
	p.flown = nil
	if !travels {
		return Fail(ops, ErrUnavailable)
	}
	return Unanswered(ops)
}

func (p *part) Close() error { return nil }

func (p *part) Powers() Powers {
	powers := p.convoy.powers
	powers.meter = p.meter
	return powers
}
