package codegen

import (
	"cmp"
	"go/token"
	"slices"
	"strings"
)

// useCounter takes the field m as one that shows a counter.
func (b *builder) useCounter(m member, c Clause) {
	name := cmp.Or(c.Get("name"), m.Name)
	b.model.Counters = append(b.model.Counters, &Counter{
		Model: b.model, Name: name, Stored: cmp.Or(c.Get("was"), name), Field: m.Name, Type: m.Type, Batch: c.Get("batch"),
		pos: m.text.pos(c.Offset),
	})
}

// A pendingCount is a count clause whose counter is looked for when all models
// are known.
type pendingCount struct {
	field, target string
	pos           token.Pos
}

// useCount takes the field m as one whose lists a counter follows.
func (b *builder) useCount(m member, c Clause) {
	b.needStored(m, c)
	b.model.counts = append(b.model.counts, pendingCount{m.Name, c.Value, m.text.pos(c.Offset)})
}

// resolveCounts finds the counters that follow lists.
func (p *Package) resolveCounts(r *reporter) {
	for _, m := range p.Models {
		for _, c := range m.counts {
			p.resolveCount(r, m, c)
		}
	}
}

func (p *Package) resolveCount(r *reporter, m *Model, c pendingCount) {
	i := slices.IndexFunc(m.Indexes, func(x *Index) bool { return x.Clause.Word == "list" && len(x.Parts) == 1 && x.Parts[0].Name == c.field })
	if i < 0 {
		r.at(c.pos, "count=%s needs a list of the same field, which it counts: write list; count=%s", c.target, c.target)
		return
	}
	list := m.Indexes[i]
	target := p.counter(c.target)
	switch {
	case target == nil:
		r.at(c.pos, "count=%s: no model of this package has such a counter; %s", c.target, known(c.target, p.counters()))
	case list.Count != nil:
		r.at(c.pos, "count=%s: the list %s is counted in %s.%s already", c.target, list.Name, list.Count.Model.Name, list.Count.Name)
	case target.Model.IDType != nil && keyKind(list.Value) != keyKind(target.Model.IDType):
		r.at(c.pos, "count=%s: %s is not the id of a %s", c.target, c.field, target.Model.Name)
	default:
		list.Count = target
	}
}

// counter returns the counter called Model.Field, nil if there is none.
func (p *Package) counter(name string) *Counter {
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

func (p *Package) counters() []string {
	var names []string
	for _, m := range p.Models {
		for _, c := range m.Counters {
			names = append(names, m.Name+"."+c.Field)
		}
	}
	return names
}

// counted returns which counter follows x, for the comment beside it.
func (x *Index) counted() string {
	if x.Count == nil {
		return ""
	}
	return "; counted in " + x.Count.Model.Name + "." + x.Count.Field
}
