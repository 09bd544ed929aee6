package kvtest

import (
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
