package kvtest

import (
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// World says what may happen in a simulation. The zero World is kind: every op
// is carried out and answered, and the seed decides only the order.
//
// The numbers are probabilities, from 0 to 1.
type World struct {
	// Powers is what the store can do beyond the contract. See NoPowers and
	// AllPowers.
	Powers Powers

	// For each op: what goes wrong with it. See Fault.
	Unsent, Lost, Mute, Late float64

	// Fault, if not nil, is asked about each op first.
	Fault func(Moment) Fault

	// For each step: a client that is not spared crashes; time passes, from a
	// millisecond to a minute; an item is evicted; a counter is set back.
	Crash, Pause, Evict, SetBack float64

	MaxCrashes int                   // at most so many crashes by chance; 0: no limit
	Evictable  func(key string) bool // which keys may be evicted; nil: all
	Counters   func(key string) bool // which keys may be set back; nil: none

	// Slow, for each trip: its client sleeps for up to a minute before it sees
	// the answers.
	Slow float64

	// Near has each process keep what it reads, as package nearkv does on Redis. It is told
	// of changes late.
	Near bool

	// Broken, if not nil, returns the store that the clients share, around the one it is given:
	// on a store that breaks a promise a test shows that it can fail. If that store is not
	// Ordered, clients with such Powers take it for one that is.
	Broken func(kv.Store) kv.Store

	// MaxSteps fails a simulation that takes more steps; 0 means 100,000.
	MaxSteps int
}

// keeps reports whether the store keeps what was read, as an embedded one does.
func (w World) keeps() bool { return w.Powers.Atomic && !w.Near }

func (w World) options() (opts memkv.Options) {
	if w.keeps() {
		opts.Cache = nearBytes
	}
	return opts
}

// Powers chooses the powers of a simulated store. With Again its Atomic runs every function
// twice; see [Twice].
type Powers struct{ Unless, Ordered, Atomic, Again bool }

// NoPowers is what memcached has, ServerPowers a Redis server, AllPowers an
// embedded store, and OptimisticPowers a server with optimistic transactions.
var (
	NoPowers         = Powers{}
	ServerPowers     = Powers{Unless: true, Ordered: true}
	AllPowers        = Powers{Unless: true, Ordered: true, Atomic: true}
	OptimisticPowers = Powers{Unless: true, Ordered: true, Atomic: true, Again: true}
)

// Hostile returns a world in which everything goes wrong that the contract allows
// short of lost data: timeouts of all kinds, crashes, pauses, slow clients.
func Hostile(p Powers) World {
	return World{
		Powers: p, Unsent: 0.02, Lost: 0.02, Mute: 0.02, Late: 0.04,
		Crash: 0.01, MaxCrashes: 1, Pause: 0.02, Slow: 0.02,
	}
}

// Fault is what happens to one op: see package kvfault.
type Fault = kvfault.Fault

// The faults of package kvfault.
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

// Moment is when an op is about to be carried out.
type Moment struct {
	Step   int
	Client string
	Nth    int   // which op of the client this is, from 1
	Op     kv.Op // the zero Op for an Atomic, for which Late is Mute, or a step of a Walk
}
