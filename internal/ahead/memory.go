package ahead

import (
	"slices"
	"sync"
)

// Memory remembers, for the listings of one index, which keys the last look has read once
// it knew what is on the page. It is a hint: what is read by it is checked like anything
// else. Its zero value is ready to use.
type Memory struct {
	mu         sync.Mutex // never held during a trip
	young, old map[Look][]string
	size       int // of young: its keys and looks
}

// Look is what was looked at: so many records of a listing.
type Look struct {
	Listing string
	N       int
}

const (
	// remembered is how many looks and keys are remembered, and then as many again of
	// those that were looked at before.
	remembered = 1 << 15

	// mostOfLook is how many keys of one look are.
	mostOfLook = 512
)

// recall returns the keys that remember was given last, none if that was long ago.
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

// remember notes the keys that a look has read. It keeps keys.
func (m *Memory) remember(l Look, keys []string) {
	keys = keys[:min(len(keys), mostOfLook)]
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.young[l]; !ok || !slices.Equal(was, keys) {
		m.put(l, keys)
	}
}

// put puts keys into the young memory. The caller holds the lock.
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
