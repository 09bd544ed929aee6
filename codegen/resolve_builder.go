package codegen

import (
	"cmp"
	"go/token"
	"go/types"
	"iter"
)

// A member is a field or method under a tag, with its type.
type member struct {
	Part
	*tagged
}

// A builder makes one model.
type builder struct {
	scope
	draft  *draft
	model  *Model
	fields *types.Struct
	counts []pendingCount
}

// A pendingCount is a count clause. Its counter is looked up when all models
// are known.
type pendingCount struct {
	model         *Model
	field, target string
	pos           token.Pos
}

// A meaning is what a word makes of a model.
type meaning struct {
	use func(b *builder, m member, c Clause) // nil of an index

	// The rest is of an index.
	settle func(b *builder, x *Index, c Clause) // what it has besides; nil: nothing
	name   func(x *Index) string                // its default name
	def    func(x *Index) string                // its Def, but for the condition
}

// member returns the field or method under t, false if it was reported before.
func (b *builder) member(t *tagged) (member, bool) {
	if t.site == OnModel {
		return member{Part{Name: "_", Type: types.NewStruct(nil, nil)}, t}, true
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, t.name)
	switch o := obj.(type) {
	case *types.Var:
		return member{b.part(o), t}, true
	case *types.Func:
		result := o.Signature().Results().At(0).Type()
		if !b.valid(result, t.pos, t.name+"()") {
			return member{}, false
		}
		b.model.Methods = append(b.model.Methods, t.name)
		return member{Part{t.name, t.name + "()", result, true}, t}, true
	}
	b.at(t.pos, "cannot find %s in %s", t.name, b.model.Name)
	return member{}, false
}

// part returns the field f as a part of a key.
func (b *builder) part(f *types.Var) Part {
	stored := f.Name()
	for i := range b.fields.NumFields() {
		if b.fields.Field(i) == f {
			stored = cmp.Or(parseMsgpackTag(b.fields.Tag(i)).name, stored)
		}
	}
	return Part{f.Name(), stored, f.Type(), false}
}

// option returns the stored field that the option of c called name names, nil
// if it is not given.
func (b *builder) option(c Clause, name string) *Part {
	f := b.field(c.Get(name))
	if f == nil {
		return nil
	}
	part := b.part(f)
	return &part
}

// needStored reports that c stands on a field that is not stored.
func (b *builder) needStored(m member, c Clause) {
	if !m.Method && b.field(m.Name) == nil {
		b.at(m.text.pos(c.Offset), "%s cannot stand on %s, which is not stored", c.Word, m.Name)
	}
}

// countsOn reports whether the field called name is a counter.
func (b *builder) countsOn(name string) bool {
	for i := range b.fields.NumFields() {
		if b.fields.Field(i).Name() == name {
			return says(b.fields.Tag(i), "counter")
		}
	}
	return false
}

// condition returns the stored bool field or the method called name, nil if
// there is none.
func (b *builder) condition(name string) *Condition {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, name)
	switch o := obj.(type) {
	case *types.Func:
		if types.TypeString(o.Type(), nil) == "func() bool" {
			b.model.Methods = append(b.model.Methods, name)
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
	for f := range b.stored() {
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
	for f := range b.stored() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

func (b *builder) fieldNames() []string {
	var names []string
	for f := range b.stored() {
		names = append(names, f.Name())
	}
	return names
}

// stored yields the fields of the model that are stored in its records.
func (b *builder) stored() iter.Seq[*types.Var] {
	return func(yield func(*types.Var) bool) {
		for i := range b.fields.NumFields() {
			if f := b.fields.Field(i); stored(f, b.fields.Tag(i)) && !yield(f) {
				return
			}
		}
	}
}
