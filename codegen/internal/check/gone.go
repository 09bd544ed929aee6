package check

import (
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

// recallGone notes the features that the models had in old and no longer have.
func recallGone(p *model.Package, old *lock) {
	for _, m := range p.Models {
		was := old.model(m.Stored)
		if was == nil {
			continue
		}
		for _, x := range was.items["gone"] {
			noteGone(m, x.name, x.form)
		}
		for _, word := range []string{"index", "counter", "history"} {
			for _, x := range was.items[word] {
				noteGone(m, word, x.name)
			}
		}
		slices.Sort(m.Gone.Indexes)
		slices.Sort(m.Gone.Counters)
	}
}

func noteGone(m *model.Model, kind, name string) {
	isTotal := m.Total && name == model.TotalName
	switch kind {
	case "index":
		if name == model.TotalName {
			m.Gone.Counters = with(m.Gone.Counters, name, isTotal)
		}
		has := isTotal || slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Stored == name || x.Values && x.ValuesStored() == name })
		m.Gone.Indexes = with(m.Gone.Indexes, name, has)
	case "counter":
		has := isTotal || slices.ContainsFunc(m.Counters, func(c *model.Counter) bool { return c.Stored == name }) ||
			slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Values && !x.Counted() && x.ValuesStored() == name })
		m.Gone.Counters = with(m.Gone.Counters, name, has)
	case "history":
		m.Gone.History = m.History == 0
	}
}

func with(names []string, name string, unwanted bool) []string {
	if unwanted || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func goneOf(g *model.Gone) (items []lockedItem) {
	for _, name := range g.Counters {
		items = append(items, lockedItem{name: "counter", form: name})
	}
	if g.History {
		items = append(items, lockedItem{name: "history"})
	}
	for _, name := range g.Indexes {
		items = append(items, lockedItem{name: "index", form: name})
	}
	return items
}
