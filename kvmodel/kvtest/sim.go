package kvtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Sim is a store with simulated clients, one of which runs at a time. Whenever all of them wait for
// the store or for time to pass, a scheduler lets one event happen, chosen by the seed. The clients
// run production code; time is that of testing/synctest and costs nothing.
//
// A seed always gives the same run if the code under test keeps three rules:
//
//   - it holds no mutex across a call of Do (that would hang, not fail);
//   - its randomness comes from crypto/rand, which is seeded here, and not from math/rand, the
//     order of a map or a select with two ready cases;
//   - the actions of its goroutines at one moment do not depend on their order.
//
// Call its methods only from the test's own goroutine. The stores may be used from any.
type Sim struct {
	t     *testing.T
	seed  uint64
	world World
	rng   *rand.Rand
	mem   *memkv.Store
	store kv.Store // mem, or the result of World.Broken
	began time.Time

	procs   []*process
	flights []*flight
	step    int

	crashes int
	stirred chan struct{}

	mu           sync.Mutex // guards the fields below, which clients change
	arrivals     []*request
	expired      []*request
	running      int
	transactions int
	trace        trace
}

// Simulate runs test in a simulation, and prints the seed and the end of the trace if it fails.
// Processes that still run when test returns are crashed. It seeds crypto/rand, so it cannot be
// used in parallel tests.
func Simulate(t *testing.T, seed uint64, world World, test func(*Sim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed)
		s := &Sim{
			t: t, seed: seed, world: world, rng: rand.New(rand.NewPCG(seed, 1)), began: time.Now(),
			mem: memkv.New(world.options()), stirred: make(chan struct{}, 1),
		}
		s.store = s.mem
		if world.Broken != nil {
			s.store = world.Broken(s.mem)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("seed %d, after %d steps (RINGTREE_SEED=%d runs it alone); the end of the trace:\n%s", seed, s.step, seed, s.trace.tail(60))
			}
		})
		// Deferred, since test may call Fatal.
		defer s.stop()
		test(s)
	})
}

// SimulateMany runs test under n seeds, and stops at the first failure. In the environment,
// RINGTREE_SEED=7 runs that seed alone, RINGTREE_SEEDS=1000 runs that many, and RINGTREE_NEAR=1
// sets Near in the world.
func SimulateMany(t *testing.T, n int, world World, test func(*Sim)) {
	t.Helper()
	first, n := seeds(t, n)
	world.Near = world.Near || os.Getenv("RINGTREE_NEAR") == "1"
	for seed := first; seed < first+uint64(n); seed++ {
		Simulate(t, seed, world, test)
	}
}

func seeds(t testing.TB, n int) (uint64, int) {
	t.Helper()
	number := func(name string, otherwise uint64) uint64 {
		text, ok := os.LookupEnv(name)
		if !ok {
			return otherwise
		}
		value, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			t.Fatalf("%s=%s: %v", name, text, err)
		}
		return value
	}
	if _, ok := os.LookupEnv("RINGTREE_SEED"); ok {
		return number("RINGTREE_SEED", 0), 1
	}
	return 1, int(number("RINGTREE_SEEDS", uint64(n)))
}

// T returns the test that runs in the simulation.
func (s *Sim) T() *testing.T { return s.t }

// Seed returns the seed of the run.
func (s *Sim) Seed() uint64 { return s.seed }

// Rand returns the simulation's random source.
func (s *Sim) Rand() *rand.Rand { return s.rng }

// Step returns the number of steps so far.
func (s *Sim) Step() int { return s.step }

// Store returns the underlying store, without faults and scheduling.
func (s *Sim) Store() *memkv.Store { return s.mem }

// Still returns the underlying store as a client. It has no power, except for Walk if the others
// have Atomic. Close does nothing.
func (s *Sim) Still() kv.Store {
	if s.world.Powers.Atomic {
		return still{s.mem, kv.Powers{Walk: s.mem.Powers().Walk}}
	}
	return still{s.mem, kv.Powers{}}
}

type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }
func (s still) Close() error      { return nil }

// Trace returns the events so far, one line each.
func (s *Sim) Trace() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace.lines()
}

// Go starts f as a part of the process called name, and returns when f first waits. All parts of a
// process crash together.
func (s *Sim) Go(name string, f func(kv.Store)) {
	p := s.process(name)
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	go func() {
		defer s.returned()
		f(p.client())
	}()
	synctest.Wait()
	// So tickers of different processes never tick at the same moment.
	time.Sleep(time.Duration(100 + 7*len(s.procs)))
}

func (s *Sim) returned() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.stir()
}

func (s *Sim) Do(name string, f func(kv.Store)) {
	var returned atomic.Bool
	s.Go(name, func(store kv.Store) {
		defer returned.Store(true)
		f(store)
	})
	s.until(returned.Load)
}

// Client returns the client of the process called name.
func (s *Sim) Client(name string) kv.Store { return s.process(name).client() }

// Wait runs steps until every function started by Go has returned and nothing is in flight.
func (s *Sim) Wait() {
	s.until(func() bool { return s.unfinished() == 0 && s.quiet() })
	s.tellAll()
}

// Quiet runs steps until nothing is in flight, not even ops that timed out. Clients may still be
// waiting for time to pass.
func (s *Sim) Quiet() {
	s.until(s.quiet)
	s.tellAll()
}

// Run runs steps until d has passed in the simulation, or all clients have returned.
func (s *Sim) Run(d time.Duration) {
	end := time.Now().Add(d)
	timer := time.AfterFunc(d, s.stir)
	defer timer.Stop()
	s.until(func() bool { return !time.Now().Before(end) || s.unfinished() == 0 && s.quiet() })
}

// Steps runs up to n steps, fewer if all clients have returned.
func (s *Sim) Steps(n int) {
	end := s.step + n
	s.until(func() bool { return s.step >= end || s.unfinished() == 0 && s.quiet() })
}

func (s *Sim) quiet() bool { return len(s.flights) == 0 && !s.inTransaction() }

func (s *Sim) unfinished() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

func (s *Sim) inTransaction() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transactions > 0
}

// Crash ends the process called name: it sends nothing more, its ops in flight may or may not be
// carried out, and its calls return ErrCrashed.
func (s *Sim) Crash(name string) { s.crash(s.process(name), "by the test") }

// CrashAt crashes the process called name before the given step.
func (s *Sim) CrashAt(name string, step int) { s.process(name).crashStep = step }

// Spare keeps the process called name from crashing by chance.
func (s *Sim) Spare(name string) { s.process(name).spared = true }

// Crashed reports whether the process called name has crashed.
func (s *Sim) Crashed(name string) bool { return s.process(name).crashed() }

// Sleep stops the process called name for d, like SIGSTOP: an op that it has not sent is carried
// out when it wakes, and it sees answers only then. Its deadlines pass all the same.
func (s *Sim) Sleep(name string, d time.Duration) {
	p := s.process(name)
	for _, f := range s.flights {
		if f.req != nil && f.from == p {
			f.sent = s.chance(0.5)
		}
	}
	p.sleep(d)
	s.note(name, fmt.Sprintf("sleeps for %v", d))
	time.AfterFunc(d, s.stir)
}

// Evict drops items without a trace.
func (s *Sim) Evict(keys ...string) {
	s.mem.Evict(keys...)
	for _, key := range keys {
		s.changed(key)
	}
	s.note("", fmt.Sprintf("evicted %q", keys))
}

// SetBack lowers the number under key to n, as if a server had lost its last writes.
func (s *Sim) SetBack(key string, n int64) {
	ops := []kv.Op{kv.OpGet(key)}
	s.direct(ops)
	if old, err := kv.ParseNumber(ops[0].Result.Value); ops[0].Result.Err != nil || err != nil || old <= n {
		return
	}
	s.direct([]kv.Op{kv.OpSet(key, strconv.AppendInt(nil, n, 10))})
	s.changed(key)
	s.note("", fmt.Sprintf("set back %q to %d", key, n))
}

func (s *Sim) process(name string) *process {
	for _, p := range s.procs {
		if p.name == name {
			return p
		}
	}
	p := &process{sim: s, name: name, number: len(s.procs)}
	p.drawSpeed(s.rng)
	s.procs = append(s.procs, p)
	return p
}

type trace []event

type event struct {
	step int
	at   time.Duration
	who  string
	text string
	op   kv.Op // with its value cut short
	size int   // of its value
}

func (s *Sim) note(who, text string) { s.record(event{who: who, text: text}) }

func (s *Sim) noteOp(who string, op *kv.Op, how string) {
	e := event{who: who, text: how, op: *op, size: len(op.Value)}
	e.op.Value, e.op.Result.Value = short(op.Value), short(op.Result.Value)
	s.record(e)
}

func (s *Sim) record(e event) {
	e.step, e.at = s.step, time.Since(s.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, e)
}

func short(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append([]byte{}, value[:min(len(value), optest.Shown)]...)
}

func (e event) String() string {
	line := fmt.Sprintf("%5d %12v  %-8s %s", e.step, e.at, e.who, e.text)
	if e.op.Kind == 0 {
		return line
	}
	return line + optest.ShowCut(e.op, e.size) + " -> " + optest.ShowAnswer(e.op)
}

func (t trace) lines() []string {
	lines := make([]string, len(t))
	for i, e := range t {
		lines[i] = e.String()
	}
	return lines
}

func (t trace) tail(n int) string {
	return strings.Join(t[max(0, len(t)-n):].lines(), "\n")
}

// World configures the faults of a simulation, by probabilities from 0 to 1. In the zero World
// every op is carried out and answered, and the seed determines only the order.
type World struct {
	// Powers are the powers of the store beyond the contract.
	Powers Powers

	// For each op: its fault.
	Unsent, Lost, Mute, Late float64

	// Fault, if not nil, is asked about each op first.
	Fault func(Moment) Fault

	// For each step: a client that is not spared crashes; time passes, from a millisecond to a
	// minute; an item is evicted; a counter is set back.
	Crash, Pause, Evict, SetBack float64

	MaxCrashes int
	Evictable  func(key string) bool // keys that may be evicted; nil: all
	Counters   func(key string) bool // keys that may be set back; nil: none

	// Slow, for each trip: its client sleeps for up to a minute before it sees the answers.
	Slow float64

	// Near gives each process a read cache, like package nearkv on Redis, with late reports of
	// changes.
	Near bool

	// Broken, if not nil, wraps the clients' store in one that breaks a promise, for tests that
	// must detect that. If it is not Ordered, clients with such Powers believe that it is.
	Broken func(kv.Store) kv.Store

	// MaxSteps is the maximum number of steps before the simulation fails; 0 means 100,000.
	MaxSteps int
}

func (w World) keeps() bool { return w.Powers.Atomic && !w.Near }

func (w World) options() (opts memkv.Options) {
	if w.keeps() {
		opts.Cache = nearBytes
	}
	return opts
}

// Powers selects the powers of a simulated store. Again: see [Twice].
type Powers struct{ Unless, Ordered, Atomic, Again bool }

// The powers of memcached, a Redis server, an embedded store, and a server with optimistic
// transactions.
var (
	NoPowers         = Powers{}
	ServerPowers     = Powers{Unless: true, Ordered: true}
	AllPowers        = Powers{Unless: true, Ordered: true, Atomic: true}
	OptimisticPowers = Powers{Unless: true, Ordered: true, Atomic: true, Again: true}
)

// Hostile returns a world with every fault that the contract allows short of lost data.
func Hostile(p Powers) World {
	return World{
		Powers: p, Unsent: 0.02, Lost: 0.02, Mute: 0.02, Late: 0.04,
		Crash: 0.01, MaxCrashes: 1, Pause: 0.02, Slow: 0.02,
	}
}

// Fault is what happens to one op.
type Fault = kvfault.Fault

const (
	ByRate = kvfault.ByRate
	None   = kvfault.None
	Unsent = kvfault.Unsent
	Lost   = kvfault.Lost
	Mute   = kvfault.Mute
	Late   = kvfault.Late
	Full   = kvfault.Full
)

// Faulty is [kvfault.Faulty].
func Faulty(s kv.Store, n int, fault Fault) kv.Store { return kvfault.Faulty(s, n, fault) }

// Moment describes an op about to be carried out.
type Moment struct {
	Step   int
	Client string
	Nth    int   // number of the client's op, from 1
	Op     kv.Op // the zero Op for an Atomic, with Late the same as Mute, or a step of a Walk
}
