package tag

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

type operand struct {
	form     string // for messages; "": no value allowed
	optional bool
	wrong    func(string) string // nil accepts all
}

// "": the value is valid
func (o operand) fault(name, value string, valued bool) string {
	switch {
	case !valued && (o.form == "" || o.optional):
		return ""
	case !valued || value == "" && o.form != "":
		return fmt.Sprintf("%s wants a value: %s=%s", name, name, o.form)
	case o.form == "":
		return name + " takes no value"
	case o.wrong == nil:
		return ""
	}
	if wrong := o.wrong(value); wrong != "" {
		return fmt.Sprintf("%s=%s: %s", name, value, wrong)
	}
	return ""
}

func number(least, most int) operand {
	return operand{form: "N", wrong: func(s string) string {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most || s != strconv.Itoa(n) {
			return fmt.Sprintf("want a number from %d to %d", least, most)
		}
		return ""
	}}
}

func oneOf(values ...string) operand {
	return operand{form: strings.Join(values, "|"), wrong: func(s string) string {
		if slices.Contains(values, s) {
			return ""
		}
		return english.Known(s, values)
	}}
}

func duration(s string) string {
	if d, err := time.ParseDuration(s); err != nil || d < time.Second {
		return "want a duration of at least a second, like 24h or 30m"
	}
	return ""
}

func goName(s string) string {
	if token.IsKeyword(s) {
		return "it is a keyword of Go; take another name"
	}
	if !token.IsIdentifier(s) || !token.IsExported(s) {
		return "want a Go name that starts with a capital letter"
	}
	return ""
}

func modelField(s string) string {
	model, field, ok := strings.Cut(s, ".")
	if !ok || goName(model) != "" || goName(field) != "" {
		return "want the counter to follow as Model.Field"
	}
	return ""
}

func locale(s string) string {
	tag, err := language.Parse(s)
	if err != nil {
		var known []string
		for _, tag := range collate.Supported()[1:] {
			known = append(known, tag.String())
		}
		return "unknown language; these have an order of their own, " + english.Known(s, known)
	}
	if tag.String() != s {
		return "write it as " + tag.String()
	}
	return ""
}

func keyType(t types.Type) string {
	if _, ok := stored.ScalarKey(t); ok || stored.KeyStruct(t) != nil {
		return ""
	}
	return "a key is a string, an integer, a bool, a named type of these, or a struct of two to four of these, such as a generated key type"
}

func keysType(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return keyType(t)
}

// comparableType rejects types with values that timeline.Text cannot distinguish.
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
	return "want a type that can be compared by its text: a string, a number, a bool, a time.Time, a key, or a slice of these"
}

func anyType(types.Type) string { return "" }

var (
	scoreType   = want("a ranking is by a number, a string or a time.Time", hasOrder)
	integerType = want("a counter is an integer", func(t types.Type) bool { return stored.IsBasic(t, types.IsInteger) })
	summandType = want("a sum is of integers", func(t types.Type) bool { return stored.IsBasic(t, types.IsInteger) })
	int64Type   = want("want int64", func(t types.Type) bool { return types.Identical(t, types.Typ[types.Int64]) })
	timeType    = want("want time.Time", stored.IsTime)
)

func want(message string, fits func(types.Type) bool) func(types.Type) string {
	return func(t types.Type) string {
		if fits(t) {
			return ""
		}
		return message
	}
}

func hasOrder(t types.Type) bool {
	return stored.IsTime(t) || stored.IsBasic(t, types.IsInteger|types.IsFloat|types.IsString) && t.Underlying() != types.Typ[types.Uintptr]
}
