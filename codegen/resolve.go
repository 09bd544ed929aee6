package codegen

import (
	"go/token"
	"go/types"
	"reflect"
	"strings"
)

// resolved reports whether the types of all stored fields of named are known,
// and says at which field they are not.
func (b *builder) resolved(named *types.Named) bool {
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		b.at(b.draft.spec.Pos(), "cannot make out the struct %s%s", b.draft.name, b.cause(b.draft.spec.Pos(), b.draft.spec.End()))
		return false
	}
	known := true
	for i := range s.NumFields() {
		f := s.Field(i)
		if stored(f, s.Tag(i)) && !b.valid(f.Type(), f.Pos(), b.draft.name+"."+f.Name()) {
			known = false
		}
	}
	return known
}

// valid reports whether t is known, and if not says so at pos.
func (b *builder) valid(t types.Type, pos token.Pos, what string) bool {
	if !holdsInvalid(t, map[types.Type]bool{}) {
		return true
	}
	b.at(pos, "cannot make out the type of %s%s", what, b.cause(pos, pos))
	return false
}

// cause returns what the type checker said on the lines from pos to end, or
// else its first complaint.
func (b *builder) cause(pos, end token.Pos) string {
	first, last := b.fset.Position(pos), b.fset.Position(end)
	for _, f := range b.source.faults {
		p := b.fset.Position(f.Pos)
		if p.Filename == first.Filename && first.Line <= p.Line && p.Line <= last.Line {
			return ": " + f.Msg
		}
	}
	for _, f := range b.source.faults {
		return ": " + b.place(f.Pos).String() + ": " + f.Msg
	}
	return ""
}

// holdsInvalid reports whether t depends on a type that could not be made out.
func holdsInvalid(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t := t.(type) {
	case *types.Basic:
		return t.Kind() == types.Invalid
	case *types.Alias:
		return holdsInvalid(types.Unalias(t), seen)
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if holdsInvalid(arg, seen) {
				return true
			}
		}
		return holdsInvalid(t.Underlying(), seen)
	case *types.Map:
		return holdsInvalid(t.Key(), seen) || holdsInvalid(t.Elem(), seen)
	case *types.Struct:
		for i := range t.NumFields() {
			if stored(t.Field(i), t.Tag(i)) && holdsInvalid(t.Field(i).Type(), seen) {
				return true
			}
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return holdsInvalid(t.Elem(), seen)
	}
	return false
}

// stored reports whether a field with the tag is part of what is stored.
func stored(f *types.Var, tag string) bool {
	if !f.Exported() && !f.Embedded() || f.Name() == "_" {
		return false
	}
	for part := range strings.SplitSeq(reflect.StructTag(tag).Get("kv"), ";") {
		if strings.TrimSpace(part) == "-" {
			return false
		}
	}
	return storedName(f, tag) != "-"
}

// storedName returns the name under which a field with the tag is stored, "-" if it is not.
func storedName(f *types.Var, tag string) string {
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("msgpack"), ",")
	if name == "" {
		return f.Name()
	}
	return name
}
