package tag

import (
	"go/types"

	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// keyType complains about a type that cannot be a key.
func keyType(t types.Type) string {
	if _, ok := stored.ScalarKey(t); ok || stored.KeyStruct(t) != nil {
		return ""
	}
	return "a key is a string, an integer, a bool, a named type of these, or a struct of two to four of these such as kvgen writes"
}

// keysType complains about a type that is neither a key nor a slice of keys.
func keysType(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return keyType(t)
}

// comparableType complains about a type whose values timeline.Text cannot tell apart.
func comparableType(t types.Type) string {
	if stored.IsTime(t) || keyType(t) == "" {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsFloat != 0 {
			return ""
		}
	case *types.Slice:
		return comparableType(u.Elem())
	case *types.Array:
		return comparableType(u.Elem())
	}
	return "want what can be compared by its text: a string, a number, a bool, a time.Time, a key, or a slice of these"
}

// scoreType complains about a type that has no order to rank by.
func scoreType(t types.Type) string {
	b, ok := t.Underlying().(*types.Basic)
	if ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 && b.Kind() != types.Uintptr || stored.IsTime(t) {
		return ""
	}
	return "a ranking is by a number or a time.Time"
}

// integerType complains about a type that is no integer.
func integerType(t types.Type) string {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
		return ""
	}
	return "a counter is an integer"
}

// int64Type complains about any type but int64.
func int64Type(t types.Type) string {
	if types.Identical(t, types.Typ[types.Int64]) {
		return ""
	}
	return "want int64"
}

// timeType complains about any type but time.Time.
func timeType(t types.Type) string {
	if stored.IsTime(t) {
		return ""
	}
	return "want time.Time"
}
