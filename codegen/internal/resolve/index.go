package resolve

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func (b *builder) useIndex(m member, c tag.Clause, meaning meaning) {
	if c.Word != "ranking" || !b.countsOn(m.Name) {
		b.needStored(m, c)
	}
	x := &model.Index{Model: b.model, Word: c.Word, Group: c.Value, Parts: []model.Part{m.Part}, Value: m.Type, Pos: m.at(c)}
	if s, ok := m.Type.Underlying().(*types.Slice); ok {
		x.Value, x.Many = s.Elem(), true
	}
	if c.Value != "" && !b.join(x, m, c) {
		return
	}
	x.If = b.condition(c.Get("if"))
	if meaning.finish != nil {
		meaning.finish(b, x, c)
	}
	if x.Max = c.Number("max", 0); x.Max > 0 && !x.Several() {
		b.At(x.Pos, "max=%d: a record has one value here; max= is how many a slice may have", x.Max)
	}
	x.Name = cmp.Or(c.Get("name"), meaning.name(x))
	x.Stored = cmp.Or(c.Get("was"), x.Name)
	b.model.Indexes = append(b.model.Indexes, x)
}

// join reports whether m is the first member of a valid group.
func (b *builder) join(x *model.Index, m member, c tag.Clause) bool {
	key := b.draft.KeyOf(c)
	if x.Many || stored.KeyStruct(m.Type) != nil {
		b.At(x.Pos, "%s cannot be in the group %s: a member is a string, an integer or a bool", m.Label(), c.Value)
		return false
	}
	if key.Parts[0] != m.tagged {
		if len(c.Options) > 0 {
			b.At(x.Pos, "the options of the group %s stand on its first member, %s", c.Value, key.Parts[0].Name)
		}
		return false
	}
	switch n := len(key.Parts); {
	case n == 1:
		b.At(x.Pos, "the group %s has one member only: put %s=%s on the others too, or drop it here", c.Value, c.Word, c.Value)
		return false
	case n > stored.MaxParts:
		b.At(x.Pos, "the group %s has %d members; a key has at most %d", c.Value, n, stored.MaxParts)
		return false
	}
	named := b.source.Named(key.Name)
	if named == nil {
		return false // The name is taken, which has been reported.
	}
	x.Parts, x.Value = b.parts(key), named
	b.model.Keys = append(b.model.Keys, model.Key{Name: key.Name, About: key.About, Parts: x.Parts})
	return true
}

func (b *builder) parts(key *load.KeyDecl) []model.Part {
	var parts []model.Part
	for _, t := range key.Parts {
		if m, ok := b.member(t); ok {
			parts = append(parts, m.Part)
		}
	}
	return parts
}

func (b *builder) finishUnique(x *model.Index, c tag.Clause) {
	x.For, _ = time.ParseDuration(c.Get("for"))
	if x.Field = c.Get("field"); x.Field != "" && !x.Parts[0].Method {
		b.At(x.Pos, "field=%s: unique stands on the field %s already; field= is for a method", x.Field, x.Parts[0].Name)
	}
}

func (b *builder) finishList(x *model.Index, c tag.Clause) {
	x.Hot, x.Values = c.Number("hot", 0), c.Has("values")
	if name := c.Get("with"); name != "" {
		b.parents = append(b.parents, pendingParent{x, name})
	}
}

func bySubject(x *model.Index) string {
	return "By" + cmp.Or(x.Group, english.Capital(x.Parts[0].Name))
}

func uniqueDef(x *model.Index) string {
	text := partsDef(x)
	if x.For > 0 {
		text += " for " + x.For.String()
	}
	return text
}

func partsDef(x *model.Index) string { return x.Word + " " + valuesDef(x.Parts, x.Value, x.Many) }

func valuesDef(parts []model.Part, value types.Type, many bool) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Stored
	}
	text := fmt.Sprintf("%s %s", strings.Join(names, ","), stored.KeyKind(value))
	if many {
		text += " each"
	}
	return text
}

const (
	ringSize    = 1024
	ringSegment = 64
)

func (b *builder) finishTimeline(x *model.Index, c tag.Clause) {
	shape := model.RingShape{Size: c.Number("ring", ringSize)}
	shape.Segment = c.Number("segment", min(ringSegment, max(1, shape.Stored()/8)))
	if shape.Segment > shape.Size {
		b.At(x.Pos, "segment=%d of a ring of %d: a segment is a part of the ring", shape.Segment, shape.Size)
	}
	x.Ring = &model.Ring{By: b.byOf(c), Shape: shape, Shards: c.Number("shards", 1)}
}

func timelineName(x *model.Index) string {
	if x.Ring.By != nil {
		return "NewestBy" + english.Capital(x.Ring.By.Name())
	}
	return "Newest"
}

// timelineDef leaves out the shape: the library adds it.
func timelineDef(x *model.Index) string {
	text := "timeline " + x.Parts[0].Stored
	if by := x.Ring.By; by != nil {
		text += byDef(by)
	}
	if x.Ring.Shards > 1 {
		text += fmt.Sprintf(" shards %d", x.Ring.Shards)
	}
	return text
}

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
