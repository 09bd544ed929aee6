// Package turns serializes work on the same key.
package turns

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Turns gives the turn on each key to one goroutine at a time.
type Turns struct {
	mu   sync.Mutex
	keys map[string]*turn
}

type turn struct {
	users int
	free  chan struct{} // holds one token while nobody has the turn
}

func New() *Turns { return &Turns{keys: make(map[string]*turn)} }

// patience limits Take when its context does not: a caller that waits for itself would wait
// forever.
const patience = time.Minute

func (t *Turns) Take(ctx context.Context, key string) (leave func(), err error) {
	mine := t.join(key)
	leave = func() {
		mine.free <- struct{}{}
		t.leave(key, mine)
	}
	select {
	case <-mine.free:
		return leave, nil
	default:
	}
	ctx, cancel := kv.Patient(ctx, patience)
	defer cancel()
	select {
	case <-mine.free:
		return leave, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, kv.Unavailable(fmt.Errorf("another change of the same record by this process has not ended (is this one made inside its function?): %w", kv.Ended(ctx)))
	}
}

func (t *Turns) join(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.keys[key]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.keys[key] = mine
	}
	mine.users++
	return mine
}

func (t *Turns) leave(key string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.keys, key)
	}
}
