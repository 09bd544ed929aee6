package kv

import (
	"context"
	"slices"
)

// Apart is for code that runs works one after another on a store with [Powers.Local]. Each call of
// next returns the context for the next work. The caller calls end when all are done: a [Meter] of
// ctx then counts the trips the works would have shared under [Together] had none paused.
func Apart(ctx context.Context) (next func() context.Context, end func()) {
	m, ok := ctx.Value(meterKey{}).(*Meter)
	if !ok {
		return func() context.Context { return ctx }, func() {}
	}
	a := newApart(m, false)
	return func() context.Context { return a.next().under(ctx) }, a.count
}

// apart meters works that each make their own trips. A nil apart counts nothing.
type apart struct {
	outer  *Meter
	nested bool // the caller is itself such a work and uses its store
	depth  int  // of the trips before the works began, without transactions
	meters []*Meter
}

func newApart(outer *Meter, nested bool) *apart {
	if outer == nil {
		return nil
	}
	depth, whole := outer.deepest()
	return &apart{outer: outer, nested: nested, depth: depth - whole}
}

func (a *apart) next() *Meter {
	if a == nil {
		return nil
	}
	m := &Meter{outer: a.outer, level: a.outer.level + 1}
	a.meters = append(a.meters, m)
	return m
}

func (a *apart) count() {
	if a == nil {
		return
	}
	scripts := make([][]step, len(a.meters))
	for i, m := range a.meters {
		scripts[i] = m.end()
	}
	_, whole := a.outer.deepest()
	depth := a.depth + whole
	var c *cargo
	defer func() { c.recycle() }()
	rides := make([]ride, len(scripts))
	for board(rides, scripts) {
		c = c.load(rides)
		depth++
		a.outer.share(depth, c, a.nested)
	}
}

type step struct {
	ops   []Op
	flown []bool // the flown of its ride
}

func board(rides []ride, scripts [][]step) (more bool) {
	for i, script := range scripts {
		rides[i].ops = nil
		if len(script) > 0 {
			rides[i].ops, rides[i].flown = script[0].ops, script[0].flown
			scripts[i], more = script[1:], true
		}
	}
	return more
}

// end returns the recorded steps, without transactions. Later trips are counted immediately.
func (m *Meter) end() []step {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	return m.script
}

func (m *Meter) note(st step) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.script = append(m.script, st)
	}
	return !m.ended
}

// share counts the flight of c. nested: the work could have shared it with others.
func (m *Meter) share(depth int, c *cargo, nested bool) {
	if m.outer == nil {
		m.add(depth, c.flight)
		return
	}
	st := step{ops: slices.Clone(c.flight)}
	if nested {
		st.flown = slices.Clone(c.joins)
	}
	if !m.note(st) {
		m.outer.add(depth, c.flight)
	}
}

func (m *Meter) noteTrip(ops []Op) bool {
	ops = slices.Clone(ops)
	for i := range ops {
		if ops[i].Kind == Append {
			ops[i].Value = slices.Clone(ops[i].Value) // Appends are joined later, when the caller may have changed the value.
		}
	}
	return m.note(step{ops: ops})
}

func (m *Meter) addWhole(depth int, ops []Op) {
	m = m.outermost()
	m.add(depth, ops)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole++
}

func (m *Meter) outermost() *Meter {
	for m.outer != nil {
		m = m.outer
	}
	return m
}

func (m *Meter) deepest() (depth, whole int) {
	m = m.outermost()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost.Depth, m.whole
}

func (m *Meter) next() int {
	depth, _ := m.deepest()
	return depth + 1
}

func (m *Meter) under(ctx context.Context) context.Context {
	if m == nil {
		return ctx
	}
	if inner, ok := ctx.Value(meterKey{}).(*Meter); ok && inner.level >= m.level {
		return ctx
	}
	return context.WithValue(ctx, meterKey{}, m)
}

func meterOf(ctx context.Context, powers Powers) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	if of := powers.meter; of != nil && (m == nil || of.level > m.level) {
		return of
	}
	return m
}
