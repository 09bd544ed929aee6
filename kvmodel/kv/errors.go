package kv

import (
	"errors"
	"strconv"
)

// What an op can end in besides success. These are answers: the store was
// asked, and this is what it said.
var (
	// ErrNotFound: the key is absent, and the store said so.
	ErrNotFound = errors.New("not found")

	// ErrExists: an Add found the key present.
	ErrExists = errors.New("already exists")

	// ErrConflict: the item is present but no longer has the version given.
	ErrConflict = errors.New("changed by someone else")

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

	// ErrTooLarge: the value is longer than MaxValue, or the ops of one call together
	// write more than the store can in one trip.
	ErrTooLarge = errors.New("value too large")

	// ErrBadOp: the op makes no sense, such as one with a negative TTL. That
	// is a mistake in the program.
	ErrBadOp = errors.New("bad operation")
)

// Failures: the store could not be asked, or did not answer.
var (
	// ErrUnavailable: the op was not carried out and will not be. It may be
	// retried.
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

	// ErrReadOnly: nothing can be written here. It is an ErrUnavailable, too.
	ErrReadOnly = errors.New("read-only")

	// ErrLost: the server has lost its memory since it was first seen. Its
	// "absent" means nothing until the loss is accepted, so it gives none.
	ErrLost = errors.New("store has lost its data")
)

// OpError is an error with the operation that failed.
type OpError struct {
	Kind Kind
	Key  string
	Err  error
	More int // ops of the same trip that have failed the same way
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
