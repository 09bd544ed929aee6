package kvtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// ErrCrashed is returned by the calls of a crashed process, along with ErrUnavailable. A real
// process would see no answer, so a test must not take it for one.
var ErrCrashed = errors.New("the process has crashed")

var (
	errCrashed = fmt.Errorf("sim: %w: %w", kv.ErrUnavailable, ErrCrashed)
	errClosed  = fmt.Errorf("sim: %w: the store is closed", kv.ErrUnavailable)
	errFull    = fmt.Errorf("sim: %w: the store is full", kv.ErrUnavailable)
	errUnsent  = fmt.Errorf("sim: %w: not sent", kv.ErrUnavailable)
	errUnread  = fmt.Errorf("sim: %w: no answer", kv.ErrUnavailable)
	errUnclear = fmt.Errorf("sim: %w: no answer", kv.ErrUnclear)
)

type process struct {
	sim    *Sim
	name   string
	number int

	// Used only by the scheduler:
	near      *near   // nil: a world without Near
	speed     float64 // weight in the choice of flights
	nth       int
	crashStep int
	spared    bool

	mu       sync.Mutex
	dead     bool
	closed   bool
	hopeless int
	wakes    time.Time
	sleepers int
}

var _ kv.Store = (*process)(nil)

type request struct {
	from *process
	ctx  context.Context
	ops  []kv.Op
	left int           // ops without an answer
	slow time.Duration // delay before the client sees the answers
	done chan struct{}

	// For Atomic; it does not run if err is set:
	atomic    bool
	full      bool // it is not committed if it stores a value
	err       error
	commitErr error // why it is not committed
	afterErr  error // returned although it is committed
}

func (p *process) Do(ctx context.Context, ops []kv.Op) error {
	good := kv.Check(ops, p.Powers())
	if good == 0 {
		return nil
	}
	if err := p.gone(ctx); err != nil {
		return kv.Fail(ops, err)
	}
	p.sim.await(&request{from: p, ctx: ctx, ops: ops, left: good, done: make(chan struct{})})
	if p.crashed() {
		// A crashed process sees no answers.
		for i := range ops {
			ops[i].Result = kv.Result{Err: errCrashed}
		}
	}
	return kv.Unanswered(ops)
}

func (p *process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

func (p *process) Powers() kv.Powers {
	given := p.sim.world.Powers
	powers := kv.Powers{Unless: given.Unless, Ordered: given.Ordered, Near: p.sim.world.keeps()}
	if given.Atomic {
		powers.Atomic, powers.Walk = p.atomic, p.walk
	}
	if given.Again {
		powers.Atomic = twice(p.atomic)
	}
	if p.near != nil {
		powers.Changes = p.near
	}
	return powers
}

func (p *process) gone(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		if p.hopeless++; p.hopeless > 10_000 {
			panic("kvtest: process " + p.name + " goes on calling the store after its crash")
		}
		return errCrashed
	case p.closed:
		return errClosed
	case ctx.Err() != nil:
		return fmt.Errorf("sim: %w: %w", kv.ErrUnavailable, ctx.Err())
	}
	return nil
}

func (p *process) crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) die() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.dead
	p.dead = true
	return !was
}

func (p *process) drawSpeed(rng *rand.Rand) {
	speeds := [...]float64{1, 1, 1, 4, 0.25, 0.02}
	p.speed = speeds[rng.IntN(len(speeds))]
}

func (s *Sim) await(r *request) {
	s.hand(&s.arrivals, r)
	select {
	case <-r.done:
	case <-r.ctx.Done():
		s.hand(&s.expired, r)
		<-r.done
	}
	if r.slow > 0 {
		time.Sleep(r.slow)
	}
	r.from.rest()
}

func (s *Sim) hand(to *[]*request, r *request) {
	s.mu.Lock()
	*to = append(*to, r)
	s.mu.Unlock()
	s.stir()
}

func (s *Sim) stir() {
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}

func (p *process) sleep(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakes, p.sleepers = time.Now().Add(d), 0
}

func (p *process) asleep() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.dead && time.Now().Before(p.wakes)
}

// rest returns when the process is awake. Calls return one after another, since they may draw from
// crypto/rand.
func (p *process) rest() {
	for p.asleep() {
		p.mu.Lock()
		p.sleepers++
		left := time.Until(p.wakes) + time.Duration(1000*p.sleepers+p.number)
		p.mu.Unlock()
		time.Sleep(left)
	}
}

// nearBytes is small enough to evict items.
const nearBytes = 1 << 20

// near reports changes to a process: late, but before it sees an answer of the store that may be
// newer, as Redis does.
type near struct {
	store *nearkv.Store

	mu     sync.Mutex
	tells  []func(keys []string)
	untold []string
}

func nearTo(p *process) kv.Store {
	p.near = new(near)
	s, err := nearkv.New(p, nearkv.Options{Bytes: nearBytes})
	if err != nil {
		p.sim.t.Fatal(err)
	}
	p.near.store = s
	return s
}

func (p *process) client() kv.Store {
	switch {
	case !p.sim.world.Near:
		return p
	case p.near == nil:
		return nearTo(p)
	}
	return p.near.store
}

func (n *near) Tell(f func(keys []string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tells = append(n.tells, f)
}

func (n *near) Current() bool { return true }

func (n *near) Announce(func(keys []string)) bool { return false }

func (n *near) Announcing() bool { return false }

func (n *near) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.untold) == 0 {
		return
	}
	for _, f := range n.tells {
		f(n.untold)
	}
	n.untold = nil
}

// changed notifies some processes at once.
func (s *Sim) changed(key string) {
	if !s.world.Near {
		return
	}
	for _, p := range s.procs {
		if p.near == nil {
			continue
		}
		p.near.mu.Lock()
		p.near.untold = append(p.near.untold, key)
		p.near.mu.Unlock()
		if s.chance(0.5) {
			p.near.tell()
		}
	}
}

func (s *Sim) tellAll() {
	for _, p := range s.procs {
		if p.near != nil {
			p.near.tell()
		}
	}
}
