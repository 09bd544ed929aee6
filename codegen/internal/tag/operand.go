package tag

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/english"
)

// An operand is what may stand after an "=".
type operand struct {
	form     string // as messages show it; "": no value may stand there
	optional bool
	wrong    func(string) string // complains about a value; nil takes all
}

// fault returns what is wrong with the value after name, "" if nothing is.
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

// number is an operand from least to most.
func number(least, most int) operand {
	return operand{form: "N", wrong: func(s string) string {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most || s != strconv.Itoa(n) {
			return fmt.Sprintf("want a number from %d to %d", least, most)
		}
		return ""
	}}
}

// oneOf is an operand that is one of values.
func oneOf(values ...string) operand {
	return operand{form: strings.Join(values, "|"), wrong: func(s string) string {
		if slices.Contains(values, s) {
			return ""
		}
		return english.Known(s, values)
	}}
}

// duration complains about a text that is not a duration of at least a second.
func duration(s string) string {
	if d, err := time.ParseDuration(s); err != nil || d < time.Second {
		return "want a duration of at least a second, like 24h or 30m"
	}
	return ""
}

// goName complains about a text that cannot be an exported name of Go.
func goName(s string) string {
	if token.IsKeyword(s) {
		return "it is a keyword of Go; take another name"
	}
	if !token.IsIdentifier(s) || !token.IsExported(s) {
		return "want a Go name that starts with a capital letter"
	}
	return ""
}

// modelField complains about a text that is not Model.Field.
func modelField(s string) string {
	model, field, ok := strings.Cut(s, ".")
	if !ok || goName(model) != "" || goName(field) != "" {
		return "want the counter to follow as Model.Field"
	}
	return ""
}
