package emit

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// codecSet writes the codecs of the models of a package and, once each, of all types they reach, in
// their order.
type codecSet struct {
	*stored.Forms
	names   map[string]string
	imports *imports
	parts   []codecPart // in the order of writing
	done    int
	out     bytes.Buffer
}

type codecPart struct {
	typ  types.Type
	base string
	pos  token.Pos
	what part
}

type part int

const (
	streamPart part = iota
	fieldsPart
	copyPart
)

func newCodecSet(f *stored.Forms, names *imports) *codecSet {
	return &codecSet{Forms: f, names: map[string]string{}, imports: names}
}

// codecOf schedules the functions for t, and returns their name without the prefixes. place names a
// type without a name.
func (s *codecSet) codecOf(t types.Type, place string, pos token.Pos) string {
	base := s.helper(t, place)
	s.need(codecPart{t, base, pos, streamPart})
	return base
}

func (s *codecSet) fieldsOf(t types.Type, place string, pos token.Pos) string {
	base := s.helper(t, place)
	s.need(codecPart{t, base, pos, fieldsPart})
	return english.Uncapital(base) + "Fields"
}

func (s *codecSet) need(part codecPart) {
	same := func(p codecPart) bool { return p.base == part.base && p.what == part.what }
	if !slices.ContainsFunc(s.parts, same) {
		s.parts = append(s.parts, part)
	}
}

func (s *codecSet) codecName(model *types.Named) string {
	return english.Uncapital(s.helper(model, "")) + "Codec"
}

// helper adds a number if an identifier made of the name is in use.
func (s *codecSet) helper(t types.Type, place string) string {
	key := types.TypeString(t, nil)
	if name := s.names[key]; name != "" {
		return name
	}
	base := mangled(t, s.Pkg)
	if _, named := types.Unalias(t).(*types.Named); !named {
		base = place
	}
	inUse := func(id string) bool { return s.imports.taken[id] || token.IsKeyword(id) }
	name, ids := base, identifiers(base)
	for n := 2; slices.ContainsFunc(ids, inUse); n++ {
		name = fmt.Sprintf("%s%d", base, n)
		ids = identifiers(name)
	}
	for _, id := range ids {
		s.imports.taken[id] = true
	}
	s.names[key] = name
	return name
}

func identifiers(name string) []string {
	lower := english.Uncapital(name)
	return []string{"write" + name, "read" + name, "read" + name + "Field", "copy" + name, lower + "Fields", lower + "Codec"}
}

// mangled returns GeoPoint, PairStringSliceInt.
func mangled(t types.Type, home *types.Package) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return english.Capital(t.Name())
	case *types.Pointer:
		return "Pointer" + mangled(t.Elem(), home)
	case *types.Slice:
		return "Slice" + mangled(t.Elem(), home)
	case *types.Array:
		return fmt.Sprintf("Array%d%s", t.Len(), mangled(t.Elem(), home))
	case *types.Map:
		return "Map" + mangled(t.Key(), home) + mangled(t.Elem(), home)
	case *types.Named:
		name := english.Capital(t.Obj().Name())
		if pkg := t.Obj().Pkg(); pkg != nil && pkg != home {
			name = english.Capital(pkg.Name()) + name
		}
		for arg := range t.TypeArgs().Types() {
			name += mangled(arg, home)
		}
		return name
	}
	return "Value"
}

// It reports a t that the package cannot name.
func (s *codecSet) typeName(t types.Type, pos token.Pos) string {
	s.checkNameable(t, pos)
	return s.imports.typeString(t)
}

func (s *codecSet) checkNameable(t types.Type, pos token.Pos) {
	switch t := types.Unalias(t).(type) {
	case *types.Map:
		s.checkNameable(t.Key(), pos)
		s.checkNameable(t.Elem(), pos)
	case interface{ Elem() types.Type }:
		s.checkNameable(t.Elem(), pos)
	case *types.Named:
		obj := t.Obj()
		if !s.isNameable(obj) {
			s.At(pos, "%s is out of reach of this package: leave the field out with `kv:\"-\"`, or copy it into a type of your own", stored.Describe(t, s.Pkg))
		}
		for arg := range t.TypeArgs().Types() {
			s.checkNameable(arg, pos)
		}
	}
}

func (s *codecSet) isNameable(obj *types.TypeName) bool {
	return obj.Pkg() == nil || obj.Pkg() == s.Pkg || obj.Exported() && importable(obj.Pkg().Path(), s.Pkg.Path())
}

// importable reports whether internal directories let home import path.
func importable(path, home string) bool {
	whole := "/" + path + "/"
	i := strings.LastIndex(whole, "/internal/")
	return i < 0 || i > 0 && strings.HasPrefix("/"+home+"/", whole[:i]+"/")
}

func (s *codecSet) runtime() string { return s.imports.runtime("kvmodel/codec") }
