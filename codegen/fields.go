package codegen

import (
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// storedFields returns the fields that records of the type named hold, those
// of structs within it too, under their stored names. A type for which marshals
// holds brings its own form.
func storedFields(named *types.Named, marshals func(types.Type) bool) []lockedItem {
	w := &fieldWalk{open: map[types.Type]bool{named: true}, marshals: marshals}
	w.fields(named.Underlying().(*types.Struct), "")
	return w.found
}

// A fieldWalk collects the stored fields of a struct and of the structs in it.
type fieldWalk struct {
	found    []lockedItem
	open     map[types.Type]bool // the types it is in, so that a recursive one ends
	marshals func(types.Type) bool
}

// fields collects the fields of s, whose names begin with prefix.
func (w *fieldWalk) fields(s *types.Struct, prefix string) {
	for i := range s.NumFields() {
		f, tag := s.Field(i), s.Tag(i)
		if !stored(f, tag) {
			continue
		}
		if inner := w.inlined(f, tag); inner != nil {
			w.fields(inner, prefix)
			continue
		}
		name := prefix + storedName(f, tag)
		at := len(w.found)
		w.found = append(w.found, lockedItem{name: name})
		w.found[at].form = w.form(f.Type(), name)
	}
}

// inlined returns the struct whose fields stand for the embedded field f, nil if
// f is stored as a field of its own.
func (w *fieldWalk) inlined(f *types.Var, tag string) *types.Struct {
	_, options, _ := strings.Cut(reflect.StructTag(tag).Get("msgpack"), ",")
	if !f.Embedded() || slices.Contains(strings.Split(options, ","), "noinline") || w.marshals(f.Type()) {
		return nil
	}
	s, _ := f.Type().Underlying().(*types.Struct)
	return s
}

// form returns how values of type t are stored: types of one form read each
// other's values. The fields of a struct are collected under name.
func (w *fieldWalk) form(t types.Type, name string) string {
	if isTimestamp(t) {
		return "time"
	}
	if w.marshals(t) {
		return types.TypeString(t, nil)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return basicForm(u)
	case *types.Pointer:
		return w.form(u.Elem(), name)
	case *types.Slice:
		return w.listForm(u.Elem(), name)
	case *types.Array:
		return w.listForm(u.Elem(), name)
	case *types.Map:
		return "map[" + w.form(u.Key(), name) + "]" + w.form(u.Elem(), name+"{}")
	case *types.Struct:
		return w.structForm(t, u, name)
	}
	return types.TypeString(t, nil)
}

// structForm collects the fields of the struct s of type t under name.
func (w *fieldWalk) structForm(t types.Type, s *types.Struct, name string) string {
	if w.open[t] {
		return types.TypeString(t, func(p *types.Package) string { return p.Name() })
	}
	w.open[t] = true
	w.fields(s, name+".")
	delete(w.open, t)
	return "struct"
}

func (w *fieldWalk) listForm(elem types.Type, name string) string {
	if b, ok := elem.Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
		return "bytes"
	}
	return "[]" + w.form(elem, name+"[]")
}

func basicForm(b *types.Basic) string {
	switch info := b.Info(); {
	case info&types.IsInteger != 0:
		return "int"
	case info&types.IsFloat != 0:
		return "float"
	}
	return b.Name()
}

// marshals reports whether values of type t bring their own form: they do not if
// t is a model of p, whose methods kvgen is about to write.
func (p *Package) marshals(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return marshals(t) && !(ok && named.Obj().Pkg() == p.source.types && p.source.draft(named.Obj().Name()) != nil)
}

// marshals reports whether values of type t bring their own form, by methods of
// the type itself: those of something it embeds know only their own part.
func marshals(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || types.IsInterface(t) {
		return false
	}
	for _, name := range []string{"EncodeMsgpack", "MarshalMsgpack", "MarshalBinary", "MarshalText"} {
		found, path, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, nil, name)
		if _, method := found.(*types.Func); method && len(path) == 1 {
			return true
		}
	}
	return false
}
