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
	if stored.IsTime(t) || stored.IsBasic(t, types.IsFloat) || keyType(t) == "" {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return comparableType(u.Elem())
	case *types.Array:
		return comparableType(u.Elem())
	}
	return "want what can be compared by its text: a string, a number, a bool, a time.Time, a key, or a slice of these"
}

// What other words stand on.
var (
	scoreType   = want("a ranking is by a number or a time.Time", hasOrder)
	integerType = want("a counter is an integer", func(t types.Type) bool { return stored.IsBasic(t, types.IsInteger) })
	int64Type   = want("want int64", func(t types.Type) bool { return types.Identical(t, types.Typ[types.Int64]) })
	timeType    = want("want time.Time", stored.IsTime)
)

// want returns what complains, with message, about a type for which fits does not hold.
func want(message string, fits func(types.Type) bool) func(types.Type) string {
	return func(t types.Type) string {
		if fits(t) {
			return ""
		}
		return message
	}
}

// hasOrder reports whether a ranking can be by values of type t.
func hasOrder(t types.Type) bool {
	return stored.IsTime(t) || stored.IsBasic(t, types.IsInteger|types.IsFloat) && t.Underlying() != types.Typ[types.Uintptr]
}
