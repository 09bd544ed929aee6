package ahead

import (
	"context"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Store is the store of one look, for one goroutine. With its first trip it also reads what
// the last such look has read by [Then], and so may save the trips for that.
//
// So the reads of Then may be part of the first trip: in no order with its other reads, and
// before the result that led to them.
type Store struct {
	kv.Store
	memory *Memory
	look   Look
	begun  bool // the first trip is made

	keys    []string // that are read with the first trip
	results []kv.Result
	taken   int      // how many of results were asked for
	at      int      // in keys, behind the last that was asked for
	asked   []string // by Then
}

// Store returns s for a look l. On a store with [kv.Powers.Local] nothing is read ahead but for
// a [kv.Meter], which counts the trips that others would take.
func (m *Memory) Store(ctx context.Context, s kv.Store, l Look) *Store {
	if kv.PowersOf(s).Local && !kv.IsMetered(ctx) {
		return &Store{Store: s}
	}
	return &Store{Store: s, memory: m, look: l, keys: m.recall(l)}
}

// Powers returns those of the store underneath.
func (s *Store) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Memory returns that of the store underneath. With what it answers nothing is read ahead.
func (s *Store) Memory(ctx context.Context) (kv.Memory, string) { return kv.MemoryOf(ctx, s.Store) }

// Do carries out ops.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if s.begun || len(s.keys) == 0 || len(ops) == 0 {
		s.begun = true
		return s.Store.Do(ctx, ops)
	}
	s.begun = true
	return s.first(ctx, ops)
}

// Then returns the store for what a look on s reads once it knows that it is on the page. If
// s is a [Store], a get of what its first trip has read is answered by that, once.
func Then(s kv.Store) kv.Store {
	one, ok := s.(*Store)
	switch {
	case !ok:
		return s
	case one.memory == nil:
		return one.Store
	}
	return then{one}
}

type then struct{ *Store }

// Do carries out ops.
func (t then) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			return t.Store.Store.Do(ctx, ops)
		}
	}
	return t.rest(ctx, ops)
}

// trips holds slices of ops to use again.
var trips = sync.Pool{New: func() any { return new([]kv.Op) }}

// first carries out ops and the gets of the keys. An error of a get is no error of ops.
func (s *Store) first(ctx context.Context, ops []kv.Op) error {
	space := trips.Get().(*[]kv.Op)
	defer trips.Put(space)
	all := append((*space)[:0], ops...)
	for _, key := range s.keys {
		op := kv.OpGet(key)
		op.Near = true // What a look reads is shown.
		all = append(all, op)
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
	if s.asked == nil && slices.EqualFunc(ops, s.keys, func(op kv.Op, key string) bool { return op.Key == key }) {
		s.asked = slices.Clip(s.keys)
		return
	}
	s.asked = slices.Grow(s.asked, len(ops))
	for i := range ops {
		s.asked = append(s.asked, ops[i].Key)
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

// Remember notes, at the end of the look, what the next is likely to read.
func (s *Store) Remember() {
	if s.begun && s.memory != nil {
		s.memory.remember(s.look, s.asked)
	}
}
