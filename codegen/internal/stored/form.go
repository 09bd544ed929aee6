// Package stored defines the stored form of Go types: as keys, as values, and as fields of records.
package stored

import (
	"go/token"
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/problem"
)

const MsgpackPath = "github.com/vmihailenco/msgpack/v5"

// Forms reports types without a stored form at the nearest field of the package.
type Forms struct {
	*problem.Reporter
	Pkg *types.Package

	// Writes reports whether kvgen writes the codec of a type: then its msgpack methods are not its
	// own.
	Writes func(*types.TypeName) bool
}

// Quiet returns Forms that report nothing: problems with types are reported when the codecs are
// written.
func Quiet(pkg *types.Package, writes func(*types.TypeName) bool) *Forms {
	return &Forms{&problem.Reporter{Fset: token.NewFileSet()}, pkg, writes}
}

// OwnForm returns how a type marshals itself, or "". Both methods must be its own: those of an
// embedded field would handle only a part.
func (s *Forms) OwnForm(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || IsTime(named) || s.Writes(named.Obj()) || types.IsInterface(named) {
		return ""
	}
	for _, form := range ownForms {
		if hasMethod(named, form.write) && hasMethod(named, form.read) {
			return form.name
		}
	}
	return ""
}

// ownForms are tried in the order of msgpack v5.
var ownForms = []struct {
	name        string
	write, read MethodShape
}{
	{"Custom", MethodShape{"EncodeMsgpack", "*" + MsgpackPath + ".Encoder", "error"}, MethodShape{"DecodeMsgpack", "*" + MsgpackPath + ".Decoder", "error"}},
	{"Marshaler", MethodShape{"MarshalMsgpack", "", "[]byte error"}, MethodShape{"UnmarshalMsgpack", "[]byte", "error"}},
	{"Binary", MethodShape{"MarshalBinary", "", "[]byte error"}, MethodShape{"UnmarshalBinary", "[]byte", "error"}},
	{"Text", MethodShape{"MarshalText", "", "[]byte error"}, MethodShape{"UnmarshalText", "[]byte", "error"}},
}

type MethodShape struct{ Name, Params, Results string }

func hasMethod(t *types.Named, want MethodShape) bool {
	found, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, want.Name)
	method, ok := found.(*types.Func)
	return ok && len(index) == 1 && want.Fits(method)
}

func (m MethodShape) Fits(method *types.Func) bool {
	sig := method.Signature()
	return typesOf(sig.Params()) == m.Params && typesOf(sig.Results()) == m.Results
}

func typesOf(tuple *types.Tuple) string {
	var list []string
	for v := range tuple.Variables() {
		list = append(list, types.TypeString(v.Type(), nil))
	}
	return strings.Join(list, " ")
}

// IsBasic reports whether t's underlying type is basic and has a property of info.
func IsBasic(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

func IsTime(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Time"
}

// IsTimeLike reports whether t is declared as "type T time.Time".
func (s *Forms) IsTimeLike(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || IsTime(t) || s.OwnForm(t) != "" {
		return false
	}
	for f := range st.Fields() {
		return f.Pkg().Path() == "time" && f.Name() == "wall"
	}
	return false
}

// StructIn returns the struct that t is or points to, if it is stored field by field, or nil.
func (s *Forms) StructIn(t types.Type) types.Type {
	t = types.Unalias(t)
	if p, ok := t.Underlying().(*types.Pointer); ok && s.OwnForm(t) == "" {
		t = types.Unalias(p.Elem())
	}
	_, ok := t.Underlying().(*types.Struct)
	if !ok || IsTime(t) || s.IsTimeLike(t) || s.OwnForm(t) != "" {
		return nil
	}
	return t
}

// Describe returns t as written in the package home.
func Describe(t types.Type, home *types.Package) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg == home {
			return ""
		}
		return pkg.Name()
	})
}

const MaxParts = 4

func ScalarKey(t types.Type) (string, bool) {
	b, ok := t.Underlying().(*types.Basic)
	if _, param := types.Unalias(t).(*types.TypeParam); !ok || param {
		return "", false
	}
	switch info := b.Info(); {
	case b.Kind() == types.Uintptr || info&types.IsUntyped != 0:
		return "", false
	case info&types.IsString != 0:
		return "StringKey", true
	case info&types.IsBoolean != 0:
		return "BoolKey", true
	case info&types.IsInteger != 0:
		return "IntKey", true
	}
	return "", false
}

// KeyStruct returns the fields of a key of several parts: a named struct of two to four exported
// scalar keys.
func KeyStruct(t types.Type) *types.Struct {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	s, ok := named.Underlying().(*types.Struct)
	if !ok || s.NumFields() < 2 || s.NumFields() > MaxParts {
		return nil
	}
	for f := range s.Fields() {
		if _, ok := ScalarKey(f.Type()); !ok || !f.Exported() {
			return nil
		}
	}
	return s
}

// KeyKind is in the lock file: changing it moves every key.
func KeyKind(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	s := KeyStruct(t)
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsUnsigned != 0 {
		return "uint"
	} else if s == nil {
		make, _ := ScalarKey(t)
		return strings.ToLower(strings.TrimSuffix(make, "Key"))
	}
	var kinds []string
	for f := range s.Fields() {
		kinds = append(kinds, KeyKind(f.Type()))
	}
	return "(" + strings.Join(kinds, ",") + ")"
}
