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

// valid reports whether t, found at pos, is known, and if not says so there.
func (b *builder) valid(t types.Type, pos token.Pos, what string) bool {
	place, invalid := unknown(t, pos, map[types.Type]bool{})
	if invalid {
		b.at(pos, "cannot make out the type of %s%s", what, b.cause(place, place))
	}
	return !invalid
}

// cause returns what the type checker said on the lines from pos to end, or
// else which import of that file could not be loaded.
func (b *builder) cause(pos, end token.Pos) string {
	first, last := b.fset.Position(pos), b.fset.Position(end)
	for _, f := range b.source.faults {
		p := b.fset.Position(f.Pos)
		if p.Filename == first.Filename && first.Line <= p.Line && p.Line <= last.Line {
			return ": " + f.Msg
		}
	}
	for _, f := range b.source.files {
		if f.path != first.Filename {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if reason := b.source.absent[importPath(spec)]; reason != "" {
				return ": " + b.place(spec.Pos()).String() + ": " + reason
			}
			if importPath(spec) == "C" {
				return ": types of C have no stored form"
			}
		}
	}
	return ""
}

// unknown reports whether t, found at pos, depends on a type that could not be
// made out, and at which field.
func unknown(t types.Type, pos token.Pos, seen map[types.Type]bool) (token.Pos, bool) {
	if seen[t] {
		return pos, false
	}
	seen[t] = true
	switch t := t.(type) {
	case *types.Basic:
		return pos, t.Kind() == types.Invalid
	case *types.Alias:
		return unknown(types.Unalias(t), pos, seen)
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if at, is := unknown(arg, pos, seen); is {
				return at, true
			}
		}
		return unknown(t.Underlying(), pos, seen)
	case *types.Struct:
		for i := range t.NumFields() {
			f := t.Field(i)
			if at, is := unknown(f.Type(), f.Pos(), seen); is && stored(f, t.Tag(i)) {
				return at, true
			}
		}
	case *types.Map:
		if at, is := unknown(t.Key(), pos, seen); is {
			return at, true
		}
		return unknown(t.Elem(), pos, seen)
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return unknown(t.Elem(), pos, seen)
	}
	return pos, false
}

// stored reports whether a field with the tag is part of what is stored.
func stored(f *types.Var, tag string) bool {
	if !f.Exported() && !f.Embedded() || f.Name() == "_" {
		return false
	}
	return !keptOut(tag) && storedName(f, tag) != "-"
}

// keptOut reports whether a clause of the tag keeps its field out of the stored
// record.
func keptOut(tag string) bool {
	for clause := range strings.SplitSeq(reflect.StructTag(tag).Get("kv"), ";") {
		word, _, _ := strings.Cut(clause, ",")
		if word = strings.TrimSpace(word); word == "-" || word == "counter" {
			return true
		}
	}
	return false
}

// storedName returns the name under which a field with the tag is stored, "-" if it is not.
func storedName(f *types.Var, tag string) string {
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("msgpack"), ",")
	if name == "" {
		return f.Name()
	}
	return name
}
