package kv

import (
	"context"
	"slices"
)

// Apart is for code that runs works one after another on a store with [Powers.Local]. Each
// call of next returns the context of the next work. When the caller calls end, a [Meter] of
// ctx counts the trips that the works would have shared by [Together], if none had paused.
func Apart(ctx context.Context) (next func() context.Context, end func()) {
	m, ok := ctx.Value(meterKey{}).(*Meter)
	if !ok {
		return func() context.Context { return ctx }, func() {}
	}
	a := newApart(m, false)
	return func() context.Context { return a.next().under(ctx) }, a.count
}

// apart is works each of which has its trips for itself, under the Meter of their caller. It
// may be nil: then nothing is counted.
type apart struct {
	outer  *Meter
	nested bool // the caller is one of such works itself, and uses their store
	depth  int  // of the trips before they began, but for transactions
	meters []*Meter
}

func newApart(outer *Meter, nested bool) *apart {
	if outer == nil {
		return nil
	}
	depth, whole := outer.deepest()
	return &apart{outer: outer, nested: nested, depth: depth - whole}
}

// next returns the Meter of the next work.
func (a *apart) next() *Meter {
	if a == nil {
		return nil
	}
	m := &Meter{outer: a.outer, level: a.outer.level + 1}
	a.meters = append(a.meters, m)
	return m
}

// count counts the trips that the works would have shared.
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
	c := cargos.Get().(*cargo)
	defer c.recycle()
	rides := make([]ride, len(scripts))
	for board(rides, scripts) {
		c.load(rides)
		depth++
		a.outer.share(depth, c, a.nested)
	}
}

// step is a trip of one work.
type step struct {
	ops   []Op
	flown []bool // as of a ride
}

// board takes the next step from each script into a ride. It returns false if there are no
// more.
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

// A Meter of one work notes what the work does.

// end returns what the work has done, but for transactions. What comes later is counted at
// once.
func (m *Meter) end() []step {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	return m.script
}

// note notes st, and returns false if the work has ended.
func (m *Meter) note(st step) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.script = append(m.script, st)
	}
	return !m.ended
}

// share counts the flight of c. If nested, the work could have shared it with others.
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

// noteTrip notes a trip of the work.
func (m *Meter) noteTrip(ops []Op) bool {
	ops = slices.Clone(ops)
	for i := range ops {
		if ops[i].Kind == Append {
			ops[i].Value = slices.Clone(ops[i].Value) // What is joined is read, when the caller may have changed it.
		}
	}
	return m.note(step{ops: ops})
}

// addWhole counts a transaction, which shares its trip with nothing.
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

// deepest returns the Depth so far of what m counts into, and how many transactions there
// were.
func (m *Meter) deepest() (depth, whole int) {
	m = m.outermost()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost.Depth, m.whole
}

// next returns the Depth of a trip that begins now.
func (m *Meter) next() int {
	depth, _ := m.deepest()
	return depth + 1
}

// under returns ctx with m, unless that has the Meter of a work within m's.
func (m *Meter) under(ctx context.Context) context.Context {
	if m == nil {
		return ctx
	}
	if inner, ok := ctx.Value(meterKey{}).(*Meter); ok && inner.level >= m.level {
		return ctx
	}
	return context.WithValue(ctx, meterKey{}, m)
}

// meterOf returns the Meter under which a store with powers is used; nil: there is none.
func meterOf(ctx context.Context, powers Powers) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	if of := powers.meter; of != nil && (m == nil || of.level > m.level) {
		return of
	}
	return m
}
