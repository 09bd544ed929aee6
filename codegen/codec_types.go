package codegen

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
)

// call returns the statement that writes or reads (verb) the value of type t at
// pointer through stream.
func (s *codecSet) call(verb string, t types.Type, stream, pointer string, in place) string {
	t = types.Unalias(t)
	if s.isTimeLike(t) {
		pointer = fmt.Sprintf("(*%s.Time)(%s)", s.imports.add("time", "time"), pointer)
		return fmt.Sprintf("%s.%sTime(%s, %s)", s.runtime(), verb, stream, pointer)
	}
	if s.ownNil(verb, t) {
		value := "*" + pointer
		if strings.HasPrefix(pointer, "&") {
			value = pointer[1:]
		}
		return fmt.Sprintf("%[1]s.WriteOrNil(%[2]s, %[3]s, %[4]s == nil, %[1]s.Write%[5]s)", s.runtime(), stream, pointer, value, s.ownForm(t))
	}
	if name := s.direct(verb, t, in); name != "" {
		return fmt.Sprintf("%s(%s, %s)", name, stream, pointer)
	}
	array := strings.TrimPrefix(pointer, "&") + "[:]"
	codec := s.runtime()
	switch u := t.(type) {
	case *types.Pointer:
		return fmt.Sprintf("%s.%sPointer(%s, %s, %s)", codec, verb, stream, pointer, s.function(verb, u.Elem(), in))
	case *types.Slice:
		if isByte(u.Elem()) {
			return fmt.Sprintf("%s.%sBytes(%s, %s)", codec, verb, stream, pointer)
		}
		return fmt.Sprintf("%s.%sSlice(%s, %s, %s)", codec, verb, stream, pointer, s.function(verb, u.Elem(), in))
	case *types.Array:
		if isByte(u.Elem()) {
			return fmt.Sprintf("%s.%sByteArray(%s, %s)", codec, verb, stream, array)
		}
		return fmt.Sprintf("%s.%sArray(%s, %s, %s)", codec, verb, stream, array, s.function(verb, u.Elem(), in))
	case *types.Map:
		return fmt.Sprintf("%s.%sMap(%s, %s, %s, %s)", codec, verb, stream, pointer, s.function(verb, u.Key(), in), s.function(verb, u.Elem(), in))
	}
	return ""
}

// function returns the function that writes or reads values of type t, for a
// slice, map or pointer of them.
func (s *codecSet) function(verb string, t types.Type, in place) string {
	t = types.Unalias(t)
	if !s.isTimeLike(t) && !s.ownNil(verb, t) {
		if name := s.direct(verb, t, in); name != "" {
			return name
		}
	}
	letter, stream := "w", "Writer"
	if verb == "Read" {
		letter, stream = "r", "Reader"
	}
	return fmt.Sprintf("func(%s *%s.%s, v *%s) { %s }", letter, s.runtime(), stream, s.typeName(t, in.pos), s.call(verb, t, letter, "v", in))
}

// direct returns the name of the function for t if it needs no other one, and
// nothing for a slice, array, map or pointer without a name. It notes an error
// for what has no stored form.
func (s *codecSet) direct(verb string, t types.Type, in place) string {
	codec := s.runtime() + "." + verb
	if isTime(t) {
		return codec + "Time"
	}
	if form := s.ownForm(t); form != "" {
		return codec + form
	}
	_, named := t.(*types.Named)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return codec + s.basic(u, t, in)
	case *types.Struct:
		return strings.ToLower(verb) + s.codecOf(t, in.name, in.pos)
	case *types.Slice, *types.Array, *types.Map, *types.Pointer:
		s.check(u, t, in)
		if !named {
			return ""
		}
		return strings.ToLower(verb) + s.codecOf(t, in.name, in.pos)
	}
	s.refuse(t, in)
	return codec
}

func (s *codecSet) basic(b *types.Basic, t types.Type, in place) string {
	switch info := b.Info(); {
	case b.Kind() == types.Invalid:
		s.at(in.pos, "the type of this field is unknown: does the package compile?")
	case b.Kind() == types.Uintptr, b.Kind() == types.UnsafePointer, info&types.IsComplex != 0:
		s.refuse(t, in)
	case info&types.IsBoolean != 0:
		return "Bool"
	case info&types.IsString != 0:
		return "String"
	case info&types.IsUnsigned != 0:
		return "Uint"
	case info&types.IsInteger != 0:
		return "Int"
	case info&types.IsFloat != 0:
		return "Float"
	}
	return ""
}

// check notes what would not come back as it was: a nil inside a pointer, and
// map keys that have no order.
func (s *codecSet) check(u, t types.Type, in place) {
	switch u := u.(type) {
	case *types.Pointer:
		if storesNil(u.Elem()) {
			s.at(in.pos, "%s: a stored nil could be the pointer or what it points to; use %s", s.describe(t), s.describe(u.Elem()))
		}
	case *types.Map:
		b, ok := u.Key().Underlying().(*types.Basic)
		if !ok || b.Info()&(types.IsString|types.IsInteger) == 0 || b.Kind() == types.Uintptr {
			s.at(in.pos, "%s: the keys of a stored map are strings or integers", s.describe(t))
		}
	}
}

// storesNil reports whether a value of type t may be stored as nil.
func storesNil(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// ownNil reports whether to write a t its nil has to be told from its own form.
func (s *codecSet) ownNil(verb string, t types.Type) bool {
	return verb == "Write" && storesNil(t) && s.ownForm(t) != ""
}

func (s *codecSet) refuse(t types.Type, in place) {
	hint := "give it EncodeMsgpack and DecodeMsgpack, or "
	switch t.Underlying().(type) {
	case *types.Interface:
		hint = "use a concrete type, or "
	case *types.Chan, *types.Signature:
		hint = ""
	}
	s.at(in.pos, "%s cannot be stored: %sleave the field out with `kv:\"-\"`", s.describe(t), hint)
}

// structIn returns the struct type that t is or points to and that is stored
// field by field, or nil.
func (s *codecSet) structIn(t types.Type) types.Type {
	t = types.Unalias(t)
	if p, ok := t.Underlying().(*types.Pointer); ok && s.ownForm(t) == "" {
		t = types.Unalias(p.Elem())
	}
	_, ok := t.Underlying().(*types.Struct)
	if !ok || isTime(t) || s.isTimeLike(t) || s.ownForm(t) != "" {
		return nil
	}
	return t
}

// ownForm returns how a type marshals itself, as the runtime calls it, or
// nothing. Both directions must be methods of the type, not of something it
// embeds, which knows only its own part.
func (s *codecSet) ownForm(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || isTime(named) || s.writes(named.Obj()) || types.IsInterface(named) {
		return ""
	}
	for _, form := range ownForms {
		if hasMethod(named, form.write) && hasMethod(named, form.read) {
			return form.name
		}
	}
	return ""
}

// ownForms are asked in the order of msgpack v5.
var ownForms = []struct {
	name        string
	write, read methodShape
}{
	{"Custom", methodShape{"EncodeMsgpack", "*" + msgpackPath + ".Encoder", "error"}, methodShape{"DecodeMsgpack", "*" + msgpackPath + ".Decoder", "error"}},
	{"Marshaler", methodShape{"MarshalMsgpack", "", "[]byte error"}, methodShape{"UnmarshalMsgpack", "[]byte", "error"}},
	{"Binary", methodShape{"MarshalBinary", "", "[]byte error"}, methodShape{"UnmarshalBinary", "[]byte", "error"}},
	{"Text", methodShape{"MarshalText", "", "[]byte error"}, methodShape{"UnmarshalText", "[]byte", "error"}},
}

// methodShape is a method by name, parameter types and result types.
type methodShape struct{ name, params, results string }

func hasMethod(t *types.Named, want methodShape) bool {
	found, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, want.name)
	method, ok := found.(*types.Func)
	return ok && len(index) == 1 && want.fits(method)
}

// fits reports whether method takes and returns what the shape says.
func (m methodShape) fits(method *types.Func) bool {
	sig := method.Signature()
	return typesOf(sig.Params()) == m.params && typesOf(sig.Results()) == m.results
}

func typesOf(tuple *types.Tuple) string {
	var list []string
	for v := range tuple.Variables() {
		list = append(list, types.TypeString(v.Type(), nil))
	}
	return strings.Join(list, " ")
}

func isByte(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// isTime reports whether t is time.Time.
func isTime(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Time"
}

// isTimeLike reports whether t is declared as "type T time.Time".
func (s *codecSet) isTimeLike(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || isTime(t) || s.ownForm(t) != "" {
		return false
	}
	for f := range st.Fields() {
		return f.Pkg().Path() == "time" && f.Name() == "wall"
	}
	return false
}

// helper returns the name that the functions for t end with.
func (s *codecSet) helper(t types.Type, place string) string {
	key := types.TypeString(t, nil)
	if name := s.names[key]; name != "" {
		return name
	}
	base := mangled(t, s.pkg)
	if _, named := types.Unalias(t).(*types.Named); !named {
		base = place
	}
	s.names[key] = s.unused(base, func(name string) []string {
		lower := lowerFirst(name)
		return []string{"write" + name, "read" + name, "read" + name + "Field", lower + "Fields", lower + "Codec"}
	})
	return s.names[key]
}

// unused returns base, with a number behind it if any of the identifiers made of
// it is in use, and keeps them.
func (s *codecSet) unused(base string, identifiers func(name string) []string) string {
	name := base
	for n := 2; ; n++ {
		ids := identifiers(name)
		if !s.anyUsed(ids) {
			for _, id := range ids {
				s.imports.taken[id] = true
			}
			return name
		}
		name = fmt.Sprintf("%s%d", base, n)
	}
}

func (s *codecSet) anyUsed(ids []string) bool {
	for _, id := range ids {
		if s.imports.taken[id] || token.IsKeyword(id) {
			return true
		}
	}
	return false
}

// mangled returns a name for t as part of an identifier: Page, GeoPoint,
// BoxInt, PairStringSliceInt.
func mangled(t types.Type, home *types.Package) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return capital(t.Name())
	case *types.Pointer:
		return "Pointer" + mangled(t.Elem(), home)
	case *types.Slice:
		return "Slice" + mangled(t.Elem(), home)
	case *types.Array:
		return fmt.Sprintf("Array%d%s", t.Len(), mangled(t.Elem(), home))
	case *types.Map:
		return "Map" + mangled(t.Key(), home) + mangled(t.Elem(), home)
	case *types.Named:
		name := capital(t.Obj().Name())
		if pkg := t.Obj().Pkg(); pkg != nil && pkg != home {
			name = capital(pkg.Name()) + name
		}
		for arg := range t.TypeArgs().Types() {
			name += mangled(arg, home)
		}
		return name
	}
	return "Value"
}

// typeName returns t as the package writes it, and imports what it needs. It
// notes an error if t has a part the package cannot name.
func (s *codecSet) typeName(t types.Type, pos token.Pos) string {
	s.checkNameable(t, pos)
	return s.imports.typeString(t)
}

func (s *codecSet) checkNameable(t types.Type, pos token.Pos) {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		s.checkNameable(t.Elem(), pos)
	case *types.Slice:
		s.checkNameable(t.Elem(), pos)
	case *types.Array:
		s.checkNameable(t.Elem(), pos)
	case *types.Map:
		s.checkNameable(t.Key(), pos)
		s.checkNameable(t.Elem(), pos)
	case *types.Named:
		obj := t.Obj()
		if obj.Pkg() != nil && obj.Pkg() != s.pkg && (!obj.Exported() || !importable(obj.Pkg().Path(), s.pkg.Path())) {
			s.at(pos, "%s is out of reach of this package: leave the field out with `kv:\"-\"`, or copy it into a type of your own", s.describe(t))
		}
		for arg := range t.TypeArgs().Types() {
			s.checkNameable(arg, pos)
		}
	}
}

// importable reports whether the package at path may be imported from the one
// at home, as far as internal directories go.
func importable(path, home string) bool {
	parent, _, found := cutInternal(path)
	return !found || home == parent || strings.HasPrefix(home, parent+"/")
}

func cutInternal(path string) (parent, rest string, found bool) {
	if strings.HasPrefix(path, "internal/") || path == "internal" {
		return "", path, true
	}
	i := strings.LastIndex(path+"/", "/internal/")
	if i < 0 {
		return "", "", false
	}
	return path[:i], path[i:], true
}

// describe returns t as a message in the package calls it.
func (s *codecSet) describe(t types.Type) string { return describe(t, s.pkg) }

// describe returns t as a message in the package home calls it.
func describe(t types.Type, home *types.Package) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg == home {
			return ""
		}
		return pkg.Name()
	})
}

func (s *codecSet) runtime() string { return s.imports.runtime("kvmodel/codec") }
