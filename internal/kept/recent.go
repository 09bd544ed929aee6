package kept

import (
	"cmp"
	"sync"
)

// Recent is a map that forgets values not used recently. A forgotten value must cost a trip, never
// an answer. The zero Recent is ready for use.
type Recent[K comparable, V any] struct {
	// Limit is the weight of the values put in since the oldest were forgotten; twice as much may be
	// kept. 0: 8,192.
	Limit int

	mu         sync.Mutex // never held during a trip
	young, old map[K]recent[K, V]
	weight     int // put into young
}

type recent[K comparable, V any] struct {
	key    K // as put: that of a Get may be part of a long text
	value  V
	weight int
}

const recentLimit = 1 << 13

// Get returns the value of key, which now counts as used.
func (r *Recent[K, V]) Get(key K) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.get(key)
	return e.value, ok
}

// GetOr is Get, and puts the result of create if there is no value.
func (r *Recent[K, V]) GetOr(key K, create func() V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.get(key)
	if !ok {
		e = recent[K, V]{key, create(), 1}
		r.put(e)
	}
	return e.value
}

// Put keeps the value of key, instead of an earlier one.
func (r *Recent[K, V]) Put(key K, v V, weight int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(recent[K, V]{key, v, weight})
}

// Drop forgets the value of key.
func (r *Recent[K, V]) Drop(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}

func (r *Recent[K, V]) get(key K) (e recent[K, V], ok bool) {
	if e, ok = r.young[key]; ok {
		return e, true
	}
	if e, ok = r.old[key]; ok {
		r.put(e)
	}
	return e, ok
}

func (r *Recent[K, V]) put(e recent[K, V]) {
	if r.young == nil || r.weight >= cmp.Or(r.Limit, recentLimit) {
		r.young, r.old, r.weight = make(map[K]recent[K, V]), r.young, 0
	}
	r.weight += e.weight - r.young[e.key].weight
	r.young[e.key] = e
}
