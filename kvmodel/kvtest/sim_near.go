package kvtest

import (
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// nearBytes is how much the near cache of a simulated process holds. It is little, so that
// items have to go.
const nearBytes = 1 << 20

// near is what a process of a world with Near is told of changes: late, but before it sees
// an answer of the store that may be newer, and so as Redis tells it.
type near struct {
	store *nearkv.Store

	mu     sync.Mutex
	tells  []func(keys []string)
	untold []string
}

// nearTo returns a store that keeps what p has read.
func nearTo(p *process) kv.Store {
	p.near = new(near)
	s, err := nearkv.New(p, nearkv.Options{Bytes: nearBytes})
	if err != nil {
		p.sim.t.Fatal(err)
	}
	p.near.store = s
	return s
}

// client returns the store as the code of p sees it.
func (p *process) client() kv.Store {
	switch {
	case !p.sim.world.Near:
		return p
	case p.near == nil:
		return nearTo(p)
	}
	return p.near.store
}

// Tell makes f be called with keys that have changed.
func (n *near) Tell(f func(keys []string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tells = append(n.tells, f)
}

// Current reports true: what is not told yet has changed a moment ago.
func (n *near) Current() bool { return true }

// Announce returns false: nothing is announced.
func (n *near) Announce(func(keys []string)) bool { return false }

// Announcing returns false.
func (n *near) Announcing() bool { return false }

// tell tells what was not told yet.
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

// changed notes that the item under key has changed. Some processes are told at once.
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

// tellAll tells all processes what has changed.
func (s *Sim) tellAll() {
	for _, p := range s.procs {
		if p.near != nil {
			p.near.tell()
		}
	}
}
