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
// level by level, from the lowest, one write for each router, and one trip for each
// level, since those above are read next to the writes of those below.
func (p *pages) report(ctx context.Context, s kvmodel.Store, due *reports) error {
	above := make(map[string]page)
	for len(due.of) > 0 {
		names := slices.SortedFunc(maps.Keys(due.of), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		var works []func(kvmodel.Store) error
		var up reports
		for _, family := range families(names) {
			f := &familyReport{pages: p, name: parent(family[0]), family: family, due: due, up: &up, above: above}
			works = append(works, func(s kvmodel.Store) error { return f.make(ctx, s) })
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

// familyReport is the report of brothers to the router called name above them.
type familyReport struct {
	*pages
	name    string
	family  []string
	due, up *reports
	above   map[string]page // routers that were read ahead
}

func (f *familyReport) make(ctx context.Context, s kvmodel.Store) error {
	got, read := f.above[f.name]
	for range reportTries {
		if !read {
			now, err := f.get(ctx, s, f.name)
			if err != nil {
				return err
			}
			got = now[0]
		}
		if got.router == nil {
			return nil
		}
		next, changed := got.router.with(f.family, f.due)
		if !changed {
			return nil
		}
		if err := f.write(ctx, s, got, next); !again(err) {
			return err
		}
		read = false
	}
	return nil
}

// write stores next in the place of old, and reads the router above if that is to
// be told.
func (f *familyReport) write(ctx context.Context, s kvmodel.Store, old page, next *router) error {
	upward := f.name != "" && f.settle(old.router, next)
	works := []func(kvmodel.Store) error{
		func(s kvmodel.Store) error { return f.pages.write(ctx, s, f.name, old, next.encode()) },
	}
	if upward {
		works = append(works, func(s kvmodel.Store) error {
			got, err := f.get(ctx, s, parent(f.name))
			if err == nil {
				f.above[parent(f.name)] = got[0]
			}
			return err
		})
	}
	errs := kvmodel.Together(ctx, s, works...)
	if errs[0] != nil {
		return errs[0]
	}
	f.local.remember(f.key(f.name), next)
	if upward {
		f.up.add(report{f.name, slot{next.pushed, next.seq, next.closed}})
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
