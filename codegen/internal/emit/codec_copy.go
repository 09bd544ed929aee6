package emit

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// The database keeps a record in memory and gives each caller a copy, which must not share data.

type copying int

const (
	plainly copying = iota
	deeply
	never // only the type itself could do it
)

func (s *codecSet) copyingOf(t types.Type, within ...types.Type) copying {
	t = types.Unalias(t)
	for _, outer := range within {
		if types.Identical(outer, t) {
			return plainly // It adds nothing to itself.
		}
	}
	within = append(within, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return never
		}
		return plainly
	case *types.Struct:
		if stored.IsTime(t) || s.IsTimeLike(t) {
			return plainly
		}
		if s.OwnForm(t) != "" {
			return never
		}
		how := plainly
		for f := range u.Fields() {
			of := s.copyingOf(f.Type(), within...)
			if of == deeply && !f.Exported() && f.Pkg() != s.Pkg {
				of = never
			}
			how = max(how, of)
		}
		if named, is := t.(*types.Named); is && how == deeply && !s.isNameable(named.Obj()) {
			return never
		}
		return how
	case *types.Array:
		return s.copyingOf(u.Elem(), within...)
	case *types.Slice, *types.Pointer, *types.Map:
		if s.OwnForm(t) != "" {
			return never
		}
		return max(deeply, s.copyingOf(u.(interface{ Elem() types.Type }).Elem(), within...))
	}
	return never
}

func (s *codecSet) copyModel(model *types.Named) string {
	switch s.copyingOf(model) {
	case plainly:
		return fmt.Sprintf(", Copy: func(*%s) {}", model.Obj().Name())
	case deeply:
		return ", Copy: copy" + s.copyOf(model, stored.Place{Pos: model.Obj().Pos()})
	}
	return ""
}

// copyOf schedules the function for t, and returns its name without the prefix copy.
func (s *codecSet) copyOf(t types.Type, in stored.Place) string {
	base := s.helper(t, in.Name)
	s.need(codecPart{t, base, in.Pos, copyPart})
	return base
}

func (s *codecSet) writeCopy(t types.Type, base string, in stored.Place) {
	s.printf("func copy%s(v *%s) {\n", base, s.typeName(t, in.Pos))
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		s.printf("\t%s\n}\n\n", s.copyCall(t.Underlying(), "v", in))
		return
	}
	for f := range st.Fields() {
		if s.copyingOf(f.Type()) == deeply {
			s.printf("\t%s\n", s.copyCall(f.Type(), "&v."+f.Name(), stored.Place{Name: base + f.Name(), Pos: f.Pos()}))
		}
	}
	s.printf("}\n\n")
}

func (s *codecSet) copyCall(t types.Type, pointer string, in stored.Place) string {
	t = types.Unalias(t)
	if name := s.copyNamed(t, in); name != "" {
		return name + "(" + pointer + ")"
	}
	codec := s.runtime()
	switch u := t.(type) {
	case *types.Array:
		return fmt.Sprintf("%s.CopyArray(%s[:], %s)", codec, strings.TrimPrefix(pointer, "&"), s.copyFunction(u.Elem(), in))
	case *types.Slice:
		return fmt.Sprintf("%s.CopySlice(%s, %s)", codec, pointer, s.copyFunction(u.Elem(), in))
	case *types.Map:
		return fmt.Sprintf("%s.CopyMap(%s, %s)", codec, pointer, s.copyFunction(u.Elem(), in))
	case *types.Pointer:
		return fmt.Sprintf("%s.CopyPointer(%s, %s)", codec, pointer, s.copyFunction(u.Elem(), in))
	}
	return ""
}

// copyNamed returns "" for an unnamed slice, array, map or pointer.
func (s *codecSet) copyNamed(t types.Type, in stored.Place) string {
	_, named := t.(*types.Named)
	if _, is := t.Underlying().(*types.Struct); is || named {
		return "copy" + s.copyOf(t, in)
	}
	return ""
}

func (s *codecSet) copyFunction(t types.Type, in stored.Place) string {
	t = types.Unalias(t)
	if s.copyingOf(t) == plainly {
		return "nil"
	}
	if name := s.copyNamed(t, in); name != "" {
		return name
	}
	return fmt.Sprintf("func(v *%s) { %s }", s.typeName(t, in.Pos), s.copyCall(t, "v", in))
}
