package kvmodel

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// What data classes and index classes can end in besides.
var (
	// ErrInvalid: the record says of itself that it may not be stored, or a
	// field of it cannot be. It wraps what Validate said.
	ErrInvalid = errors.New("invalid")

	// ErrBadCursor: the cursor is not one that this listing has given.
	ErrBadCursor = errors.New("bad cursor")

	// ErrNeedsRebuild: the index cannot be read yet, because there are records
	// that were written without it, or because some of it was lost.
	ErrNeedsRebuild = errors.New("index needs a rebuild")

	// ErrNotYet: something has to wait for its time, such as until a counter was
	// left alone for long enough. It has not failed.
	ErrNotYet = errors.New("not yet")

	// ErrCorrupt: what is stored is not what this project writes.
	ErrCorrupt = codec.ErrCorrupt
)

// TakenError says which unique value another record holds. It is an ErrExists.
type TakenError struct {
	Model  string
	Index  string
	Fields []string
	Value  string // the value as it is printed
	Owner  string // the text of the id of the record that holds it
}

func (e *TakenError) Error() string {
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + kv.Quote(e.Value) + " is taken by " + kv.Quote(e.Owner)
}

// Is makes a TakenError an ErrExists.
func (e *TakenError) Is(target error) bool { return target == kv.ErrExists }

// ItemError is an error with the place, in a call for many, of what it befell.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return "item " + strconv.Itoa(e.Index) + ": " + e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }

// firstError returns the first of errs that is a failure, or the first that says
// that something has to wait.
func firstError(errs []error) error {
	var wait error
	for _, err := range errs {
		switch {
		case err == nil:
		case !waits(err):
			return err
		case wait == nil:
			wait = err
		}
	}
	return wait
}
