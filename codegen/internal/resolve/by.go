package resolve

import (
	"go/token"
	"go/types"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func (b *builder) useGroup(m member, c tag.Clause) {
	b.needStored(m, c)
	b.join(&model.Index{Model: b.model, Word: c.Word, Pos: m.at(c)}, m, c)
}

func (b *builder) byOf(c tag.Clause) *model.By {
	name := c.Get("by")
	if key := b.draft.Group(name); key != nil && b.field(name) == nil {
		named := b.source.Named(key.Name)
		if named == nil {
			return nil // The name is taken, which has been reported.
		}
		return &model.By{Group: name, Parts: b.parts(key), Value: named}
	}
	part := b.byPart(name)
	if part == nil {
		return nil
	}
	by := &model.By{Parts: []model.Part{*part}, Value: part.Type}
	if s, ok := part.Type.Underlying().(*types.Slice); ok {
		by.Value, by.Many = s.Elem(), true
	}
	if part.Method {
		b.model.Methods[name] = part.Type
	}
	return by
}

func (b *builder) byPart(name string) *model.Part {
	if f := b.field(name); f != nil {
		part := b.part(f)
		return &part
	}
	if result := b.keyMethod(name); result != nil {
		return &model.Part{Name: name, Stored: name + "()", Type: result, Method: true}
	}
	return nil
}

// namesBy reports whether o is valid for by=. misfit complains about types.
func (b *builder) namesBy(o tag.Option, misfit func(types.Type) string, at token.Pos) bool {
	part := b.byPart(o.Value)
	switch {
	case part == nil && b.draft.Group(o.Value) != nil:
		return true
	case part == nil:
		b.At(at, "%s=%s: %s has no such field, group or method; %s", o.Name, o.Value, b.model.Name, english.Known(o.Value, b.byNames()))
		return false
	}
	if wrong := misfit(part.Type); wrong != "" {
		b.At(at, "%s=%s: %s is of type %s: %s", o.Name, o.Value, part.Label(), stored.Describe(part.Type, b.source.Types), wrong)
		return false
	}
	return true
}

// keyMethod returns nil if the method has parameters.
func (b *builder) keyMethod(name string) types.Type {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.Types, name)
	f, ok := obj.(*types.Func)
	if !ok || f.Signature().Params().Len() != 0 || f.Signature().Results().Len() != 1 {
		return nil
	}
	return f.Signature().Results().At(0).Type()
}

// byNames leaves out methods: a type may have many.
func (b *builder) byNames() []string { return append(b.fieldNames(), b.draft.Groups()...) }

func byDef(by *model.By) string { return " by " + valuesDef(by.Parts, by.Value, by.Many) }
