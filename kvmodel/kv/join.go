package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// toldErrors is how many errors the text of joined ones holds.
const toldErrors = 3

// Failure returns which failure err is: ErrLost, ErrUnclear or ErrUnavailable. It
// returns nil for an answer, and for what is no error of a store.
func Failure(err error) error {
	for _, failure := range []error{ErrLost, ErrUnclear, ErrUnavailable} {
		if errors.Is(err, failure) {
			return failure
		}
	}
	return nil
}

// Join returns errs as one, or nil if each of them is nil. It wraps all of them, as
// errors.Join does. Its text is one line however many there are: it has the first of
// each kind of failure, and says how many more have failed the same way.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return &joined{errs}
}

type joined struct{ errs []error }

func (j *joined) Unwrap() []error { return j.errs }

func (j *joined) Error() string {
	var text strings.Builder
	kinds := alike(j.errs)
	for i, k := range kinds[:min(len(kinds), toldErrors)] {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(k.first.Error())
		if k.more > 0 {
			fmt.Fprintf(&text, " (and %d more like it)", k.more)
		}
	}
	if more := len(kinds) - toldErrors; more > 0 {
		fmt.Fprintf(&text, "; and %d other errors", more)
	}
	return text.String()
}

// kind is errors that fail the same way.
type kind struct {
	first   error
	failure error // nil: it is no failure, so it is alone
	more    int
}

// alike returns errs by kind, in the order of their first.
func alike(errs []error) (kinds []kind) {
	for _, err := range errs {
		failure := Failure(err)
		i := slices.IndexFunc(kinds, func(k kind) bool { return failure != nil && k.failure == failure })
		if i < 0 {
			kinds = append(kinds, kind{first: err, failure: failure})
			continue
		}
		kinds[i].more++
	}
	return kinds
}
