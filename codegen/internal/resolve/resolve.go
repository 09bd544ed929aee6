// Package resolve is the second step: it builds models, and decides their ids, indexes and names,
// and the definitions of entries.
package resolve

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func Package(r *problem.Reporter, s *load.Source) *model.Package {
	p := &model.Package{Name: s.Name, Path: s.Path, Dir: s.Dir, Module: s.Module, Types: s.Types, Declared: slices.Collect(maps.Keys(s.Declared()))}
	var numbers []pendingNumber
	var parents []pendingParent
	for _, d := range s.Drafts {
		b := &builder{Reporter: r, source: s, draft: d}
		if b.build() {
			p.Models = append(p.Models, b.model)
			numbers = append(numbers, b.numbers...)
			parents = append(parents, b.parents...)
		}
	}
	for _, n := range numbers {
		resolveNumber(r, p, n)
	}
	slices.SortFunc(p.Models, func(a, b *model.Model) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range parents {
		resolveParent(r, p, c)
	}
	refuseLoops(r, p)
	finishPrivate(p)
	return p
}

func (b *builder) build() bool {
	d := b.draft
	named := b.resolved()
	if named == nil {
		return false
	}
	b.model = &model.Model{
		Name: d.Names.Model, Stored: d.Names.Stored, Collection: d.Names.Collection,
		Version: 1, Type: named, File: d.File.Path, Pos: d.Spec.Pos(), Methods: map[string]types.Type{},
	}
	b.tags = map[*types.Var]string{}
	fields := named.Underlying().(*types.Struct)
	for i := range fields.NumFields() {
		f, tag := fields.Field(i), fields.Tag(i)
		b.tags[f] = tag
		if stored.InRecord(f, tag) {
			b.stored = append(b.stored, f)
		}
	}
	for _, t := range d.Tags {
		b.useTag(t)
	}
	b.finishID()
	b.finishCounters()
	b.finishIndexes()
	return true
}

func (b *builder) useTag(t *load.Tagged) {
	m, ok := b.member(t)
	if !ok {
		return
	}
	for _, c := range t.Clauses {
		if wrong := c.Misfit(m.Type); wrong != "" {
			b.At(t.Text.Pos(c.Offset), "%s is not allowed on %s of type %s: %s", c.Word, m.Label(), stored.Describe(m.Type, b.source.Types), wrong)
			continue
		}
		if !b.checkOptions(t, c) {
			continue
		}
		if meaning := meanings[c.Word]; meaning.use != nil {
			meaning.use(b, m, c)
		} else {
			b.useIndex(m, c, meaning)
		}
	}
}

func (b *builder) checkOptions(t *load.Tagged, c tag.Clause) bool {
	ok := true
	for _, o := range c.Options {
		at := t.Text.Pos(o.Offset)
		switch named := c.Reference(o); {
		case named.Condition && b.condition(o.Value) == nil:
			b.At(at, "if=%s: want a stored bool field of %s, or a method func (*%s) %s() bool; %s",
				o.Value, b.model.Name, b.draft.Name, o.Value, english.Known(o.Value, b.conditions()))
			ok = false
		case named.By != nil:
			ok = b.namesBy(o, named.By, at) && ok
		case named.Field != nil:
			ok = b.namesField(o, named.Field, at) && ok
		}
	}
	return ok
}

func (b *builder) namesField(o tag.Option, misfit func(types.Type) string, at token.Pos) bool {
	f := b.field(o.Value)
	if f == nil {
		b.At(at, "%s=%s: %s has no such field; %s", o.Name, o.Value, b.model.Name, english.Known(o.Value, b.fieldNames()))
		return false
	}
	if wrong := misfit(f.Type()); wrong != "" {
		b.At(at, "%s=%s: %s is of type %s: %s", o.Name, o.Value, o.Value, stored.Describe(f.Type(), b.source.Types), wrong)
		return false
	}
	return true
}

func (b *builder) finishIndexes() {
	for _, x := range b.model.Indexes {
		x.Def = meanings[x.Word].def(x)
		if c := x.Condition(); c != nil {
			x.Def += " if " + c.Name
		}
	}
}
