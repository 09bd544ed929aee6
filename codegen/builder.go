package codegen

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A member is a field or method under a tag, with its type.
type member struct {
	Part
	*tagged
}

// A builder makes the models of one package.
type builder struct {
	*reporter
	source *source
	draft  *draft
	model  *Model
}

// buildPackage returns the package that s declares and reports what is wrong with its models.
func buildPackage(r *reporter, s *source) *Package {
	p := &Package{Name: s.name, Path: s.path, Dir: s.dir, source: s}
	for _, d := range s.drafts {
		b := &builder{reporter: r, source: s, draft: d}
		if m := b.build(); m != nil {
			p.Models = append(p.Models, m)
		}
	}
	p.resolveCounts(r)
	slices.SortFunc(p.Models, func(a, b *Model) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// build returns the model of the draft, nil if its types cannot be known.
func (b *builder) build() *Model {
	d := b.draft
	named := b.source.named(d.name)
	if named == nil || !b.resolved(named) {
		return nil
	}
	b.model = &Model{
		Name: d.names.model, Stored: d.names.stored, Collection: d.names.collection,
		Version: 1, Type: named, File: d.file.path, pos: d.spec.Pos(),
	}
	for _, t := range d.tags {
		b.useTag(t)
	}
	b.finishID()
	b.finishKept()
	b.finishIndexes()
	b.finishCounters()
	b.checkHooks()
	b.checkCodec()
	return b.model
}

// useTag gives the clauses of t their meaning.
func (b *builder) useTag(t *tagged) {
	m, ok := b.member(t)
	if !ok {
		return
	}
	for _, c := range t.clauses {
		at := t.text.pos(c.Offset)
		if c.word.fits != nil {
			if wrong := c.word.fits(m.Type); wrong != "" {
				b.at(at, "%s cannot stand on %s of type %s: %s", c.Word, m.Label(), describe(m.Type, b.source.types), wrong)
				continue
			}
		}
		if !b.checkOptions(t, c) {
			continue
		}
		switch {
		case c.word.emit != nil:
			b.useIndex(m, c)
		default:
			c.word.use(b, m, c)
		}
	}
}

// member returns the field or method under t, false if it was reported before.
func (b *builder) member(t *tagged) (member, bool) {
	if t.site == OnModel {
		return member{Part{Name: "_", Type: types.NewStruct(nil, nil)}, t}, true
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, t.name)
	switch o := obj.(type) {
	case *types.Var:
		return member{Part{t.name, b.storedAs(o), o.Type(), false}, t}, true
	case *types.Func:
		result := o.Signature().Results().At(0).Type()
		if !b.valid(result, t.pos, t.name+"()") {
			return member{}, false
		}
		b.model.checks = append(b.model.checks, t.name)
		return member{Part{t.name, t.name + "()", result, true}, t}, true
	}
	b.at(t.pos, "cannot find %s in %s", t.name, b.model.Name)
	return member{}, false
}

// checkOptions reports options of c that name nothing that they can.
func (b *builder) checkOptions(t *tagged, c Clause) bool {
	ok := true
	for _, o := range c.Options {
		option, _ := c.word.option(o.Name)
		at := t.text.pos(o.Offset)
		switch {
		case option.refers == conditionRef && b.condition(o.Value) == nil:
			b.at(at, "if=%s: want a stored bool field of %s, or a method func (*%s) %s() bool; %s",
				o.Value, b.model.Name, b.draft.name, o.Value, known(o.Value, b.conditions()))
			ok = false
		case option.refers == keyField || option.refers == anyField:
			ok = b.reference(o, option.refers, at) && ok
		}
	}
	return ok
}

// reference reports whether o names a stored field, and one that can be a key if it must.
func (b *builder) reference(o Option, wanted reference, at token.Pos) bool {
	f := b.field(o.Value)
	if f == nil {
		b.at(at, "%s=%s: %s has no such field; %s", o.Name, o.Value, b.model.Name, known(o.Value, b.fieldNames()))
		return false
	}
	if wrong := keyType(f.Type()); wanted == keyField && wrong != "" {
		b.at(at, "%s=%s: %s is of type %s: %s", o.Name, o.Value, o.Value, describe(f.Type(), b.source.types), wrong)
		return false
	}
	return true
}

// condition returns the stored bool field or the method called name, nil if
// there is none.
func (b *builder) condition(name string) *Condition {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, name)
	switch o := obj.(type) {
	case *types.Func:
		if types.TypeString(o.Type(), nil) == "func() bool" {
			b.model.checks = append(b.model.checks, name)
			return &Condition{name, true}
		}
	case *types.Var:
		if types.Identical(o.Type(), types.Typ[types.Bool]) && b.field(name) != nil {
			return &Condition{name, false}
		}
	}
	return nil
}

// conditions returns the names that if= can stand for.
func (b *builder) conditions() []string {
	var names []string
	for f := range b.fields() {
		if types.Identical(f.Type(), types.Typ[types.Bool]) {
			names = append(names, f.Name())
		}
	}
	methods := types.NewMethodSet(types.NewPointer(b.model.Type))
	for m := range methods.Methods() {
		if types.TypeString(m.Type(), nil) == "func() bool" {
			names = append(names, m.Obj().Name())
		}
	}
	return names
}

// field returns the stored field of the model called name, nil if there is none.
func (b *builder) field(name string) *types.Var {
	for f := range b.fields() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// storedAs returns the name under which the field f is stored.
func (b *builder) storedAs(f *types.Var) string {
	s := b.model.Type.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i) == f {
			return cmp.Or(parseMsgpackTag(s.Tag(i)).name, f.Name())
		}
	}
	return f.Name()
}

func (b *builder) fieldNames() []string {
	var names []string
	for f := range b.fields() {
		names = append(names, f.Name())
	}
	return names
}

// fields yields the fields of the model that are stored in its records.
func (b *builder) fields() func(yield func(*types.Var) bool) {
	s := b.model.Type.Underlying().(*types.Struct)
	return func(yield func(*types.Var) bool) {
		for i := range s.NumFields() {
			if stored(s.Field(i), s.Tag(i)) && !yield(s.Field(i)) {
				return
			}
		}
	}
}
