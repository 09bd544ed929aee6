package emit

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// The statement writes or reads (verb) a t at pointer through stream.
func (s *codecSet) call(verb string, t types.Type, stream, pointer string, in stored.Place) string {
	t = types.Unalias(t)
	if s.IsTimeLike(t) {
		pointer = fmt.Sprintf("(*%s.Time)(%s)", s.imports.add("time", "time"), pointer)
		return fmt.Sprintf("%s.%sTime(%s, %s)", s.runtime(), verb, stream, pointer)
	}
	if s.ownNil(verb, t) {
		value := "*" + pointer
		if strings.HasPrefix(pointer, "&") {
			value = pointer[1:]
		}
		return fmt.Sprintf("%[1]s.WriteOrNil(%[2]s, %[3]s, %[4]s == nil, %[1]s.Write%[5]s)", s.runtime(), stream, pointer, value, s.OwnForm(t))
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

// The function writes or reads a t in a slice, map or pointer.
func (s *codecSet) function(verb string, t types.Type, in stored.Place) string {
	t = types.Unalias(t)
	if !s.IsTimeLike(t) && !s.ownNil(verb, t) {
		if name := s.direct(verb, t, in); name != "" {
			return name
		}
	}
	letter, stream := "w", "Writer"
	if verb == "Read" {
		letter, stream = "r", "Reader"
	}
	return fmt.Sprintf("func(%s *%s.%s, v *%s) { %s }", letter, s.runtime(), stream, s.typeName(t, in.Pos), s.call(verb, t, letter, "v", in))
}

// direct returns "" for an unnamed slice, array, map or pointer. It reports types without a stored
// form.
func (s *codecSet) direct(verb string, t types.Type, in stored.Place) string {
	codec := s.runtime() + "." + verb
	if stored.IsTime(t) {
		return codec + "Time"
	}
	if form := s.OwnForm(t); form != "" {
		return codec + form
	}
	_, named := t.(*types.Named)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return codec + s.basic(u, t, in)
	case *types.Struct:
		return strings.ToLower(verb) + s.codecOf(t, in.Name, in.Pos)
	case *types.Slice, *types.Array, *types.Map, *types.Pointer:
		s.check(u, t, in)
		if !named {
			return ""
		}
		return strings.ToLower(verb) + s.codecOf(t, in.Name, in.Pos)
	}
	s.refuse(t, in)
	return codec
}

func (s *codecSet) basic(b *types.Basic, t types.Type, in stored.Place) string {
	switch info := b.Info(); {
	case b.Kind() == types.Invalid:
		s.At(in.Pos, "the type of this field is unknown: does the package compile?")
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

// check reports types that would not be read as they were written: a nil inside a pointer, and map
// keys without an order.
func (s *codecSet) check(u, t types.Type, in stored.Place) {
	switch u := u.(type) {
	case *types.Pointer:
		if storesNil(u.Elem()) {
			s.At(in.Pos, "%s: a stored nil could be the pointer or what it points to; use %s", stored.Describe(t, s.Pkg), stored.Describe(u.Elem(), s.Pkg))
		}
	case *types.Map:
		b, ok := u.Key().Underlying().(*types.Basic)
		if !ok || b.Info()&(types.IsString|types.IsInteger) == 0 || b.Kind() == types.Uintptr {
			s.At(in.Pos, "%s: the keys of a stored map are strings or integers", stored.Describe(t, s.Pkg))
		}
	}
}

func storesNil(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// ownNil reports whether writing a t must distinguish nil from its own form.
func (s *codecSet) ownNil(verb string, t types.Type) bool {
	return verb == "Write" && storesNil(t) && s.OwnForm(t) != ""
}

func (s *codecSet) refuse(t types.Type, in stored.Place) {
	hint := "give it EncodeMsgpack and DecodeMsgpack, or "
	switch t.Underlying().(type) {
	case *types.Interface:
		hint = "use a concrete type, or "
	case *types.Chan, *types.Signature:
		hint = ""
	}
	s.At(in.Pos, "%s cannot be stored: %sleave the field out with `kv:\"-\"`", stored.Describe(t, s.Pkg), hint)
}

func isByte(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}
