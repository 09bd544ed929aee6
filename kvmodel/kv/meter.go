package kv

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
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

// Trip is one finished call of Do, or one transaction, for a Trace hook.
type Trip struct {
	Ops   []Op // with results; do not log the values, which are the app's secrets
	For   Work // the caller, if the DB was configured to record it
	Start time.Time
	Took  time.Duration // of a transaction, including its commit
	Err   error         // not nil if the store failed; an answer such as ErrNotFound is no failure
}

// Trace returns a store that shows each finished trip to hook. Gets that were all answered from
// memory are not a trip. The hook runs in the caller's goroutine, and must not retain or change
// Ops.
func Trace(s Store, hook func(context.Context, Trip)) Store {
	t := &traced{Store: s, powers: PowersOf(s), hook: hook}
	if atomic := t.powers.Atomic; atomic != nil {
		t.powers.Atomic = func(ctx context.Context, f func(Store) error) error { return t.atomic(ctx, atomic, f) }
	}
	return t
}

type traced struct {
	Store
	powers Powers
	hook   func(context.Context, Trip)
}

func (t *traced) Powers() Powers { return t.powers }

func (t *traced) Do(ctx context.Context, ops []Op) error {
	start := time.Now()
	err := t.Store.Do(ctx, ops)
	t.show(ctx, ops, start, err)
	return err
}

func (t *traced) atomic(ctx context.Context, atomic func(context.Context, func(Store) error) error, f func(Store) error) error {
	start := time.Now()
	ops, err := gather(ctx, atomic, f)
	t.show(ctx, ops, start, err)
	return err
}

func (t *traced) show(ctx context.Context, ops []Op, start time.Time, err error) {
	if AllNear(ops) {
		return
	}
	if !Failed(err) {
		err = nil
	}
	t.hook(ctx, Trip{Ops: ops, For: WorkOf(ctx), Start: start, Took: time.Since(start), Err: err})
}

// Work names the origin of a trip: a verb of a model or of an index, or a background task.
type Work struct {
	Model string // such as Post; "" for a database, and for an index without a model
	Index string // such as ByTags, or the name of a counter; "" for the model itself
	Verb  string // such as Page; repair, upkeep, journal or build in the background
}

// String returns the names, such as Post.ByTags.Page.
func (w Work) String() string {
	var names []string
	for _, name := range []string{w.Model, w.Index, w.Verb} {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

type workKey struct{}

// working is a context with a Work in one allocation.
type working struct {
	context.Context
	work Work
}

func (w *working) Value(key any) any {
	if key == (workKey{}) {
		return &w.work
	}
	return w.Context.Value(key)
}

// For returns a context whose trips are attributed to w; see [Trip].
func For(ctx context.Context, w Work) context.Context { return &working{ctx, w} }

// WorkOf returns the Work of ctx, empty if none is set.
func WorkOf(ctx context.Context) Work {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		return *w
	}
	return Work{}
}
