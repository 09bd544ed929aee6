package resolve

import (
	"cmp"
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// useCounter makes m a field that shows a counter.
func (b *builder) useCounter(m member, c tag.Clause) {
	name := cmp.Or(c.Get("name"), m.Name)
	b.model.Counters = append(b.model.Counters, &model.Counter{
		Model: b.model, Name: name, Stored: cmp.Or(c.Get("was"), name), Field: m.Name, Type: m.Type, Batch: c.Get("batch"),
		Pos: m.at(c),
	})
}

// useCount makes a counter follow the lists of the field m.
func (b *builder) useCount(m member, c tag.Clause) {
	b.needStored(m, c)
	b.counts = append(b.counts, pendingCount{b.model, m.Name, c.Value, m.at(c)})
}

// resolveCount finds the list of c and the counter that follows it.
func resolveCount(r *problem.Reporter, p *model.Package, c pendingCount) {
	i := slices.IndexFunc(c.model.Indexes, func(x *model.Index) bool { return x.Word == "list" && len(x.Parts) == 1 && x.Parts[0].Name == c.field })
	if i < 0 {
		r.At(c.pos, "count=%s needs a list of the same field, which it counts: write list; count=%s", c.target, c.target)
		return
	}
	list := c.model.Indexes[i]
	target, names := findCounter(p, c.target)
	switch {
	case target == nil:
		r.At(c.pos, "count=%s: no model of this package has such a counter; %s", c.target, english.Known(c.target, names))
	case list.Count != nil:
		r.At(c.pos, "count=%s: the list %s is counted in %s.%s already", c.target, list.Name, list.Count.Model.Name, list.Count.Name)
	case target.List != nil:
		r.At(c.pos, "count=%s counts the list %s of %s already: give each list a counter of its own", c.target, target.List.Name, target.List.Model.Name)
	case target.Model.IDType != nil && stored.KeyKind(list.Value) != stored.KeyKind(target.Model.IDType):
		r.At(c.pos, "count=%s: %s is not the id of a %s", c.target, c.field, target.Model.Name)
	default:
		list.Count, list.CountAt, target.List = target, c.pos, list
	}
}

// findCounter returns the counter called name, Model.Field, or nil, and the names of all counters.
func findCounter(p *model.Package, name string) (found *model.Counter, names []string) {
	for _, m := range p.Models {
		for _, c := range m.Counters {
			names = append(names, m.Name+"."+c.Field)
			if names[len(names)-1] == name {
				found = c
			}
		}
	}
	return found, names
}

// batchByDefault is the default batch of counters.
const batchByDefault = "window"

// finishCounters sets the batches of the counters.
func (b *builder) finishCounters() {
	for _, c := range b.model.Counters {
		if c.Batch != "" && len(c.Followers()) == 0 {
			b.At(c.Pos, "batch=%s of %s says when rankings follow it, but none does: write counter,batch=%s; ranking", c.Batch, c.Field, c.Batch)
		}
		c.Batch = cmp.Or(c.Batch, batchByDefault)
	}
}
