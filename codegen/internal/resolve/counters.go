package resolve

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func (b *builder) useCounter(m member, c tag.Clause) {
	name := cmp.Or(c.Get("name"), m.Name)
	b.model.Counters = append(b.model.Counters, &model.Counter{
		Model: b.model, Name: name, Stored: cmp.Or(c.Get("was"), name), Field: m.Name, Type: m.Type, Batch: c.Get("batch"),
		Pos: m.at(c),
	})
}

func (b *builder) useNumber(m member, c tag.Clause) {
	b.needStored(m, c)
	n := &model.Number{Of: b.byPart(c.Get("of")), If: b.condition(c.Get("if")), Pos: m.at(c)}
	if n.Of != nil && n.Of.Method {
		b.model.Methods[n.Of.Name] = n.Of.Type
	}
	if c.Word == "sum" && n.Of == nil {
		b.At(n.Pos, "sum=%s needs of=, the field or method to add up: write sum=%[1]s,of=Value", c.Value)
		return
	}
	b.numbers = append(b.numbers, pendingNumber{n, c.Word, b.model, m.Name, c.Value})
}

func resolveNumber(r *problem.Reporter, p *model.Package, n pendingNumber) {
	i := slices.IndexFunc(n.model.Indexes, func(x *model.Index) bool { return x.Word == "list" && len(x.Parts) == 1 && x.Parts[0].Name == n.field })
	if i < 0 {
		r.At(n.Pos, "%s=%s needs a list of the same field, which it follows: write list; %[1]s=%[2]s", n.word, n.target)
		return
	}
	list := n.model.Indexes[i]
	target, names := findCounter(p, n.target)
	switch {
	case target == nil:
		r.At(n.Pos, "%s=%s: no model of this package has such a counter; %s", n.word, n.target, english.Known(n.target, names))
	case target.List != nil:
		r.At(n.Pos, "%s=%s: that counter follows the list %s of %s already: give each count and sum a counter of its own", n.word, n.target, target.List.Name, target.List.Model.Name)
	case target.Model.IDType != nil && stored.KeyKind(list.Value) != stored.KeyKind(target.Model.IDType):
		r.At(n.Pos, "%s=%s: %s is not the id of a %s", n.word, n.target, n.field, target.Model.Name)
	case n.Of != nil && stored.IsBasic(target.Type, types.IsUnsigned):
		r.At(n.Pos, "sum=%s: a sum may be negative, and %s is unsigned: make it an int64", n.target, target.Field)
	default:
		n.Counter, target.List, target.Sum = target, list, n.Of != nil
		list.Numbers = append(list.Numbers, n.Number)
	}
}

// findCounter looks up Model.Field. names are those of all counters.
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

const batchByDefault = "window"

func (b *builder) finishCounters() {
	for _, c := range b.model.Counters {
		if c.Batch != "" && len(c.Followers()) == 0 {
			b.At(c.Pos, "batch=%s of %s says when rankings follow it, but none does: write counter,batch=%s; ranking", c.Batch, c.Field, c.Batch)
		}
		c.Batch = cmp.Or(c.Batch, batchByDefault)
	}
}
