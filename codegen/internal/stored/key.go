package stored

import (
	"go/types"
	"strings"
)

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
