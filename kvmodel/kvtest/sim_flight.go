package kvtest

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// flight is a queue of ops. A step carries out the next: a single op, one Atomic, or, if the store
// is ordered, the rest of one Do.
type flight struct {
	req    *request // nil: no caller waits for the answers
	from   *process
	ops    []kv.Op // of req; copies if req is nil
	places []int   // indexes of the remaining ops, the next one first
	chains *kv.Chains
	late   bool
	sent   bool // before its process fell asleep
}

func (f *flight) held() bool { return f.req != nil && !f.sent && f.from.asleep() }

func (f *flight) speed() float64 {
	if f.late {
		return lateSpeed
	}
	return f.from.speed
}

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
	if s.world.Powers.Ordered && kv.PowersOf(s.store).Ordered {
		return []*flight{{req: r, from: r.from, ops: r.ops, places: places, chains: new(kv.Chains)}}
	}
	flights := make([]*flight, len(places))
	for i := range places {
		flights[i] = &flight{req: r, from: r.from, ops: r.ops, places: places[i : i+1], chains: new(kv.Chains)}
	}
	return flights
}

func (s *Sim) of(r *request) []*flight {
	var found []*flight
	for _, f := range s.flights {
		if f.req == r {
			found = append(found, f)
		}
	}
	return found
}

// advance carries out the next op of f, or lets it fail. If an op of an ordered flight fails, the
// later ones fail in the same way.
func (s *Sim) advance(f *flight) {
	switch fault := s.fault(f); {
	case f.req != nil && f.req.atomic:
		s.begin(f, fault)
	case fault == Unsent:
		s.end(f, errUnsent, errUnsent)
	case fault.Stops(f.ops[f.places[0]].Kind):
		s.end(f, errFull, errFull)
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

func (s *Sim) carryOut(f *flight) {
	result := s.apply(f, "")
	place := f.places[0]
	f.places = f.places[1:]
	if len(f.places) == 0 {
		s.remove(f)
	}
	s.answer(f.req, place, result)
}

func (s *Sim) apply(f *flight, how string) kv.Result {
	op := f.ops[f.places[0]]
	ops := []kv.Op{op}
	if !f.chains.Skips(&ops[0]) {
		ops[0].Chain = 0
		_ = s.store.Do(context.Background(), ops)
		ops[0].Chain = op.Chain
		if op.Kind.Writes() {
			s.changed(op.Key)
		}
	}
	f.chains.Note(&ops[0])
	s.noteOp(f.from.name, &ops[0], how)
	return ops[0].Result
}

func (s *Sim) direct(ops []kv.Op) {
	_ = s.mem.Do(context.Background(), ops)
}

// land carries out the next op of a flight whose caller has gone. The connection may break after
// it.
func (s *Sim) land(f *flight) {
	s.apply(f, "late: ")
	f.places = f.places[1:]
	if len(f.places) == 0 || s.chance(0.2) {
		s.remove(f)
	}
}

// linger leaves a copy of the rest of f in flight, if it writes anything.
func (s *Sim) linger(f *flight) {
	if f.req.atomic || !slices.ContainsFunc(f.places, func(i int) bool { return f.ops[i].Kind.Writes() }) {
		return
	}
	left := &flight{from: f.from, late: true, chains: f.chains}
	for i, place := range f.places {
		op := f.ops[place]
		op.Value, op.Unless, op.Result = bytes.Clone(op.Value), bytes.Clone(op.Unless), kv.Result{}
		left.ops, left.places = append(left.ops, op), append(left.places, i)
	}
	s.flights = append(s.flights, left)
}

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

func (s *Sim) answer(r *request, place int, result kv.Result) {
	r.ops[place].Result = result
	if r.left--; r.left > 0 {
		return
	}
	if s.chance(s.world.Slow) {
		r.slow = s.someTime()
	}
	if r.from.near != nil {
		r.from.near.tell()
	}
	close(r.done)
}

// begin lets an Atomic run. It has ended when all clients stand still, unless it waits for time to
// pass.
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
	case fault == Full:
		s.note(f.from.name, "atomic, to be committed if it stores nothing")
		f.req.full = true
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

func (p *process) atomic(ctx context.Context, f func(kv.Store) error) error {
	r, err := p.turn(ctx)
	if err != nil {
		return err
	}
	defer p.sim.transactionEnded()
	var wrote []string
	err = kv.PowersOf(p.sim.store).Atomic(ctx, func(mem kv.Store) error {
		in := &inside{process: p, mem: mem}
		err := f(in)
		wrote = in.wrote
		switch {
		case p.crashed():
			return errCrashed
		case err == nil && r.full && in.stores:
			return errFull
		case err == nil:
			return r.commitErr
		}
		return err
	})
	for _, key := range wrote {
		p.sim.changed(key)
	}
	if err == nil {
		return r.afterErr
	}
	return err
}

func (p *process) turn(ctx context.Context) (*request, error) {
	if err := p.gone(ctx); err != nil {
		return nil, err
	}
	r := &request{from: p, ctx: ctx, left: 1, atomic: true, done: make(chan struct{})}
	p.sim.await(r)
	return r, r.err
}

const walkedAtOnce = 3

func (p *process) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	for {
		r, err := p.turn(ctx)
		if err != nil {
			return err
		}
		keys := slices.DeleteFunc(p.sim.mem.Keys(), func(key string) bool { return !strings.HasPrefix(key, begin) || key <= after })
		p.sim.transactionEnded()
		switch {
		case p.crashed():
			return errCrashed
		case r.commitErr != nil || r.afterErr != nil:
			return errUnread
		case len(keys) == 0:
			return nil
		}
		keys = keys[:min(len(keys), walkedAtOnce)]
		if err := f(keys); err != nil {
			return err
		}
		after = keys[len(keys)-1]
	}
}

type inside struct {
	*process
	mem    kv.Store
	stores bool // it has stored a value
	wrote  []string
}

func (in *inside) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, in.Powers()) == 0 {
		return nil
	}
	if in.crashed() {
		return kv.Fail(ops, errCrashed)
	}
	err := in.mem.Do(ctx, ops)
	for i := range ops {
		in.stores = in.stores || Full.Stops(ops[i].Kind)
		if ops[i].Kind.Writes() {
			in.wrote = append(in.wrote, ops[i].Key)
		}
		in.sim.noteOp(in.name, &ops[i], "atomically ")
	}
	return err
}

func (in *inside) Close() error { return nil }

func (in *inside) Powers() kv.Powers { return kv.PowersOf(in.mem) }

func (s *Sim) transactionEnded() {
	s.mu.Lock()
	s.transactions--
	s.mu.Unlock()
	s.stir()
}
