package templates

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ReadText returns what was typed into a field of several lines, as Unix parts lines.
func ReadText(typed string) string { return strings.ReplaceAll(typed, "\r\n", "\n") }

// ReadWords returns what was typed into a field with commas between its words.
func ReadWords(typed string) []string {
	var all []string
	for word := range strings.SplitSeq(typed, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// ReadNumber returns the whole number that was typed into the field of the name, and adds
// to problems what is wrong with it. Nothing is 0.
func ReadNumber[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](problems map[string]string, name, typed string) T {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return 0
	}
	n, err := strconv.ParseInt(typed, 10, 64)
	if err != nil || int64(T(n)) != n || T(n) < 0 != (n < 0) {
		problems[name] = fmt.Sprintf("“%s” is not a whole number that fits.", typed)
		return 0
	}
	return T(n)
}

// ReadDecimal is ReadNumber for numbers with decimals.
func ReadDecimal[T ~float32 | ~float64](problems map[string]string, name, typed string) T {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return 0
	}
	n, err := strconv.ParseFloat(typed, 64)
	if err != nil {
		problems[name] = fmt.Sprintf("“%s” is not a number.", typed)
	}
	return T(n)
}


// ReadTime returns the time that was typed into the field of the name, whose type is
// datetime-local, in UTC, and adds to problems what is wrong with it. Nothing is the zero time.
func ReadTime(problems map[string]string, name, typed string) time.Time {
	if typed == "" {
		return time.Time{}
	}
	at, err := time.Parse(minute, typed)
	if err != nil {
		problems[name] = fmt.Sprintf("“%s” is not a time.", typed)
	}
	return at
}

// TimeValue returns the value of a field whose type is datetime-local.
func TimeValue(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(minute)
}

// Checked returns the value of a checkbox.
func Checked(on bool) string {
	if on {
		return "on"
	}
	return ""
}
