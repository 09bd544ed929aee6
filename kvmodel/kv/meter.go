package kv

import (
	"context"
	"fmt"
	"sync"
)

// Cost is what some work asked of a store.
type Cost struct {
	Trips int // calls of Do
	Depth int // the longest chain of trips that followed each other
	Ops   int // operations in them
	Keys  int // different keys in each trip, added up
	Read  int // bytes of values that came back
	Wrote int // bytes of values that were sent
}

// String returns the cost as a page footer or a log line shows it.
func (c Cost) String() string {
	return fmt.Sprintf("%d trips (%d deep), %d ops, %d keys, %d B read, %d B written",
		c.Trips, c.Depth, c.Ops, c.Keys, c.Read, c.Wrote)
}

// Meter adds up what stores wrapped by [Count] are asked for under one context. What
// they answer from memory costs nothing. It is safe for use by many goroutines at once.
type Meter struct {
	mu   sync.Mutex
	cost Cost

	// Of one work of several, each of which has its trips for itself: see apart.
	outer  *Meter // where they are counted when all works have ended; nil: it is none
	level  int    // how many works it is within
	script []step
	ended  bool

	whole int // transactions
}

// Cost returns what has been asked for so far. A trip counts when it ends, and one that works
// of [Together] would have shared when all of them have.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

type meterKey struct{}

// Metered returns a context under which stores wrapped by Count count into
// the returned Meter. Under a context without a Meter they count nothing.
func Metered(ctx context.Context) (context.Context, *Meter) {
	m := new(Meter)
	return context.WithValue(ctx, meterKey{}, m), m
}

// IsMetered reports whether ctx has a Meter.
func IsMetered(ctx context.Context) bool { return ctx.Value(meterKey{}) != nil }

// Count returns a store that adds up, in the Meter of each context, what is
// asked of s.
func Count(s Store) Store { return &counted{s, countedPowers(PowersOf(s))} }

type counted struct {
	Store
	powers Powers
}

func (c *counted) Powers() Powers { return c.powers }

// countedPowers returns p with what happens inside Atomic counted as one trip.
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
		var whole *gathering // of the last run
		depth := m.next()
		err := atomic(ctx, func(s Store) error {
			whole = &gathering{Store: s}
			return f(whole)
		})
		m.addWhole(depth, whole.asked())
		return err
	}
	return p
}

// gathering is a store that keeps the ops of all its calls.
type gathering struct {
	Store
	ops []Op
}

// asked returns the ops of all calls, none if g is nil.
func (g *gathering) asked() []Op {
	if g == nil {
		return nil
	}
	return g.ops
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

// add counts a trip that began when depth-1 trips in a row had ended.
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
