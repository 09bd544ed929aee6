package codegen

import (
	"cmp"
	"slices"
	"strings"
)

// useCounter takes the field m as one that shows a counter.
func (b *builder) useCounter(m member, c Clause) {
	name := cmp.Or(c.Get("name"), m.Name)
	b.model.Counters = append(b.model.Counters, &Counter{
		Model: b.model, Name: name, Stored: cmp.Or(c.Get("was"), name), Field: m.Name, Type: m.Type, Batch: c.Get("batch"),
		Pos: m.text.pos(c.Offset),
	})
}

// useCount takes the field m as one whose lists a counter follows.
func (b *builder) useCount(m member, c Clause) {
	b.needStored(m, c)
	b.counts = append(b.counts, pendingCount{b.model, m.Name, c.Value, m.text.pos(c.Offset)})
}

// resolveCounts finds the counters that follow lists.
func resolveCounts(r *reporter, p *Package, counts []pendingCount) {
	for _, c := range counts {
		resolveCount(r, p, c)
	}
}

func resolveCount(r *reporter, p *Package, c pendingCount) {
	m := c.model
	i := slices.IndexFunc(m.Indexes, func(x *Index) bool { return x.Word == "list" && len(x.Parts) == 1 && x.Parts[0].Name == c.field })
	if i < 0 {
		r.at(c.pos, "count=%s needs a list of the same field, which it counts: write list; count=%s", c.target, c.target)
		return
	}
	list := m.Indexes[i]
	target := counter(p, c.target)
	switch {
	case target == nil:
		r.at(c.pos, "count=%s: no model of this package has such a counter; %s", c.target, known(c.target, counters(p)))
	case list.Count != nil:
		r.at(c.pos, "count=%s: the list %s is counted in %s.%s already", c.target, list.Name, list.Count.Model.Name, list.Count.Name)
	case target.Model.IDType != nil && keyKind(list.Value) != keyKind(target.Model.IDType):
		r.at(c.pos, "count=%s: %s is not the id of a %s", c.target, c.field, target.Model.Name)
	default:
		list.Count = target
	}
}

// counter returns the counter called Model.Field, nil if there is none.
func counter(p *Package, name string) *Counter {
	model, field, _ := strings.Cut(name, ".")
	for _, m := range p.Models {
		for _, c := range m.Counters {
			if m.Name == model && c.Field == field {
				return c
			}
		}
	}
	return nil
}

func counters(p *Package) []string {
	var names []string
	for _, m := range p.Models {
		for _, c := range m.Counters {
			names = append(names, m.Name+"."+c.Field)
		}
	}
	return names
}

// batchByDefault is the batch of counters whose tag says none.
const batchByDefault = "window"

// finishCounters settles when rankings follow the counters.
func (b *builder) finishCounters() {
	for _, c := range b.model.Counters {
		if c.Batch != "" && len(c.Followers()) == 0 {
			b.at(c.Pos, "batch=%s of %s says when rankings follow it, but none does: write counter,batch=%s; ranking", c.Batch, c.Field, c.Batch)
		}
		c.Batch = cmp.Or(c.Batch, batchByDefault)
	}
}
