package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const toldErrors = 3

// Failure returns the kind of failure that err is: ErrLost, ErrUnclear or ErrUnavailable; nil for
// an answer and for errors that do not come from a store.
func Failure(err error) error {
	for _, failure := range []error{ErrLost, ErrUnclear, ErrUnavailable} {
		if errors.Is(err, failure) {
			return failure
		}
	}
	return nil
}

// Join returns errs as one error that wraps all of them, or nil if all are nil. Its text is one
// line: the first error of each kind of failure, and how many more failed the same way.
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

type kind struct {
	first   error
	failure error // nil: not a failure of a store, so it is alone
	more    int
}

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
