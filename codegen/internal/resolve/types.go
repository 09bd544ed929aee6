package resolve

import (
	"go/token"
	"go/types"

	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// If the type of a stored field is unknown, resolved reports this and returns nil.
func (b *builder) resolved() *types.Named {
	d := b.draft
	named := b.source.Named(d.Name)
	if named == nil {
		return nil
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		b.At(d.Spec.Pos(), "cannot resolve the struct %s%s", d.Name, b.cause(d.Spec.Pos(), d.Spec.End()))
		return nil
	}
	known := true
	for i := range st.NumFields() {
		f := st.Field(i)
		if stored.Belongs(f, st.Tag(i)) && !b.valid(f.Type(), f.Pos(), d.Name+"."+f.Name()) {
			known = false
		}
	}
	if !known {
		return nil
	}
	return named
}

func (b *builder) valid(t types.Type, pos token.Pos, what string) bool {
	place, invalid := unknown(t, pos, map[types.Type]bool{})
	if invalid {
		b.At(pos, "cannot resolve the type of %s%s", what, b.cause(place, place))
	}
	return !invalid
}

// cause returns the type checker's error on these lines, or the import that could not be loaded.
func (b *builder) cause(pos, end token.Pos) string {
	first, last := b.Fset.Position(pos), b.Fset.Position(end)
	for _, f := range b.source.Faults {
		p := b.Fset.Position(f.Pos)
		if p.Filename == first.Filename && first.Line <= p.Line && p.Line <= last.Line {
			return ": " + f.Msg
		}
	}
	for _, f := range b.source.Files {
		if f.Path != first.Filename {
			continue
		}
		for _, spec := range f.Syntax.Imports {
			if reason := b.source.Absent[load.ImportPath(spec)]; reason != "" {
				return ": " + b.Place(spec.Pos()).String() + ": " + reason
			}
			if load.ImportPath(spec) == "C" {
				return ": types of C have no stored form"
			}
		}
	}
	return ""
}

// unknown also returns where.
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
			if at, is := unknown(f.Type(), f.Pos(), seen); is && stored.Belongs(f, t.Tag(i)) {
				return at, true
			}
		}
	case *types.Map:
		if at, is := unknown(t.Key(), pos, seen); is {
			return at, true
		}
		return unknown(t.Elem(), pos, seen)
	case interface{ Elem() types.Type }:
		return unknown(t.Elem(), pos, seen)
	}
	return pos, false
}
