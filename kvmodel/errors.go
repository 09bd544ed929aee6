package kvmodel

import (
	"errors"
	"strconv"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/format"
	"github.com/ringtree/ringtree/kvmodel/internal/rebuild"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Errors of data classes and index classes, in addition to the errors of a store.
var (
	// ErrInvalid: the record was refused by its own Validate, whose error this wraps, or one of its
	// fields cannot be stored.
	ErrInvalid = core.ErrInvalid

	// ErrBadCursor: the cursor comes from another listing.
	ErrBadCursor = errors.New("bad cursor")

	// ErrNeedsRebuild: the index cannot be read yet, because records were written without it or a
	// part of it was lost.
	ErrNeedsRebuild = plug.ErrNeedsRebuild

	// ErrNotYet: the work must wait, for example until a counter has not changed for long enough.
	// It is not a failure.
	ErrNotYet = work.ErrNotYet

	// ErrReadOnly: nothing was written, because the DB was opened with ReadOnly or its store cannot
	// be written.
	ErrReadOnly = kv.ErrReadOnly

	// ErrUnknownFormat: a later release gave the store a format unknown to this one, or the marker
	// of the format is damaged. So nothing is read or written. It is also an ErrUnavailable.
	ErrUnknownFormat = format.ErrUnknown

	// ErrCorrupt: stored bytes were not written by this module. The error wraps a *CorruptError
	// that names their keys. Results returned with it are right, and complete except for the named
	// keys.
	ErrCorrupt = codec.ErrCorrupt
)

// CorruptError names the stored items that this module did not write.
type CorruptError = wire.CorruptError

// TakenError names a unique value that another record holds. It is an ErrExists.
type TakenError = core.TakenError

// DuplicatesError lists the records that hold unique values of other records, so that an index
// could not be built. It is an ErrExists and wraps a TakenError for each. The other indexes were
// built, unless More is not 0. Once the records are changed or deleted, call Rebuild, which checks
// only these.
type DuplicatesError = rebuild.DuplicatesError

// Duplicate is a record that holds a unique value of another.
type Duplicate = rebuild.Duplicate

// ItemError is the error of one item in a call for several, with its position.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return "item " + strconv.Itoa(e.Index) + ": " + e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }
