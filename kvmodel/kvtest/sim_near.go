package kvtest

import (
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// nearBytes is the size of the near cache of a simulated process, small enough to evict items.
const nearBytes = 1 << 20

// near reports changes to a process of a world with Near: late, but before it sees an answer of the
// store that may be newer, as Redis does.
type near struct {
	store *nearkv.Store

	mu     sync.Mutex
	tells  []func(keys []string)
	untold []string
}

// nearTo returns a store that caches the reads of p.
func nearTo(p *process) kv.Store {
	p.near = new(near)
	s, err := nearkv.New(p, nearkv.Options{Bytes: nearBytes})
	if err != nil {
		p.sim.t.Fatal(err)
	}
	p.near.store = s
	return s
}

// client returns the store for the code of p.
func (p *process) client() kv.Store {
	switch {
	case !p.sim.world.Near:
		return p
	case p.near == nil:
		return nearTo(p)
	}
	return p.near.store
}

// Tell registers f to be called with changed keys.
func (n *near) Tell(f func(keys []string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tells = append(n.tells, f)
}

// Current reports true: changes not yet reported are recent.
func (n *near) Current() bool { return true }

// Announce returns false: keys are not announced.
func (n *near) Announce(func(keys []string)) bool { return false }

// Announcing returns false.
func (n *near) Announcing() bool { return false }

// tell reports the pending changes.
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

// changed records a change of key. Some processes are notified at once.
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

// tellAll notifies all processes.
func (s *Sim) tellAll() {
	for _, p := range s.procs {
		if p.near != nil {
			p.near.tell()
		}
	}
}
