package kvtest

import (
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

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
