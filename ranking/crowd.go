package ranking

import (
	"context"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// crowd follows members for many callers. Requests that arrive meanwhile are merged into the next
// round, which follows each member once.
type crowd struct {
	do   func(ctx context.Context, ids []string) []error
	turn chan struct{} // held by the following caller

	mu   sync.Mutex // never held during a trip
	next *round     // nil if none has joined since the last began
}

type round struct {
	ids  []string
	at   map[string]int // in ids and errs
	errs []error
	done chan struct{}
}

func newCrowd(do func(ctx context.Context, ids []string) []error) *crowd {
	return &crowd{do: do, turn: make(chan struct{}, 1)}
}

// follow returns after a round that began after the call has followed ids.
func (c *crowd) follow(ctx context.Context, ids []string) error {
	r := c.join(ids)
	select {
	case c.turn <- struct{}{}:
		c.run(ctx, r)
		<-c.turn
	case <-r.done:
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
	for _, id := range ids {
		if err := r.errs[r.at[id]]; err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) join(ids []string) *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = &round{at: make(map[string]int), done: make(chan struct{})}
	}
	for _, id := range ids {
		if _, twice := c.next.at[id]; !twice {
			c.next.at[id] = len(c.next.ids)
			c.next.ids = append(c.next.ids, id)
		}
	}
	return c.next
}

// The caller of run has the turn.
func (c *crowd) run(ctx context.Context, r *round) {
	c.mu.Lock()
	begins := c.next == r
	if begins {
		c.next = nil
	}
	c.mu.Unlock()
	if begins {
		r.errs = c.do(ctx, r.ids)
		close(r.done)
	}
}
