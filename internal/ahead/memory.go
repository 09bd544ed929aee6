// Package ahead lets a read of a listing fetch, in its first trip, the records that the last such
// read led to.
package ahead

import (
	"slices"
	"sync"
)

// Memory remembers the keys of the records that each look at a listing led to. They are hints. The
// zero value is ready to use.
type Memory struct {
	mu         sync.Mutex // never held during a trip
	young, old map[Look][]string
	size       int // keys and looks in young
}

// Look is a read of n records of a listing.
type Look struct {
	Listing string
	N       int
}

const (
	remembered = 1 << 15 // young looks and keys; old ones add as many
	mostOfLook = 512
)

func (m *Memory) recall(l Look) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, ok := m.young[l]
	if !ok {
		if keys, ok = m.old[l]; ok {
			m.put(l, keys)
		}
	}
	return keys
}

// remember retains keys.
func (m *Memory) remember(l Look, keys []string) {
	keys = keys[:min(len(keys), mostOfLook)]
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.young[l]; !ok || !slices.Equal(was, keys) {
		m.put(l, keys)
	}
}

// put requires mu.
func (m *Memory) put(l Look, keys []string) {
	was, ok := m.young[l]
	if !ok {
		m.size++
	}
	m.size += len(keys) - len(was)
	if m.young == nil || m.size > remembered {
		m.young, m.old = make(map[Look][]string), m.young
		m.size = 1 + len(keys)
	}
	m.young[l] = keys
}
