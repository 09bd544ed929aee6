package codegen

import (
	"go/types"
	"strings"
)

const msgpackPath = "github.com/vmihailenco/msgpack/v5"

// forms knows how the types that one package reaches are stored, and reports
// what cannot be stored at the nearest field of that package.
type forms struct {
	*reporter
	pkg    *types.Package
	writes func(*types.TypeName) bool // whether kvgen writes the codec of a type
}

// ownForm returns how a type marshals itself, as the runtime calls it, or
// nothing. Both directions must be methods of the type, not of something it
// embeds, which knows only its own part.
func (s *forms) ownForm(t types.Type) string {
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

// isTime reports whether t is time.Time.
func isTime(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Time"
}

// isTimeLike reports whether t is declared as "type T time.Time".
func (s *forms) isTimeLike(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || isTime(t) || s.ownForm(t) != "" {
		return false
	}
	for f := range st.Fields() {
		return f.Pkg().Path() == "time" && f.Name() == "wall"
	}
	return false
}

// structIn returns the struct type that t is or points to and that is stored
// field by field, or nil.
func (s *forms) structIn(t types.Type) types.Type {
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

// describe returns t as a message in the package calls it.
func (s *forms) describe(t types.Type) string { return describe(t, s.pkg) }

// describe returns t as a message in the package home calls it.
func describe(t types.Type, home *types.Package) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg == home {
			return ""
		}
		return pkg.Name()
	})
}
