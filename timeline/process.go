package timeline

import (
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// process holds a process's data about the lanes of one index: the database, and the knowledge of
// each lane.
type process struct {
	db      plug.DB
	atomic  bool // a change is one transaction, so its numbers may be rolled back
	sparing bool // entries are large, so readers read only as many as they must

	mu         sync.Mutex // never held during a trip
	young, old map[string]*knowledge

	decoded decoded
}

// remembered is the minimum number of lanes that a process remembers.
const remembered = 1 << 13

func newProcess(db plug.DB) *process {
	return &process{
		db: db, atomic: kv.PowersOf(db.Store()).Atomic != nil,
		young: make(map[string]*knowledge),
	}
}

// recall returns the knowledge of the lane with the prefix base.
func (p *process) recall(base string) *knowledge {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.young[base]
	if k != nil {
		return k
	}
	if k = p.old[base]; k == nil {
		k = new(knowledge)
	}
	if len(p.young) >= remembered {
		p.young, p.old = make(map[string]*knowledge), p.young
	}
	p.young[base] = k
	return k
}

// knowledge is a process's knowledge of a lane, mainly the highest number, which is never lowered.
// It is a hint for readers, and shows writers that a counter went back.
type knowledge struct {
	highest atomic.Int64
	met     atomic.Bool
	stale   atomic.Int64 // number of entries that recent pages passed per ten records
	trimmed atomic.Int64 // first stamp of the last block whose segment has no older blocks
}

// top returns the highest known number, or 0.
func (k *knowledge) top() int64 { return k.highest.Load() }

// learn notes that n was handed out.
func (k *knowledge) learn(n int64) {
	for {
		old := k.highest.Load()
		if n <= old || k.highest.CompareAndSwap(old, n) {
			return
		}
	}
}

// meet returns the highest known number. first reports whether this is the process's first use of
// the lane: then the caller should read its entries.
func (k *knowledge) meet() (top int64, first bool) {
	first = !k.met.Load() && k.met.CompareAndSwap(false, true)
	return k.top(), first
}

// forget makes the next call of meet the first again.
func (k *knowledge) forget() { k.met.Store(false) }
