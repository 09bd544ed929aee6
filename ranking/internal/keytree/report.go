package keytree

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// report says what the slot of a node is to be in the router above it. Counts
// are absolute and have the node's sequence number, so a report that comes
// twice, late or never does no lasting harm.
type report struct {
	name string // of the node
	slot slot
}

// reports are those to be made: of each node the last.
type reports struct{ of map[string]slot }

func (r *reports) add(one report) {
	if r.of == nil {
		r.of = make(map[string]slot)
	}
	if one.slot.seq >= r.of[one.name].seq {
		r.of[one.name] = one.slot
	}
}

// merge adds all of other, once a change that may be one of many is done.
func (r *reports) merge(other *reports) {
	for name, slot := range other.of {
		r.add(report{name, slot})
	}
}

// report makes the reports that are due, and what follows from them further up,
// in rounds of two trips: all routers that will change, as far as is known
// beforehand, are read side by side and then written side by side.
//
// So a router is told of one below whose write may then be refused. Until that is
// written again, with a greater sequence number, and told anew, a count is wrong.
// A router that closes is told of only once it is written: that must be true.
func (p *nodes) report(ctx context.Context, s kv.Store, due *reports) error {
	owed := make(map[string]bool)
	for tries := 0; len(due.of)+len(owed) > 0 && tries < reportTries; {
		refused, err := p.reportRound(ctx, s, due, owed)
		if err != nil {
			return err
		}
		if refused {
			tries++
		}
	}
	return nil
}

// reportTries is how often a report is tried; the next one heals what is lost.
const reportTries = 8

// reportRound makes as many of the reports that are due as it can in two trips,
// and adds those that follow. Owed are routers of which the node above has been
// told what was not written. It reports whether a write was refused.
func (p *nodes) reportRound(ctx context.Context, s kv.Store, due *reports, owed map[string]bool) (refused bool, err error) {
	plan, err := p.readPlan(ctx, s, due, owed)
	if err != nil {
		return false, err
	}
	works := make([]func(kv.Store) error, len(plan))
	for i, t := range plan {
		works[i] = func(s kv.Store) error { return t.write(ctx, s, p) }
	}
	lost := make(map[string]bool)
	for i, e := range kv.Together(ctx, s, works...) {
		t := plan[i]
		switch {
		case e != nil:
			lost[t.name] = true
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
			t.owes(lost, owed)
		}
	}
	return len(lost) > 0, err
}

// owes adds those of t's family to owed that were lost, of which t was told.
func (t *update) owes(lost, owed map[string]bool) {
	for _, of := range t.family {
		if lost[of.name] {
			owed[of.name] = true
		}
	}
}

// readPlan returns the plan for what is due, by the routers as they are now.
func (p *nodes) readPlan(ctx context.Context, s kv.Store, due *reports, owed map[string]bool) ([]*update, error) {
	var names []string
	for _, t := range p.plan(due, owed, p.remembered) {
		names = append(names, t.name)
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

// update is what a router is told of nodes below it.
type update struct {
	name   string
	family []report // of nodes below
	known  bool     // whether it is known what the router is; if not, all else waits
	old    node
	next   *router // what it becomes; nil: it is no router, or nothing changes
	up     bool    // the router above is to be told of next
}

func (t *update) report() report {
	return report{t.name, slot{t.next.pushed, t.next.seq, t.next.closed}}
}

func (t *update) write(ctx context.Context, s kv.Store, p *nodes) error {
	if t.next == nil {
		return nil
	}
	err := p.write(ctx, s, t.name, t.old, t.next.encode())
	if err == nil {
		p.local.remember(p.key(t.name), t.next)
	}
	return err
}

// plan returns what becomes of routers by the reports that are due, from the
// lowest up, where look says what the routers are, if that is known.
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

// compute finds out what the reports of a family make of the router above it. That
// is written again, and the one above it told, if that is owed.
func (p *nodes) compute(t *update, owed bool) {
	if t.old.router == nil {
		return
	}
	next, changed := t.old.router.with(t.family)
	if !changed && !owed {
		return
	}
	t.next = next
	t.up = t.name != "" && (p.settle(t.old.router, next) || owed)
}

// families returns the reports by the name of the router that they go to.
func (r *reports) families() map[string][]report {
	families := make(map[string][]report)
	for name, slot := range r.of {
		families[parent(name)] = append(families[parent(name)], report{name, slot})
	}
	return families
}

// lowestOf returns the names of the lowest routers, in order.
func lowestOf(families map[string][]report) []string {
	names := slices.SortedFunc(maps.Keys(families), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	end := slices.IndexFunc(names, func(name string) bool { return len(name) < len(names[0]) })
	if end < 0 {
		return names
	}
	return names[:end]
}

// drop forgets the reports of family, unless there are newer ones.
func (r *reports) drop(family []report) {
	for _, of := range family {
		if r.of[of.name].seq <= of.slot.seq {
			delete(r.of, of.name)
		}
	}
}

// with returns r with the slots of family as reported, where that is newer.
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

// settle closes next, which follows old, if nothing is below it any more, and
// reports whether the node above is to be told of next.
func (p *nodes) settle(old, next *router) bool {
	next.closed = next.empty()
	pushed, due := p.due(next.pushed, next.total(), max(routerDrift, next.total()/128))
	if due || next.closed != old.closed {
		next.pushed = pushed
		return true
	}
	return false
}

// In a small tree every change of a count is reported, so that places and lengths
// are right where somebody could count. In a larger one a report is due when the
// count of a leaf has moved by leafDrift, and that of a router by routerDrift or by
// the 128th of it.
const (
	smallTree   = 8192
	leafDrift   = 4
	routerDrift = 6
)

// due returns what a node that has now members is to report, and whether it is to,
// where pushed is what it has last reported and allowed how far that may be off.
//
// Between two reports a count goes on as it went before, as a rule. So a report
// is a part of the way ahead, and of many nodes some are ahead and some behind.
func (p *nodes) due(pushed, now, allowed int) (report int, due bool) {
	if p.size() <= p.small {
		return now, now != pushed
	}
	switch ahead := allowed / 2; {
	case now-pushed >= allowed:
		return now + ahead, true
	case pushed-now >= allowed:
		return max(1, now-ahead), true
	}
	return pushed, false
}

// size returns how many members the tree had when this process last saw its root
// as a router, 0 if it has not.
func (p *nodes) size() int {
	if r, _ := p.local.router(p.key("")); r != nil {
		return r.total()
	}
	return 0
}
