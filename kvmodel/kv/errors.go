package kv

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Answers: the store was asked and refused.
var (
	// ErrNotFound: the key is absent. The store itself said so.
	ErrNotFound = errors.New("not found")

	// ErrExists: an Add found the key present.
	ErrExists = errors.New("already exists")

	// ErrConflict: the item is present but its version has changed.
	ErrConflict = errors.New("changed by someone else")

	// ErrNotStored: an Append found the key absent or the value full. Some stores cannot tell the
	// two apart.
	ErrNotStored = errors.New("not stored: absent or full")

	// ErrSealed: an Append found the value ending with Op.Unless.
	ErrSealed = errors.New("sealed")

	// ErrSkipped: an earlier op of the same chain has failed; see Op.Chain.
	ErrSkipped = errors.New("skipped: an earlier op of its chain failed")

	// ErrNotNumber: an Increment found a value that is not a number, or the sum would exceed
	// MaxNumber.
	ErrNotNumber = errors.New("not a number in range")
)

// Refusals: the op was not sent, and nothing has changed.
var (
	// ErrBadKey: the key is empty, longer than MaxKey, or holds a byte that some store cannot keep.
	ErrBadKey = errors.New("bad key")

	// ErrTooLarge: the value is longer than MaxValue, or the ops of one call write more than the
	// store can in one trip.
	ErrTooLarge = errors.New("value too large")

	// ErrBadOp: the op is invalid, such as one with a negative TTL. That is a bug in the program.
	ErrBadOp = errors.New("bad operation")
)

// Failures: the store could not be reached or did not answer.
var (
	// ErrUnavailable: the op was not carried out and will not be. It may be retried.
	ErrUnavailable = errors.New("store unavailable")

	// ErrUnclear: the write may or may not have been carried out, and may still be, once, at any
	// later time. The caller reads the key again. If it finds its own value, the write is done. If
	// the version is unchanged, the outcome is still open: send the same operation again, or change
	// the version with another write, so that a late compare fails. If the version has changed,
	// only a value that records its last changes can tell. Do not undo preparations while the
	// outcome is open.
	ErrUnclear = errors.New("unclear whether the write happened")

	// ErrReadOnly: nothing can be written here. The error is also an ErrUnavailable.
	ErrReadOnly = errors.New("read-only")

	// ErrLost: the server has lost its memory, so its "absent" would mean nothing, until the loss
	// is accepted.
	ErrLost = errors.New("store has lost its data")
)

// OpError is an error together with the failed operation.
type OpError struct {
	Kind Kind
	Key  string
	Err  error
	More int // ops of the same trip that failed the same way
}

func (e *OpError) Error() string {
	text := e.Kind.String() + " " + Quote(e.Key) + ": " + e.Err.Error()
	switch e.More {
	case 0:
		return text
	case 1:
		return text + " (and 1 more op of the trip)"
	}
	return text + " (and " + strconv.Itoa(e.More) + " more ops of the trip)"
}

func (e *OpError) Unwrap() error { return e.Err }

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
