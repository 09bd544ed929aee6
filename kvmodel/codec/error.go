package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrCorrupt is wrapped by every error about stored bytes.
	ErrCorrupt = errors.New("corrupt data")

	// ErrNotStorable is wrapped by every error about a value that has no stored form. Nothing was
	// written.
	ErrNotStorable = errors.New("value cannot be stored")
)

// Error describes an error in stored bytes. It wraps ErrCorrupt and, if a type's own decoder
// failed, that decoder's error.
type Error struct {
	Offset int    // of the value's first byte
	Reason string // the expected and the actual content
	Cause  error  // from a type that decodes itself, otherwise nil

	steps []string // the path to the field, innermost first
}

// Path returns the field that the bytes belong to, such as "Author.Emails[3]".
func (e *Error) Path() string {
	var path strings.Builder
	for _, step := range slices.Backward(e.steps) {
		if path.Len() > 0 && step[0] != '[' {
			path.WriteByte('.')
		}
		path.WriteString(step)
	}
	return path.String()
}

func (e *Error) Error() string {
	where := fmt.Sprintf("offset %d", e.Offset)
	if path := e.Path(); path != "" {
		where = path + " at " + where
	}
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, where, e.Reason)
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Cause}
}

func (e *Error) within(step string) {
	e.steps = append(e.steps, step)
}
