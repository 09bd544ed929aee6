// Package ahead lets a read of a listing fetch, in its first trip, the records that the last such
// read led to.
package ahead

import (
	"context"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Store is the store of one look, for one goroutine. Its first trip also reads the keys that the
// last such look read by [Then].
type Store struct {
	kv.Store
	memory *Memory
	look   Look
	begun  bool

	keys    []string // read in the first trip
	results []kv.Result
	at      int      // index in keys after the last key requested
	asked   []string // by Then
}

// Store returns s for a look. A store with [kv.Powers.Local] reads ahead only under a [kv.Meter],
// which counts the trips that other stores would take.
func (m *Memory) Store(ctx context.Context, s kv.Store, look func() Look) *Store {
	if kv.PowersOf(s).Local && !kv.IsMetered(ctx) {
		return &Store{Store: s}
	}
	l := look()
	keys, _ := m.looks.Get(l)
	return &Store{Store: s, memory: m, look: l, keys: keys}
}

func (s *Store) Powers() kv.Powers { return kv.PowersOf(s.Store) }

// Memory returns the Memory of the underlying store, which never reads ahead.
func (s *Store) Memory(ctx context.Context) (kv.Memory, string) { return kv.MemoryOf(ctx, s.Store) }

func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if s.begun || len(s.keys) == 0 || len(ops) == 0 {
		s.begun = true
		return s.Store.Do(ctx, ops)
	}
	s.begun = true
	return s.first(ctx, ops)
}

// Then returns the store for the reads of a look once its page is known. A key read ahead is
// answered from the first trip, once.
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

func (t then) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			return t.Store.Store.Do(ctx, ops)
		}
	}
	return t.rest(ctx, ops)
}

var trips = sync.Pool{New: func() any { return new([]kv.Op) }}

// first carries out ops together with gets of the keys. Errors of those gets are not errors of ops.
func (s *Store) first(ctx context.Context, ops []kv.Op) error {
	space := trips.Get().(*[]kv.Op)
	defer trips.Put(space)
	all := append((*space)[:0], ops...)
	for _, key := range s.keys {
		op := kv.OpGet(key)
		op.Near = true // a look displays values
		all = append(all, op)
	}
	_ = s.Store.Do(ctx, all)
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
	_ = s.Store.Do(ctx, missing)
	for i, position := range positions {
		ops[position].Result = missing[i].Result
	}
	return kv.Unanswered(ops)
}

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

// take returns the first trip's result for key, once. Keys mostly come in the same order as before.
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
		s.at, s.results[i] = i+1, kv.Result{}
		return r, true
	}
	return kv.Result{}, false
}

// Remember stores, at the end of the look, the keys for the next one.
func (s *Store) Remember() {
	if s.begun && s.memory != nil {
		s.memory.remember(s.look, s.asked)
	}
}

// Memory remembers the keys of the records that each look at a listing led to. They are hints. The
// zero value is ready to use.
type Memory struct{ looks kept.Recent[Look, []string] }

// Look is a read of n records of a listing.
type Look struct {
	Listing string
	N       int
}

const (
	mostOfLook = 512
	keysWeigh  = 4 // as much as a look
)

// remember retains keys.
func (m *Memory) remember(l Look, keys []string) {
	keys = keys[:min(len(keys), mostOfLook)]
	if was, ok := m.looks.Get(l); !ok || !slices.Equal(was, keys) {
		m.looks.Put(l, keys, 1+len(keys)/keysWeigh)
	}
}
