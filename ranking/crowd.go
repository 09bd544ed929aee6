package ranking

import (
	"context"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A crowd follows members for many callers. What is asked for while it follows is followed
// together after that, each member once, for all who wait for it.
type crowd struct {
	// do follows ids, and returns an error for each.
	do func(ctx context.Context, ids []string) []error

	turn chan struct{} // taken by the caller that follows

	mu   sync.Mutex // never held during a trip
	next *round     // that callers join; nil if none has since the last began
}

// round is what is followed together.
type round struct {
	ids  []string
	at   map[string]int // where in ids and errs
	errs []error        // once it is done
	done chan struct{}
}

func newCrowd(do func(ctx context.Context, ids []string) []error) *crowd {
	return &crowd{do: do, turn: make(chan struct{}, 1)}
}

// follow returns once ids were followed after it was called, and the first of their errors.
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

// join adds ids to the next round.
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

// run follows what is in r, unless another caller has. The caller has the turn.
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
