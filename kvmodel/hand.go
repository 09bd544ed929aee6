package kvmodel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// hand keeps the records that were read a moment ago, with their versions, so
// that an Update that follows a Get saves the trip of reading again. It is
// safe because the commit compares the version: a copy that is old costs a
// trip, never a change.
type hand [512]atomic.Pointer[held]

type held struct {
	key     string
	results []kv.Result // of the record and its counters
	read    time.Time
}

const (
	heldFor   = time.Second
	heldBytes = 16 << 10 // larger records are not kept
)

func (h *hand) slot(key string) *atomic.Pointer[held] {
	hash := uint32(2166136261)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	return &h[hash%uint32(len(h))]
}

// keep remembers what was read under key.
func (h *hand) keep(key string, results []kv.Result, now time.Time) {
	if r := results[0]; r.Err == nil && len(r.Value) <= heldBytes {
		h.slot(key).Store(&held{key, results, now})
	}
}

// take returns what was read under key a moment ago, and forgets it.
func (h *hand) take(key string, now time.Time) ([]kv.Result, bool) {
	slot := h.slot(key)
	c := slot.Load()
	if c == nil || c.key != key || !slot.CompareAndSwap(c, nil) || now.Sub(c.read) > heldFor {
		return nil, false
	}
	return c.results, true
}

// drop forgets what was read under key.
func (h *hand) drop(key string) {
	slot := h.slot(key)
	if c := slot.Load(); c != nil && c.key == key {
		slot.CompareAndSwap(c, nil)
	}
}

// turns lets the changes of one record that this process makes come one after
// another, since side by side all but one would be in vain.
type turns struct {
	mu      sync.Mutex
	waiting map[string]*turn
}

type turn struct {
	users int
	free  chan struct{} // holds one token while nobody has the turn
}

func newTurns() *turns { return &turns{waiting: make(map[string]*turn)} }

// take waits for the turn on key. The returned func gives it back.
func (t *turns) take(ctx context.Context, key string) (func(), error) {
	mine := t.join(key)
	select {
	case <-mine.free:
		return func() {
			mine.free <- struct{}{}
			t.leave(key, mine)
		}, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, unavailable(ctx.Err())
	}
}

func (t *turns) join(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.waiting[key]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.waiting[key] = mine
	}
	mine.users++
	return mine
}

func (t *turns) leave(key string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.waiting, key)
	}
}
