package codegen

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// resolve returns the package that s declares and reports what is wrong with its models.
func resolve(r *reporter, s *source) *Package {
	p := &Package{Name: s.name, Path: s.path, Dir: s.dir, Types: s.types, Declared: slices.Collect(maps.Keys(s.declared()))}
	var counts []pendingCount
	for _, d := range s.drafts {
		b := &builder{scope: scope{r, s}, draft: d}
		if b.build() {
			p.Models = append(p.Models, b.model)
			counts = append(counts, b.counts...)
		}
	}
	resolveCounts(r, p, counts)
	slices.SortFunc(p.Models, func(a, b *Model) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// build makes the model of the draft and reports whether its types are known.
func (b *builder) build() bool {
	d := b.draft
	named := b.resolved(d)
	if named == nil {
		return false
	}
	b.fields = named.Underlying().(*types.Struct)
	b.model = &Model{
		Name: d.names.model, Stored: d.names.stored, Collection: d.names.collection,
		Version: 1, Type: named, File: d.file.path, Pos: d.spec.Pos(),
	}
	for _, t := range d.tags {
		b.useTag(t)
	}
	b.finishID()
	b.finishCounters()
	b.finishIndexes()
	return true
}

// useTag gives the clauses of t their meaning.
func (b *builder) useTag(t *tagged) {
	m, ok := b.member(t)
	if !ok {
		return
	}
	for _, c := range t.clauses {
		if wrong := c.misfit(m.Type); wrong != "" {
			b.at(t.text.pos(c.Offset), "%s cannot stand on %s of type %s: %s", c.Word, m.Label(), describe(m.Type, b.source.types), wrong)
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

// checkOptions reports options of c that name nothing that they can.
func (b *builder) checkOptions(t *tagged, c Clause) bool {
	ok := true
	for _, o := range c.Options {
		at := t.text.pos(o.Offset)
		switch named := c.reference(o); {
		case named.condition && b.condition(o.Value) == nil:
			b.at(at, "if=%s: want a stored bool field of %s, or a method func (*%s) %s() bool; %s",
				o.Value, b.model.Name, b.draft.name, o.Value, known(o.Value, b.conditions()))
			ok = false
		case named.field != nil:
			ok = b.namesField(o, named.field, at) && ok
		}
	}
	return ok
}

// namesField reports whether o names a stored field, of a type that misfit does
// not complain about.
func (b *builder) namesField(o Option, misfit func(types.Type) string, at token.Pos) bool {
	f := b.field(o.Value)
	if f == nil {
		b.at(at, "%s=%s: %s has no such field; %s", o.Name, o.Value, b.model.Name, known(o.Value, b.fieldNames()))
		return false
	}
	if wrong := misfit(f.Type()); wrong != "" {
		b.at(at, "%s=%s: %s is of type %s: %s", o.Name, o.Value, o.Value, describe(f.Type(), b.source.types), wrong)
		return false
	}
	return true
}

// finishIndexes settles what the entries of the indexes are.
func (b *builder) finishIndexes() {
	for _, x := range b.model.Indexes {
		x.Def = meanings[x.Word].def(x)
		if c := x.Condition(); c != nil {
			x.Def += " if " + c.Name
		}
	}
}
