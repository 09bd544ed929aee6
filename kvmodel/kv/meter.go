package kv

import (
	"context"
	"fmt"
	"sync"
)

// Cost is the load that some work put on a store.
type Cost struct {
	Trips int // calls of Do
	Depth int // the longest chain of sequential trips
	Ops   int // operations in them
	Keys  int // different keys in each trip, added up
	Read  int // bytes of values received
	Wrote int // bytes of values sent
}

func (c Cost) String() string {
	return fmt.Sprintf("%d trips (%d deep), %d ops, %d keys, %d B read, %d B written",
		c.Trips, c.Depth, c.Ops, c.Keys, c.Read, c.Wrote)
}

// Meter adds up the requests to stores wrapped by [Count] under a context of [Metered]. Reads
// answered from memory cost nothing.
type Meter struct {
	mu   sync.Mutex
	cost Cost

	// See apart.
	outer  *Meter // the Meter that counts the trips when all works have ended; nil: none
	level  int    // the number of enclosing works
	script []step
	ended  bool

	whole int
}

// Cost returns the cost so far. A trip counts when it ends. Trips that works of [Together] would
// have shared count when all of them have ended.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

type meterKey struct{}

// Metered returns a context with a new Meter.
func Metered(ctx context.Context) (context.Context, *Meter) {
	m := new(Meter)
	return context.WithValue(ctx, meterKey{}, m), m
}

// IsMetered reports whether ctx has a Meter.
func IsMetered(ctx context.Context) bool { return ctx.Value(meterKey{}) != nil }

// Count returns a store that adds up the requests to s in the Meter of each context.
func Count(s Store) Store { return &counted{s, countedPowers(PowersOf(s))} }

type counted struct {
	Store
	powers Powers
}

func (c *counted) Powers() Powers { return c.powers }

func countedPowers(p Powers) Powers {
	atomic := p.Atomic
	if atomic == nil {
		return p
	}
	p.Atomic = func(ctx context.Context, f func(Store) error) error {
		m, ok := ctx.Value(meterKey{}).(*Meter)
		if !ok {
			return atomic(ctx, f)
		}
		depth := m.next()
		ops, err := gather(ctx, atomic, f)
		m.addWhole(depth, ops)
		return err
	}
	return p
}

// gather runs f by atomic, and returns the ops of its last run.
func gather(ctx context.Context, atomic func(context.Context, func(Store) error) error, f func(Store) error) ([]Op, error) {
	var last gathering
	err := atomic(ctx, func(s Store) error {
		last = gathering{Store: s}
		return f(&last)
	})
	return last.ops, err
}

// gathering is a store that records the ops of all its calls.
type gathering struct {
	Store
	ops []Op
}

func (g *gathering) Powers() Powers { return PowersOf(g.Store) }

func (g *gathering) Do(ctx context.Context, ops []Op) error {
	err := g.Store.Do(ctx, ops)
	g.ops = append(g.ops, ops...)
	return err
}

func (c *counted) Do(ctx context.Context, ops []Op) error {
	m, ok := ctx.Value(meterKey{}).(*Meter)
	if !ok {
		return c.Store.Do(ctx, ops)
	}
	depth := m.next()
	err := c.Store.Do(ctx, ops)
	m.add(depth, ops)
	return err
}

// add counts a trip behind depth-1 others.
func (m *Meter) add(depth int, ops []Op) {
	if m.outer != nil {
		if !m.noteTrip(ops) {
			m.outer.add(depth, ops)
		}
		return
	}
	if AllNear(ops) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.Trips++
	m.cost.Depth = max(m.cost.Depth, depth)
	m.cost.Ops += len(ops)
	m.cost.Keys += keysOf(ops)
	for i := range ops {
		m.cost.Read += len(ops[i].Result.Value)
		m.cost.Wrote += len(ops[i].Value)
	}
}

func keysOf(ops []Op) int {
	if len(ops) < 2 {
		return len(ops)
	}
	seen := make(map[string]struct{}, len(ops))
	for i := range ops {
		seen[ops[i].Key] = struct{}{}
	}
	return len(seen)
}
