package kvtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// flight is what one step can carry out the next op of: a single op, or, where
// the store is ordered, the ops of one Do that are left, or one Atomic.
type flight struct {
	req    *request // nil: nobody waits for the answers
	from   *process
	ops    []kv.Op // those of req; without it copies
	places []int   // in ops, those to be carried out, the next one first
	late   bool
}

const (
	lateSpeed  = 0.2            // of a flight that nobody waits for
	redrawOdds = 0.05           // per step, that clients change their speeds
	patience   = 48 * time.Hour // without a step, until a client is taken for stuck
)

// until lets steps happen until done says so, at a moment at which all clients
// stand still.
func (s *Sim) until(done func() bool) {
	s.t.Helper()
	for {
		s.settle()
		if done() {
			return
		}
		if len(s.flights) == 0 || s.inTransaction() {
			s.idle()
			continue
		}
		if limit := cmp.Or(s.world.MaxSteps, 100_000); s.step >= limit {
			s.t.Fatalf("sim: no end after %d steps; still running: %s", s.step, s.whoRuns())
		}
		s.stepOnce()
	}
}

// settle waits until all clients stand still and takes what they have handed
// over.
func (s *Sim) settle() {
	synctest.Wait()
	s.mu.Lock()
	arrivals, expired := s.arrivals, s.expired
	s.arrivals, s.expired = nil, nil
	s.mu.Unlock()
	sortRequests(arrivals)
	for _, r := range arrivals {
		s.flights = append(s.flights, s.flightsOf(r)...)
	}
	sortRequests(expired)
	for _, r := range expired {
		s.expire(r)
		// One goroutine after another: they may draw from crypto/rand.
		synctest.Wait()
	}
	for _, p := range s.procs {
		if p.crashed() {
			s.bury(p)
		}
	}
}

// idle lets time pass until a client does something.
func (s *Sim) idle() {
	s.t.Helper()
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	select {
	case <-s.stirred:
	case <-stuck.C:
		s.t.Fatalf("sim: in %v nobody asked for anything; still running: %s", patience, s.whoRuns())
	}
}

func (s *Sim) whoRuns() string {
	var names []string
	for _, p := range s.procs {
		names = append(names, p.name)
	}
	return fmt.Sprintf("%d functions of %s", s.unfinished(), strings.Join(names, ", "))
}

// stop crashes all processes, so that they come to an end.
func (s *Sim) stop() {
	for _, p := range s.procs {
		p.die()
	}
	for end := time.Now().Add(patience); s.unfinished() > 0 || s.inTransaction(); {
		s.settle()
		if time.Now().After(end) {
			s.t.Errorf("sim: functions still run %v after the crash of their processes: %s", patience, s.whoRuns())
			return
		}
		select {
		case <-s.stirred:
		case <-time.After(patience):
		}
	}
}

// stepOnce lets one thing happen.
func (s *Sim) stepOnce() {
	s.step++
	for _, p := range s.procs {
		if p.crashStep > 0 && s.step >= p.crashStep {
			s.crash(p, "at its step")
		}
	}
	if s.chance(redrawOdds) {
		for _, p := range s.procs {
			p.drawSpeed(s.rng)
		}
	}
	switch {
	case s.chance(s.world.Crash):
		s.crashSomebody()
	case s.chance(s.world.Evict):
		s.evictSomething()
	case s.chance(s.world.SetBack):
		s.setSomethingBack()
	case s.chance(s.world.Pause):
		d := s.someTime()
		s.note("", fmt.Sprintf("%v pass", d))
		time.Sleep(d)
	default:
		if f := s.choose(); f != nil {
			s.advance(f)
		}
	}
}

func (s *Sim) chance(p float64) bool { return p > 0 && s.rng.Float64() < p }

// someTime returns 1 ms to about a minute, each order of magnitude as often,
// and never the same: what is to end then ends at a moment of its own.
func (s *Sim) someTime() time.Duration {
	return time.Millisecond<<s.rng.IntN(17) + time.Duration(s.rng.IntN(1e6))
}

// choose returns one of the flights, those of fast clients more often.
func (s *Sim) choose() *flight {
	sum := 0.0
	for _, f := range s.flights {
		sum += f.speed()
	}
	at := s.rng.Float64() * sum
	for _, f := range s.flights {
		if at -= f.speed(); at <= 0 {
			return f
		}
	}
	// Here the sum was too large by a rounding error, or there are none.
	if len(s.flights) == 0 {
		return nil
	}
	return s.flights[len(s.flights)-1]
}

func (f *flight) speed() float64 {
	if f.late {
		return lateSpeed
	}
	return f.from.speed
}

// advance carries out the next op of f, or what goes wrong with it. Behind an
// op that goes wrong the later ones of an ordered flight go wrong in its way.
func (s *Sim) advance(f *flight) {
	switch fault := s.fault(f); {
	case f.req != nil && f.req.atomic:
		s.begin(f, fault)
	case fault == Unsent:
		s.end(f, errUnsent, errUnsent)
	case fault == Lost:
		s.end(f, errUnread, errUnclear)
	case fault == Mute:
		s.apply(f, "carried out unanswered: ")
		s.end(f, errUnread, errUnclear)
	case fault == Late:
		s.linger(f)
		s.end(f, errUnread, errUnclear)
	case f.late:
		s.land(f)
	default:
		s.carryOut(f)
	}
}

// fault decides what becomes of the next op of f.
func (s *Sim) fault(f *flight) Fault {
	if f.req == nil {
		return None
	}
	f.from.nth++
	if s.world.Fault != nil {
		m := Moment{Step: s.step, Client: f.from.name, Nth: f.from.nth}
		if !f.req.atomic {
			m.Op = f.ops[f.places[0]]
		}
		if fault := s.world.Fault(m); fault != ByRate {
			return fault
		}
	}
	at := s.rng.Float64()
	for _, odds := range []struct {
		fault Fault
		rate  float64
	}{{Unsent, s.world.Unsent}, {Lost, s.world.Lost}, {Mute, s.world.Mute}, {Late, s.world.Late}} {
		if at -= odds.rate; at < 0 {
			return odds.fault
		}
	}
	return None
}

// apply carries out the next op of f on the store and returns its result.
func (s *Sim) apply(f *flight, how string) kv.Result {
	op := f.ops[f.places[0]]
	ops := []kv.Op{op}
	s.direct(ops)
	s.noteOp(f.from.name, &ops[0], how)
	return ops[0].Result
}

func (s *Sim) direct(ops []kv.Op) {
	// The results tell as much as the error.
	_ = s.mem.Do(context.Background(), ops)
}

// carryOut is how it goes when all is well.
func (s *Sim) carryOut(f *flight) {
	result := s.apply(f, "")
	place := f.places[0]
	f.places = f.places[1:]
	if len(f.places) == 0 {
		s.remove(f)
	}
	s.answer(f.req, place, result)
}

// land carries out the next op of a flight that nobody waits for any more. Its
// connection may break behind each op.
func (s *Sim) land(f *flight) {
	s.apply(f, "late: ")
	f.places = f.places[1:]
	if len(f.places) == 0 || s.chance(0.2) {
		s.remove(f)
	}
}

// linger leaves a copy of what is left of f in flight. Without a writing op
// there would be nothing to see of it.
func (s *Sim) linger(f *flight) {
	if f.req.atomic || !slices.ContainsFunc(f.places, func(i int) bool { return f.ops[i].Kind.Writes() }) {
		return
	}
	left := &flight{from: f.from, late: true}
	for i, place := range f.places {
		op := f.ops[place]
		op.Value, op.Unless, op.Result = bytes.Clone(op.Value), bytes.Clone(op.Unless), kv.Result{}
		left.ops, left.places = append(left.ops, op), append(left.places, i)
	}
	s.flights = append(s.flights, left)
}

// end answers what is left of f with errors: a Get with one, a write with the
// other.
func (s *Sim) end(f *flight, get, write error) {
	s.remove(f)
	for _, place := range f.places {
		op := f.ops[place]
		op.Result = kv.Result{Err: write}
		if !op.Kind.Writes() {
			op.Result.Err = get
		}
		s.noteOp(f.from.name, &op, "")
		s.answer(f.req, place, op.Result)
	}
}

// answer gives the op at place its result. With the last one Do returns.
func (s *Sim) answer(r *request, place int, result kv.Result) {
	r.ops[place].Result = result
	if r.left--; r.left > 0 {
		return
	}
	if s.chance(s.world.Slow) {
		r.slow = s.someTime()
	}
	close(r.done)
}

// begin lets an Atomic run. When all clients stand still again, it has ended,
// unless its function waits for time to pass.
func (s *Sim) begin(f *flight, fault Fault) {
	s.remove(f)
	switch {
	case fault == Unsent && s.chance(0.5):
		s.note(f.from.name, "atomic: not run")
		f.req.err = errUnsent
	case fault == Unsent:
		s.note(f.from.name, "atomic, not to be committed")
		f.req.commitErr = errUnsent
	case fault == Lost:
		s.note(f.from.name, "atomic, not to be committed, unclear")
		f.req.commitErr = errUnclear
	case fault == Mute || fault == Late:
		s.note(f.from.name, "atomic, to be committed, unclear")
		f.req.afterErr = errUnclear
	default:
		s.note(f.from.name, "atomic")
	}
	if f.req.err == nil {
		s.mu.Lock()
		s.transactions++
		s.mu.Unlock()
	}
	f.req.left = 0
	close(f.req.done)
}

func (s *Sim) remove(f *flight) {
	i := slices.Index(s.flights, f)
	s.flights = slices.Delete(s.flights, i, i+1)
}

// flightsOf returns what can be carried out of r.
func (s *Sim) flightsOf(r *request) []*flight {
	if r.atomic {
		return []*flight{{req: r, from: r.from}}
	}
	var places []int
	for i := range r.ops {
		if r.ops[i].Result.Err == nil {
			places = append(places, i)
		}
	}
	if s.world.Powers.Ordered {
		return []*flight{{req: r, from: r.from, ops: r.ops, places: places}}
	}
	flights := make([]*flight, len(places))
	for i := range places {
		flights[i] = &flight{req: r, from: r.from, ops: r.ops, places: places[i : i+1]}
	}
	return flights
}

// of returns the flights whose answers r waits for.
func (s *Sim) of(r *request) []*flight {
	var found []*flight
	for _, f := range s.flights {
		if f.req == r {
			found = append(found, f)
		}
	}
	return found
}

// expire answers r, whose context has ended: each flight was not yet sent, or
// is lost, or still on its way.
func (s *Sim) expire(r *request) {
	reason := r.ctx.Err()
	unavailable := fmt.Errorf("sim: %w: %w", kv.ErrUnavailable, reason)
	unclear := fmt.Errorf("sim: %w: %w", kv.ErrUnclear, reason)
	for _, f := range s.of(r) {
		if r.atomic {
			s.remove(f)
			r.err = unavailable
			close(r.done)
			continue
		}
		switch s.rng.IntN(3) {
		case 0:
			s.end(f, unavailable, unavailable)
		case 1:
			s.end(f, unavailable, unclear)
		default:
			s.linger(f)
			s.end(f, unavailable, unclear)
		}
	}
}

// crash ends p.
func (s *Sim) crash(p *process, why string) {
	if p.die() {
		s.bury(p)
		s.note(p.name, "crashes "+why)
	}
}

// bury takes what a crashed process waits for away from it. What is in flight
// lands or does not.
func (s *Sim) bury(p *process) {
	var lost []*request
	for _, f := range slices.Clone(s.flights) {
		if f.req == nil || f.from != p {
			continue
		}
		if s.chance(0.5) {
			s.linger(f)
		}
		s.remove(f)
		if !slices.Contains(lost, f.req) {
			lost = append(lost, f.req)
		}
	}
	// Only now: a Do that returns gives its ops back to the caller.
	for _, r := range lost {
		r.err = errCrashed
		close(r.done)
		synctest.Wait()
	}
}

func (s *Sim) crashSomebody() {
	if s.world.MaxCrashes > 0 && s.crashes >= s.world.MaxCrashes {
		return
	}
	var mortals []*process
	for _, p := range s.procs {
		if !p.spared && !p.crashed() {
			mortals = append(mortals, p)
		}
	}
	if len(mortals) > 0 {
		s.crashes++
		s.crash(mortals[s.rng.IntN(len(mortals))], "by chance")
	}
}

func (s *Sim) evictSomething() {
	if key, ok := s.someKey(s.world.Evictable, true); ok {
		s.Evict(key)
	}
}

func (s *Sim) setSomethingBack() {
	key, ok := s.someKey(s.world.Counters, false)
	if !ok {
		return
	}
	ops := []kv.Op{kv.OpGet(key)}
	s.direct(ops)
	if n, err := kv.ParseNumber(ops[0].Result.Value); err == nil && n > 0 {
		s.SetBack(key, s.rng.Int64N(n))
	}
}

// someKey returns one of the keys in the store that want chooses; without want
// all is one of any.
func (s *Sim) someKey(want func(string) bool, all bool) (string, bool) {
	keys := slices.DeleteFunc(s.mem.Keys(), func(key string) bool {
		return want == nil && !all || want != nil && !want(key)
	})
	if len(keys) == 0 {
		return "", false
	}
	slices.Sort(keys)
	return keys[s.rng.IntN(len(keys))], true
}

// sortRequests puts what clients did at the same moment in an order that does
// not depend on which goroutine was first.
func sortRequests(rs []*request) {
	if len(rs) < 2 {
		return
	}
	slices.SortStableFunc(rs, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.from.number, b.from.number), cmp.Compare(len(a.ops), len(b.ops)),
			slices.CompareFunc(a.ops, b.ops, compareOps))
	})
}

func compareOps(a, b kv.Op) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), bytes.Compare(a.Value, b.Value),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Delta, b.Delta))
}
