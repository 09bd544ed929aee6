package plug

import (
	"maps"
	"slices"
	"sync"
)

// Places is a set of places, such as those met in a rebuild.
type Places struct {
	mu  sync.Mutex // never held during a trip
	all map[string]bool
}

// Note adds some to the set.
func (p *Places) Note(some []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = make(map[string]bool)
	}
	for _, place := range some {
		p.all[place] = true
	}
}

// Take removes all places and returns them, sorted.
func (p *Places) Take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Sorted(maps.Keys(p.all))
	p.all = nil
	return all
}
