package resolve

import (
	"go/token"
	"go/types"

	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

type member struct {
	model.Part
	tagged *load.Tagged
}

func (m member) at(c tag.Clause) token.Pos { return m.tagged.Text.Pos(c.Offset) }

type builder struct {
	*problem.Reporter
	source  *load.Source
	draft   *load.Draft
	model   *model.Model
	tags    map[*types.Var]string
	stored  []*types.Var
	numbers []pendingNumber

	parents []pendingParent
}

// A pendingNumber is resolved when all models are known.
type pendingNumber struct {
	*model.Number
	word          string
	model         *model.Model
	field, target string
}

// meaning is the effect of a word on a model: use for most, the other fields for those that make
// indexes.
type meaning struct {
	use func(b *builder, m member, c tag.Clause)

	finish func(b *builder, x *model.Index, c tag.Clause)
	name   func(x *model.Index) string
	def    func(x *model.Index) string // the definition of the entries, without the condition
}

// member returns false after reporting a problem.
func (b *builder) member(t *load.Tagged) (member, bool) {
	if t.Site == tag.OnModel {
		return member{model.Part{Name: "_", Type: types.NewStruct(nil, nil)}, t}, true
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.Types, t.Name)
	switch o := obj.(type) {
	case *types.Var:
		return member{b.part(o), t}, true
	case *types.Func:
		result := o.Signature().Results().At(0).Type()
		if !b.valid(result, t.Pos, t.Name+"()") {
			return member{}, false
		}
		b.model.Methods[t.Name] = result
		return member{model.Part{Name: t.Name, Stored: t.Name + "()", Type: result, Method: true}, t}, true
	}
	b.At(t.Pos, "cannot find %s in %s", t.Name, b.model.Name)
	return member{}, false
}

func (b *builder) part(f *types.Var) model.Part {
	return model.Part{Name: f.Name(), Stored: stored.NameOf(f, b.tags[f]), Type: f.Type()}
}

func (b *builder) option(c tag.Clause, name string) *model.Part {
	f := b.field(c.Get(name))
	if f == nil {
		return nil
	}
	part := b.part(f)
	return &part
}

func (b *builder) needStored(m member, c tag.Clause) {
	if !m.Method && b.field(m.Name) == nil {
		b.At(m.at(c), "%s is not allowed on %s, which is not stored", c.Word, m.Name)
	}
}

func (b *builder) countsOn(name string) bool { return b.says(name, "counter") }

func (b *builder) says(name, word string) bool {
	for f, tag := range b.tags {
		if f.Name() == name {
			return stored.Says(tag, word)
		}
	}
	return false
}

// condition returns the stored bool field or the method called name, or nil. The guard will hold
// the method.
func (b *builder) condition(name string) *model.Condition {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.Types, name)
	switch o := obj.(type) {
	case *types.Func:
		if types.TypeString(o.Type(), nil) == "func() bool" {
			b.model.Methods[name] = types.Typ[types.Bool]
			return &model.Condition{Name: name, Method: true}
		}
	case *types.Var:
		if types.Identical(o.Type(), types.Typ[types.Bool]) && b.field(name) != nil {
			return &model.Condition{Name: name}
		}
	}
	return nil
}

func (b *builder) conditions() []string {
	var names []string
	for _, f := range b.stored {
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

func (b *builder) field(name string) *types.Var {
	for _, f := range b.stored {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

func (b *builder) fieldNames() []string {
	var names []string
	for _, f := range b.stored {
		names = append(names, f.Name())
	}
	return names
}
