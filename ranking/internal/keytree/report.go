package keytree

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// report says what the slot of a page is to be in the router above it. Counts
// are absolute and have the page's sequence number, so a report that comes
// twice, late or never does no lasting harm.
type report struct {
	name string // of the page
	slot slot
}

// reports are those to be made: of each page the last.
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

// report makes the reports that are due, and what follows from them further up:
// level by level, from the lowest, one write for each router.
func (p *pages) report(ctx context.Context, s kvmodel.Store, due *reports) error {
	for len(due.of) > 0 {
		names := slices.SortedFunc(maps.Keys(due.of), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		var works []func(kvmodel.Store) error
		var up reports
		for _, family := range families(names) {
			works = append(works, func(s kvmodel.Store) error { return p.reportTo(ctx, s, parent(family[0]), family, due, &up) })
		}
		errs := kvmodel.Together(ctx, s, works...)
		for _, family := range families(names) {
			for _, name := range family {
				delete(due.of, name)
			}
		}
		due.merge(&up)
		for _, err := range errs {
			if err != nil && !again(err) {
				return err
			}
		}
	}
	return nil
}

// families returns those of the sorted names that are on the lowest level,
// brothers together.
func families(names []string) [][]string {
	var all [][]string
	for _, name := range names {
		if len(name) < len(names[0]) {
			break
		}
		if n := len(all); n > 0 && parent(all[n-1][0]) == parent(name) {
			all[n-1] = append(all[n-1], name)
			continue
		}
		all = append(all, []string{name})
	}
	return all
}

// reportTries is how often a report is tried; the next one heals what is lost.
const reportTries = 5

// reportTo writes the reports of family into the router above them.
func (p *pages) reportTo(ctx context.Context, s kvmodel.Store, name string, family []string, due, up *reports) error {
	for range reportTries {
		got, err := p.get(ctx, s, name)
		if err != nil {
			return err
		}
		if got[0].router == nil {
			return nil
		}
		next, changed := got[0].router.with(family, due)
		if !changed {
			return nil
		}
		upward := name != "" && p.settle(got[0].router, next)
		err = p.write(ctx, s, name, got[0], next.encode())
		if err == nil {
			p.local.remember(p.key(name), next)
			if upward {
				up.add(report{name, slot{next.pushed, next.seq, next.closed}})
			}
		}
		if !again(err) {
			return err
		}
	}
	return nil
}

// with returns r with the slots of family as reported, where that is newer.
func (r *router) with(family []string, due *reports) (next *router, changed bool) {
	next = new(router)
	*next = *r
	next.seq++
	for _, name := range family {
		at := &next.slots[child(parent(name), name)]
		if now := due.of[name]; now.seq > at.seq {
			*at = now
			changed = true
		}
	}
	return next, changed
}

// settle closes next, which follows old, if nothing is below it any more, and
// tells whether the page above is to be told of next.
func (p *pages) settle(old, next *router) bool {
	next.closed = next.empty()
	pushed, due := p.due(next.pushed, next.total(), next.total()/256)
	if due || next.closed != old.closed {
		next.pushed = pushed
		return true
	}
	return false
}

// In a small tree every change of a count is reported, so that places and lengths
// are right where somebody could count. In a larger one a report is due when a
// count has moved by largeDrift, or by the 256th of a router's total.
const (
	smallTree  = 8192
	largeDrift = 4
)

// due returns what a page that has now members is to report, and whether it is to,
// where pushed is what it has last reported and allowed how far that may be off.
//
// Between two reports a count goes on as it went before, as a rule. So a report
// is a part of the way ahead, and of many pages some are ahead and some behind.
func (p *pages) due(pushed, now, allowed int) (report int, due bool) {
	if p.size() <= p.small {
		return now, now != pushed
	}
	allowed = max(largeDrift, allowed)
	switch ahead := allowed/2 - 1; {
	case now-pushed >= allowed:
		return now + ahead, true
	case pushed-now >= allowed:
		return max(1, now-ahead), true
	}
	return pushed, false
}

// size returns how many members the tree had when this process last saw its root
// as a router, 0 if it has not.
func (p *pages) size() int {
	if r, _ := p.local.router(p.key("")); r != nil {
		return r.total()
	}
	return 0
}
