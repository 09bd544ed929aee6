package kvmodel

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// What calls of data classes and index classes can return besides the errors of
// a store.
var (
	// ErrInvalid: the record must not be stored, by its own Validate, whose error
	// this wraps, or because a field of it cannot be.
	ErrInvalid = errors.New("invalid")

	// ErrBadCursor: the cursor does not come from this listing.
	ErrBadCursor = errors.New("bad cursor")

	// ErrNeedsRebuild: the index cannot be read yet, because there are records
	// that were written without it, or because a part of it was lost.
	ErrNeedsRebuild = plug.ErrNeedsRebuild

	// ErrNotYet: something has to wait for its time, such as until a counter has
	// not changed for long enough. It has not failed.
	ErrNotYet = work.ErrNotYet

	// ErrReadOnly: the DB was opened with ReadOnly, or its store cannot be written, so
	// nothing was.
	ErrReadOnly = kv.ErrReadOnly

	// ErrUnknownFormat: a later release has given the store a format that this one does not
	// know, or the marker that says which it has is damaged. So nothing is read or written.
	// It is an ErrUnavailable, too.
	ErrUnknownFormat = errors.New("unknown format")

	// ErrCorrupt: stored bytes are not what this module writes. The error wraps a
	// *CorruptError that names their key. What is returned besides it is right, and
	// complete but for what is stored under the keys that are named.
	ErrCorrupt = codec.ErrCorrupt
)

// CorruptError says which stored items are not what this module writes.
type CorruptError = wire.CorruptError

// TakenError says which unique value another record holds. It is an ErrExists.
type TakenError struct {
	Model  string
	Index  string
	Fields []string // that have the value, or the method that returns it
	Value  string   // the value as text
	ID     string   // the text of the id of the record that holds it

	Private bool // the index is over a private field, whose value the text of the error masks
}

func (e *TakenError) Error() string {
	value := kv.Quote(e.Value)
	if e.Private {
		value = "***"
	}
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + value + " is taken by " + kv.Quote(e.ID)
}

// Is makes a TakenError an ErrExists.
func (e *TakenError) Is(target error) bool { return target == kv.ErrExists }

// ItemError is the error of one item in a call for many, with the item's
// position.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return "item " + strconv.Itoa(e.Index) + ": " + e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }
