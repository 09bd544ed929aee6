package check

import (
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

// The kinds of a model's former features, as named in the lock file.
const (
	goneIndex   = "index"
	goneCounter = "counter"
	goneHistory = "history"
)

// recallGone notes on the models of p the features that they had in old and no longer have.
func recallGone(p *model.Package, old *lock) {
	for _, m := range p.Models {
		was := old.model(m.Stored)
		if was == nil {
			continue
		}
		for _, x := range slices.Concat(was.gone, asGone(goneIndex, was.indexes), asGone(goneCounter, was.counters), asGone(goneHistory, was.history)) {
			noteGone(m, x.name, x.form)
		}
		slices.Sort(m.Gone.Indexes)
		slices.Sort(m.Gone.Counters)
	}
}

// asGone returns items of a kind in the lock file's form for former features.
func asGone(kind string, items []lockedItem) (gone []lockedItem) {
	for _, it := range items {
		gone = append(gone, lockedItem{name: kind, form: it.name})
	}
	return gone
}

// noteGone notes a former feature of m, by kind and name, unless m has it again.
func noteGone(m *model.Model, kind, name string) {
	isTotal := m.Total && name == model.TotalName
	switch kind {
	case goneIndex:
		if name == model.TotalName { // Its numbers are those of a counter.
			m.Gone.Counters = with(m.Gone.Counters, name, isTotal)
		}
		has := isTotal || slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Stored == name || x.Values && x.ValuesStored() == name })
		m.Gone.Indexes = with(m.Gone.Indexes, name, has)
	case goneCounter:
		has := isTotal || slices.ContainsFunc(m.Counters, func(c *model.Counter) bool { return c.Stored == name }) ||
			slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Values && !x.Counted() && x.ValuesStored() == name })
		m.Gone.Counters = with(m.Gone.Counters, name, has)
	case goneHistory:
		m.Gone.History = m.History == 0
	}
}

// with returns names with name added, unless it is there or unwanted.
func with(names []string, name string, unwanted bool) []string {
	if unwanted || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// goneOf returns g for the lock file.
func goneOf(g *model.Gone) (items []lockedItem) {
	for _, name := range g.Counters {
		items = append(items, lockedItem{name: goneCounter, form: name})
	}
	if g.History {
		items = append(items, lockedItem{name: goneHistory})
	}
	for _, name := range g.Indexes {
		items = append(items, lockedItem{name: goneIndex, form: name})
	}
	return items
}
