package ahead

import (
	"context"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Store is the store of one look, for one goroutine. With its first trip it also reads what
// the last such look has read in later ones, and so may save these: a get of what the first
// has read is answered by that, once.
//
// What a look leads to is then read in the trip of what leads there, in no order, or before
// it, and not after it.
type Store struct {
	kv.Store
	memory *Memory
	look   Look
	trips  int

	keys    []string // that are read with the first trip
	results []kv.Result
	taken   int      // how many of results were asked for
	at      int      // in keys, behind the last that was asked for
	later   []string // what later trips have asked for
}

// Store returns s for a look l.
func (m *Memory) Store(s kv.Store, l Look) *Store {
	return &Store{Store: s, memory: m, look: l, keys: m.recall(l)}
}

// Powers returns those of the store underneath.
func (s *Store) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Do carries out ops.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if len(ops) == 0 {
		return nil
	}
	s.trips++
	switch {
	case s.trips == 1 && len(s.keys) > 0:
		return s.first(ctx, ops)
	case s.trips > 1 && readsOnly(ops):
		return s.rest(ctx, ops)
	}
	return s.Store.Do(ctx, ops)
}

func readsOnly(ops []kv.Op) bool {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			return false
		}
	}
	return true
}

// trips holds slices of ops to use again.
var trips = sync.Pool{New: func() any { return new([]kv.Op) }}

// first carries out ops and the gets of the keys. What becomes of these is no error of ops.
func (s *Store) first(ctx context.Context, ops []kv.Op) error {
	space := trips.Get().(*[]kv.Op)
	defer trips.Put(space)
	all := append((*space)[:0], ops...)
	for _, key := range s.keys {
		all = append(all, kv.OpGet(key))
	}
	_ = s.Store.Do(ctx, all) // Each op has its own result.
	for i := range ops {
		ops[i].Result = all[i].Result
	}
	s.results = make([]kv.Result, len(s.keys))
	for i := range s.keys {
		s.results[i] = all[len(ops)+i].Result
	}
	clear(all)
	*space = all
	return kv.Unanswered(ops)
}

// rest answers the gets ops by what the first trip has read, and asks for what it has not.
func (s *Store) rest(ctx context.Context, ops []kv.Op) error {
	s.note(ops)
	var missing []kv.Op
	var positions []int
	for i := range ops {
		r, ok := s.take(ops[i].Key)
		if ops[i].Result = r; !ok {
			missing, positions = append(missing, ops[i]), append(positions, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_ = s.Store.Do(ctx, missing) // Each op has its own result.
	for i, position := range positions {
		ops[position].Result = missing[i].Result
	}
	return kv.Unanswered(ops)
}

// note notes the keys of ops.
func (s *Store) note(ops []kv.Op) {
	if s.later == nil && slices.EqualFunc(ops, s.keys, func(op kv.Op, key string) bool { return op.Key == key }) {
		s.later = slices.Clip(s.keys)
		return
	}
	s.later = slices.Grow(s.later, len(ops))
	for i := range ops {
		s.later = append(s.later, ops[i].Key)
	}
}

// take returns what the first trip has read under key, once. Keys are mostly asked for in
// the order in which they were before.
func (s *Store) take(key string) (kv.Result, bool) {
	for n := range s.results {
		i := (s.at + n) % len(s.keys)
		if s.keys[i] != key {
			continue
		}
		r := s.results[i]
		if r.Err == nil && r.Value == nil || kv.Failed(r.Err) {
			return kv.Result{}, false
		}
		s.at, s.taken, s.results[i] = i+1, s.taken+1, kv.Result{}
		return r, true
	}
	return kv.Result{}, false
}

// Foresaw reports whether the look rests on something that was read before it was known
// that it is to be read.
func (s *Store) Foresaw() bool { return s.taken > 0 }

// Wasted returns how many bytes the first trip has read that no one has asked for.
func (s *Store) Wasted() (n int) {
	for _, r := range s.results {
		n += len(r.Value)
	}
	return n
}

// Remember notes, at the end of the look, what the next is likely to read.
func (s *Store) Remember() {
	if s.trips > 0 {
		s.memory.remember(s.look, s.later)
	}
}
