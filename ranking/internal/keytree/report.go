package keytree

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type reports struct {
	of     []report        // may name a node twice
	unsure map[string]bool // reports may be lost: their paths are corrected
}

func (r *reports) doubt(name string) {
	r.unsure = with(r.unsure, name)
}

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = make(map[string]bool)
	}
	set[name] = true
	return set
}

func (r *reports) none() bool { return len(r.of)+len(r.unsure) == 0 }

func (r *reports) way() (nodes int) {
	for _, one := range r.of {
		nodes = max(nodes, len(one.name)/perLevel)
	}
	for name := range r.unsure {
		nodes = max(nodes, len(name)/perLevel)
	}
	return nodes
}

func (r *reports) add(one report) { r.of = append(r.of, one) }

func (r *reports) merge(other *reports) {
	r.of = append(r.of, other.of...)
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
	var owed map[string]bool
	for tries, refused := 0, false; err == nil && len(due.of)+len(owed) > 0 && tries < reportTries; {
		if refused, err = p.reportRound(ctx, s, due, &owed); refused {
			tries++
		}
	}
	for name := range owed {
		due.doubt(name)
	}
	for _, one := range due.of {
		due.doubt(one.name)
	}
	if err == nil && len(due.unsure) > 0 {
		err = p.correct(ctx, s, slices.Sorted(maps.Keys(due.unsure)))
	}
	if err == nil {
		due.of, due.unsure = nil, nil
	}
	return err
}

const reportTries = 8

// owed holds routers that were reported above without being written themselves.
func (p *nodes) reportRound(ctx context.Context, s kv.Store, due *reports, owed *map[string]bool) (refused bool, err error) {
	plan, err := p.readPlan(ctx, s, due, *owed)
	if err != nil {
		return false, err
	}
	errs := p.update(ctx, s, plan)
	var lost map[string]bool
	for i, e := range errs {
		t := plan[i]
		switch {
		case e != nil:
			lost = with(lost, t.name)
			if errors.Is(e, errUnsure) {
				due.doubt(t.name)
			}
			if !again(e) {
				err = e
			}
		case t.known:
			delete(*owed, t.name)
			if t.up {
				due.add(t.report())
			}
		}
	}
	for _, t := range plan {
		if t.done = t.known && !lost[t.name]; t.done {
			for _, of := range t.family {
				if lost[of.name] {
					*owed = with(*owed, of.name)
				}
			}
		}
	}
	due.drop(plan)
	return len(lost) > 0, err
}

// routersAbove returns, in order, the routers above the reported nodes, and those of owed with the
// ones above them.
func (r *reports) routersAbove(owed map[string]bool) []string {
	nodes := make([]string, 0, len(r.of)+len(owed))
	for _, one := range r.of {
		nodes = append(nodes, one.name)
	}
	for name := range owed {
		nodes = append(nodes, childName(name, 0))
	}
	slices.Sort(nodes)
	var names []string
	for i, name := range nodes {
		for name != "" {
			name = parent(name)
			if i > 0 && len(name) < len(nodes[i-1]) && strings.HasPrefix(nodes[i-1], name) {
				break // The last node is below it too.
			}
			if names == nil {
				names = make([]string, 0, len(name)/perLevel+1)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readPlan reads the routers that are likely to change, in a small tree all above.
func (p *nodes) readPlan(ctx context.Context, s kv.Store, due *reports, owed map[string]bool) ([]*update, error) {
	above := due.routersAbove(owed)
	names := above
	if p.size() > p.small {
		names = kv.Texts(p.plan(above, due, owed, p.remembered), func(t *update) string { return t.name })
		slices.Sort(names)
	}
	keys := p.keys(names)
	got, err := p.getAt(ctx, s, names, keys)
	if err != nil {
		return nil, err
	}
	return p.plan(above, due, owed, func(t *update) {
		var at int
		if at, t.known = slices.BinarySearch(names, t.name); t.known {
			t.key, t.old = keys[at], got[at]
		}
	}), nil
}

func (p *nodes) remembered(t *update) { t.old.router, t.known = p.local.router(p.key(t.name)) }

func (t *update) report() report {
	return report{t.name, slot{t.next.pushed, t.next.seq, t.next.closed}}
}

// plan computes the updates of those routers in above that have something to do, the deepest first.
func (p *nodes) plan(above []string, due *reports, owed map[string]bool, look func(*update)) []*update {
	room := make([]update, len(above))
	byName := func(name string) *update {
		at, _ := slices.BinarySearch(above, name)
		return &room[at]
	}
	all := make([]*update, len(above))
	for i, name := range above {
		all[i] = &room[i]
		room[i].name = name
	}
	slices.SortFunc(all, func(a, b *update) int { return a.compare(b.name) })
	for _, one := range due.of {
		byName(parent(one.name)).add(one)
	}
	planned := all[:0]
	for _, t := range all {
		if len(t.family) == 0 && !owed[t.name] {
			continue
		}
		look(t)
		p.compute(t, owed[t.name])
		planned = append(planned, t)
		if t.up && !t.next.closed {
			byName(parent(t.name)).add(t.report())
		}
	}
	return planned
}

func (t *update) add(r report) {
	if t.family == nil {
		t.family = t.one[:0]
	}
	switch at := slices.IndexFunc(t.family, func(of report) bool { return of.name == r.name }); {
	case at < 0:
		t.family = append(t.family, r)
	case r.slot.seq >= t.family[at].slot.seq:
		t.family[at] = r
	}
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

// drop removes the reports that plan has carried out.
func (r *reports) drop(plan []*update) {
	r.of = slices.DeleteFunc(r.of, func(one report) bool {
		at, found := slices.BinarySearchFunc(plan, parent(one.name), (*update).compare)
		return found && plan[at].done && slices.ContainsFunc(plan[at].family, func(of report) bool {
			return of.name == one.name && of.slot.seq >= one.slot.seq
		})
	})
}

// compare orders the deepest first.
func (t *update) compare(name string) int {
	return cmp.Or(cmp.Compare(len(name), len(t.name)), cmp.Compare(t.name, name))
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
