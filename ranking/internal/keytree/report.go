package keytree

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type reports struct {
	of     map[string]slot
	unsure map[string]bool // reports may be lost: their paths are corrected
}

func (r *reports) doubt(name string) {
	if r.unsure == nil {
		r.unsure = make(map[string]bool)
	}
	r.unsure[name] = true
}

func (r *reports) none() bool { return len(r.of)+len(r.unsure) == 0 }

func (r *reports) way() (nodes int) {
	for name := range r.of {
		nodes = max(nodes, len(name)/perLevel)
	}
	for name := range r.unsure {
		nodes = max(nodes, len(name)/perLevel)
	}
	return nodes
}

func (r *reports) add(one report) {
	if r.of == nil {
		r.of = make(map[string]slot)
	}
	if one.slot.seq >= r.of[one.name].seq {
		r.of[one.name] = one.slot
	}
}

func (r *reports) merge(other *reports) {
	for name, slot := range other.of {
		r.add(report{name, slot})
	}
	for name := range other.unsure {
		r.doubt(name)
	}
}

// report sends the due reports and those that follow further up, in rounds of two trips: it reads
// all routers that are likely to change, then writes them.
//
// So a router may be written with a child's count although the write of the child is then rejected.
// That count is wrong until the child is written and reported again. A closed router is reported
// only after it is written, because that must be true.
//
// Failed reports are replaced by corrections. After an error, report can be called again.
func (p *nodes) report(ctx context.Context, s kv.Store, due *reports) (err error) {
	if inside(s) {
		return p.reportInside(ctx, s, due)
	}
	owed := make(map[string]bool)
	for tries, refused := 0, false; err == nil && len(due.of)+len(owed) > 0 && tries < reportTries; {
		if refused, err = p.reportRound(ctx, s, due, owed); refused {
			tries++
		}
	}
	for name := range owed {
		due.doubt(name)
	}
	for name := range due.of {
		due.doubt(name)
	}
	if err == nil {
		err = p.correct(ctx, s, slices.Sorted(maps.Keys(due.unsure)))
	}
	if err == nil {
		due.of, due.unsure = nil, nil
	}
	return err
}

const reportTries = 8

// owed holds routers that were reported above without being written themselves.
func (p *nodes) reportRound(ctx context.Context, s kv.Store, due *reports, owed map[string]bool) (refused bool, err error) {
	plan, err := p.readPlan(ctx, s, due, owed)
	if err != nil {
		return false, err
	}
	errs := p.update(ctx, s, plan)
	lost := make(map[string]bool)
	for i, e := range errs {
		t := plan[i]
		switch {
		case e != nil:
			lost[t.name] = true
			if errors.Is(e, errUnsure) {
				due.doubt(t.name)
			}
			if !again(e) {
				err = e
			}
		case t.known:
			delete(owed, t.name)
			if t.up {
				due.add(t.report())
			}
		}
	}
	for _, t := range plan {
		if t.known && !lost[t.name] {
			due.drop(t.family)
			for _, of := range t.family {
				if lost[of.name] {
					owed[of.name] = true
				}
			}
		}
	}
	return len(lost) > 0, err
}

func (r *reports) routersAbove(owed map[string]bool) []string {
	var names []string
	seen := make(map[string]bool)
	add := func(name string) {
		for !seen[name] {
			seen[name] = true
			if names = append(names, name); name != "" {
				name = parent(name)
			}
		}
	}
	for name := range r.of {
		add(parent(name))
	}
	for name := range owed {
		add(name)
	}
	slices.Sort(names)
	return names
}

// readPlan reads the routers that are likely to change, in a small tree all above.
func (p *nodes) readPlan(ctx context.Context, s kv.Store, due *reports, owed map[string]bool) ([]*update, error) {
	var names []string
	if p.size() <= p.small {
		names = due.routersAbove(owed)
	} else {
		names = kv.Texts(p.plan(due, owed, p.remembered), func(t *update) string { return t.name })
	}
	got, err := p.get(ctx, s, names...)
	if err != nil {
		return nil, err
	}
	read := make(map[string]node, len(names))
	for i, name := range names {
		read[name] = got[i]
	}
	return p.plan(due, owed, func(name string) (node, bool) {
		now, known := read[name]
		return now, known
	}), nil
}

func (p *nodes) remembered(name string) (node, bool) {
	r, seen := p.local.router(p.key(name))
	return node{router: r}, seen
}

func (t *update) report() report {
	return report{t.name, slot{t.next.pushed, t.next.seq, t.next.closed}}
}

func (p *nodes) plan(due *reports, owed map[string]bool, look func(name string) (node, bool)) []*update {
	families := due.families()
	for name := range owed {
		if families[name] == nil {
			families[name] = []report{}
		}
	}
	var all []*update
	for len(families) > 0 {
		for _, name := range lowestOf(families) {
			t := &update{name: name, family: families[name]}
			delete(families, name)
			t.old, t.known = look(name)
			p.compute(t, owed[name])
			all = append(all, t)
			if t.up && !t.next.closed {
				families[parent(name)] = append(families[parent(name)], t.report())
			}
		}
	}
	return all
}

func (p *nodes) compute(t *update, owed bool) {
	if t.old.router == nil {
		return
	}
	next, changed := t.old.router.with(t.family)
	if !changed && !owed {
		return
	}
	t.next = next
	t.up = t.name != "" && (p.push(t.name, t.old.router, next) || owed)
}

func (r *reports) families() map[string][]report {
	families := make(map[string][]report)
	for name, slot := range r.of {
		families[parent(name)] = append(families[parent(name)], report{name, slot})
	}
	return families
}

func lowestOf(families map[string][]report) []string {
	deepest := 0
	for name := range families {
		deepest = max(deepest, len(name))
	}
	var names []string
	for name := range families {
		if len(name) == deepest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *reports) drop(family []report) {
	for _, of := range family {
		if r.of[of.name].seq <= of.slot.seq {
			delete(r.of, of.name)
		}
	}
}

func (r *router) with(family []report) (next *router, changed bool) {
	next = new(router)
	*next = *r
	next.seq++
	for _, of := range family {
		at := &next.slots[child(parent(of.name), of.name)]
		if of.slot.seq > at.seq {
			*at = of.slot
			changed = true
		}
	}
	return next, changed
}

// push closes next, which follows old, if it is empty, and reports whether next must be reported
// above.
func (p *nodes) push(name string, old, next *router) bool {
	next.closed = next.empty()
	pushed, due := p.due(next.pushed, p.total(name, next), p.routerAllows)
	if due || next.closed != old.closed {
		next.pushed = pushed
		return true
	}
	return false
}

// In a large tree, a report is due when a leaf's count has changed by leafDrift, or a router's by
// routerDrift or a 128th. A path of words has twice as many small routers, so there the first two
// limits are half as much again.
const (
	leafDrift   = 4
	routerDrift = 6
)

func (p *nodes) leafAllows(int) int { return p.drift(leafDrift) }

func (p *nodes) routerAllows(count int) int { return max(p.drift(routerDrift), count/128) }

func (p *nodes) drift(of int) int {
	if p.code == Words {
		return of + of/2
	}
	return of
}

func (p *nodes) due(pushed, now tally, allowed func(count int) int) (report tally, due bool) {
	if p.size() <= p.small {
		return now, now != pushed
	}
	members, some := dueCount(pushed.members, now.members, allowed(now.members))
	scores, others := dueCount(pushed.scores, now.scores, allowed(now.scores))
	if !some && !others {
		return pushed, false
	}
	return tally{members, min(scores, members)}, true
}

// A count usually keeps moving in one direction, so a report runs ahead of it: among many nodes,
// some are then ahead and some behind. After a jump, when many nodes change at once, all of them
// would be ahead.
func dueCount(pushed, now, allowed int) (report int, due bool) {
	ahead := allowed / 2
	if distance(now, pushed) >= 2*allowed {
		ahead = 0
	}
	switch {
	case now-pushed >= allowed:
		return now + ahead, true
	case pushed-now >= allowed:
		return max(1, now-ahead), true
	}
	return now, false
}
