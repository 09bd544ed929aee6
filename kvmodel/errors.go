package kvmodel

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// What an op can end in besides success. The first block are answers: the
// store was asked and said so.
var (
	// ErrNotFound: the key is absent, and the store said so.
	ErrNotFound = errors.New("not found")

	// ErrExists: an Add found the key present.
	ErrExists = errors.New("already exists")

	// ErrConflict: the item is present but no longer has the version given.
	ErrConflict = errors.New("changed by somebody else")

	// ErrNotStored: an Append found the key absent or the value full. Every
	// store gives this one answer for both, because some cannot tell.
	ErrNotStored = errors.New("not stored: absent or full")

	// ErrSealed: an Append found the value ending with Op.Unless.
	ErrSealed = errors.New("sealed")

	// ErrNotNumber: an Increment found a value that is not a number, or would
	// have led past MaxNumber.
	ErrNotNumber = errors.New("not a number in range")
)

// Refusals: the op was not sent, and nothing has changed.
var (
	// ErrBadKey: the key is empty, longer than MaxKey, or holds a byte that
	// some store cannot keep.
	ErrBadKey = errors.New("bad key")

	// ErrTooLarge: the value is longer than MaxValue.
	ErrTooLarge = errors.New("value too large")

	// ErrBadOp: the op makes no sense, such as one with a negative TTL. It is
	// a mistake in the program.
	ErrBadOp = errors.New("bad operation")
)

// Failures: the store could not be asked, or did not answer.
var (
	// ErrUnavailable: the op was not carried out and will not be. It may be
	// tried again.
	ErrUnavailable = errors.New("store unavailable")

	// ErrUnclear: the write may or may not have been carried out, and may even
	// be carried out at any later time, once. It is neither done nor failed. A
	// caller reads the key again: its own value is there, so it is done; the
	// version is unchanged, so it is still undecided, and the same operation
	// may be sent again or the version be changed by another write, after
	// which a late compare fails; the version has moved on, so only a value
	// that remembers its last changes can tell. What was written in
	// preparation must not be undone while undecided.
	ErrUnclear = errors.New("unclear whether the store did it")

	// ErrLost: the server has lost its memory since it was first seen. Its
	// "absent" means nothing until the loss is accepted, so it gives none.
	ErrLost = errors.New("store has lost its data")
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
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + quoteKey(e.Value) + " is taken by " + quoteKey(e.Owner)
}

// Is makes a TakenError an ErrExists.
func (e *TakenError) Is(target error) bool { return target == ErrExists }

// ItemError is an error with the place, in a call for many, of what it befell.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return "item " + strconv.Itoa(e.Index) + ": " + e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }

// OpError is an error with the operation it befell.
type OpError struct {
	Kind Kind
	Key  string
	Err  error
}

func (e *OpError) Error() string {
	return e.Kind.String() + " " + quoteKey(e.Key) + ": " + e.Err.Error()
}

func (e *OpError) Unwrap() error { return e.Err }
