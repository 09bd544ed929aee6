package resolve

import (
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// A pendingParent is resolved when all models are known.
type pendingParent struct {
	list *model.Index
	name string
}

func resolveParent(r *problem.Reporter, p *model.Package, c pendingParent) {
	list, names := c.list, []string(nil)
	for _, m := range p.Models {
		if m.Events == nil {
			names = append(names, m.Name)
		}
	}
	i := slices.IndexFunc(p.Models, func(m *model.Model) bool { return m.Name == c.name && m.Events == nil })
	if i < 0 {
		r.At(list.Pos, "with=%s: this package has no such model; %s", c.name, english.Known(c.name, names))
		return
	}
	parent := p.Models[i]
	switch {
	case list.Many:
		r.At(list.Pos, "with=%s: %s has many values, and a record with one of them may belong to others too", c.name, list.Parts[0].Label())
	case parent.IDType != nil && stored.KeyKind(list.Value) != stored.KeyKind(parent.IDType):
		r.At(list.Pos, "with=%s: %s is not the id of %s", c.name, english.List(model.Labels(list.Parts)), english.Article(c.name))
	case list.Condition() != nil:
		r.At(list.Pos, "with=%s: the list holds only what is %s, so the other %s would stay: say if= in the clauses that need it", c.name, list.Condition().Name, list.Model.Collection)
	case parent.Expires != "":
		r.At(list.Pos, "with=%s: records of %s expire, and nothing would delete their children then", c.name, c.name)
	default:
		list.Parent = parent
		parent.Children = append(parent.Children, list)
	}
}

func refuseLoops(r *problem.Reporter, p *model.Package) {
	for _, m := range p.Models {
		if loop := loopFrom(m, nil); loop != nil {
			list := loop[0]
			r.At(list.Pos, "with=%s: a deletion would never end, since %s", list.Parent.Name, strings.Join(steps(loop), " and "))
			return
		}
	}
}

// loopFrom returns the lists of a cycle of deletions from m, or nil.
func loopFrom(m *model.Model, way []*model.Index) []*model.Index {
	if i := slices.IndexFunc(way, func(x *model.Index) bool { return x.Parent == m }); i >= 0 {
		return way[i:]
	}
	for _, list := range m.Children {
		if loop := loopFrom(list.Model, append(way[:len(way):len(way)], list)); loop != nil {
			return loop
		}
	}
	return nil
}

func steps(lists []*model.Index) (all []string) {
	for _, x := range lists {
		all = append(all, english.Article(x.Parent.Name)+" takes "+x.Model.Collection+" along")
	}
	return all
}
