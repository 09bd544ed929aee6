package templates

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Input connects a field of a form to a variable, which Form.Fill sets. A value that comes back as
// it was shown leaves the variable unchanged, even if the field cannot show all of it, such as the
// seconds of a time.
type Input struct {
	kind  string // of the input element; "" is text
	value string // as the field shows it
	rows  int    // of a text area
	max   int    // characters at most; 0 is no limit

	sent func(value string) string           // a value after a browser has changed it
	set  func(typed string) (problem string) // sets the variable, or returns the reason not to
}

// With these limits, a form with six such texts has less than 4 MB.
const (
	maxLine  = 1_000
	maxText  = 50_000
	maxWords = 1_000 // number of words
)

// Line is the Input of a text of one line, without blanks around it.
func Line[T ~string](to *T) *Input {
	return &Input{value: string(*to), max: maxLine, sent: oneLine, set: func(typed string) string {
		if typed = strings.TrimSpace(typed); strings.Contains(typed, "\n") {
			return "This has to be one line."
		}
		*to = T(typed)
		return ""
	}}
}

func oneLine(text string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(text) }

// Text is the Input of a text of several lines, separated by \n.
func Text[T ~string](to *T) *Input {
	return &Input{value: string(*to), rows: 10, max: maxText, sent: unixLines, set: func(typed string) string {
		*to = T(typed)
		return ""
	}}
}

func unixLines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// Words is the Input of words with commas between them, at most 1,000.
func Words(to *[]string) *Input {
	return &Input{value: strings.Join(*to, ", "), max: maxText, sent: oneLine, set: func(typed string) string {
		if n := strings.Count(typed, ",") + 1; n > maxWords {
			return fmt.Sprintf("At most %s fit here, and these are %s.", Grouped(maxWords), Grouped(int64(n)))
		}
		*to = nil
		for word := range strings.SplitSeq(typed, ",") {
			if word = strings.TrimSpace(word); word != "" {
				*to = append(*to, word)
			}
		}
		return ""
	}}
}

// Check is the Input of a checkbox.
func Check[T ~bool](to *T) *Input {
	in := &Input{kind: "checkbox", set: func(typed string) string { *to = typed != ""; return "" }}
	if *to {
		in.value = "on"
	}
	return in
}

type whole interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Number is the Input of a whole number. Nothing is 0.
func Number[T whole](to *T) *Input {
	return numeric("number", fmt.Sprintf("%d", *to), "a whole number that fits", to, ParseNumber)
}

// ParseNumber returns the whole number in text.
func ParseNumber[T whole](text string) (T, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && int64(T(n)) == n && T(n) < 0 == (n < 0) {
		return T(n), true
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && uint64(T(n)) == n && T(n) >= 0 {
		return T(n), true
	}
	return 0, false
}

// Decimal is the Input of a number with decimals. Nothing is 0.
func Decimal[T ~float32 | ~float64](to *T) *Input {
	bits := reflect.TypeFor[T]().Bits()
	return numeric("", strconv.FormatFloat(float64(*to), 'f', -1, bits), "a number", to, func(text string) (T, bool) {
		n, err := strconv.ParseFloat(text, bits)
		return T(n), err == nil && strings.Trim(text, "0123456789+-.eE") == ""
	})
}

const minute = "2006-01-02T15:04"

// Time is the Input of a time in UTC, to the minute. Nothing is the zero time.
func Time(to *time.Time) *Input {
	return numeric("datetime-local", TimeValue(*to), "a time", to, func(text string) (time.Time, bool) {
		at, err := time.Parse(minute, text)
		return at, err == nil
	})
}

// TimeValue returns a time as a field shows it, empty for the zero time.
func TimeValue(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(minute)
}

func numeric[T any](kind, value, what string, to *T, parse func(string) (T, bool)) *Input {
	return &Input{kind: kind, value: value, set: func(typed string) string {
		var v T
		if typed = strings.TrimSpace(typed); typed != "" {
			var ok bool
			if v, ok = parse(typed); !ok {
				return "“" + quoted(typed) + "” is not " + what + "."
			}
		}
		*to = v
		return ""
	}}
}

func quoted(text string) string {
	if all := []rune(text); len(all) > 40 {
		return string(all[:40]) + "…"
	}
	return text
}

// Key is the Input of an id. Once set, it is hidden and stays. It cannot be . or .., which browsers
// resolve in an address.
func Key[T ~string](to *T) *Input {
	in := Line(to)
	if in.value != "" {
		in.kind = "hidden"
	}
	line := in.set
	in.max, in.set = maxKey, func(typed string) string {
		if typed = strings.TrimSpace(typed); way(typed) {
			return "No address can end in “" + typed + "”."
		}
		return line(typed)
	}
	return in
}

const maxKey = 200

func way(part string) bool { return part == "." || part == ".." }
