package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/format"
	"github.com/ringtree/ringtree/kvmodel/internal/intent"
	"github.com/ringtree/ringtree/kvmodel/internal/rebuild"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Errors of data classes and index classes, in addition to the errors of a store.
var (
	// ErrInvalid: the record's own Validate refused it, or a field cannot be stored.
	ErrInvalid = plug.ErrInvalid

	// ErrBadCursor: the cursor comes from another listing.
	ErrBadCursor = plug.ErrBadCursor

	// ErrNeedsRebuild: the index is not complete: it is new, or a part was lost.
	ErrNeedsRebuild = plug.ErrNeedsRebuild

	// ErrNotYet: the work must wait. It is not a failure.
	ErrNotYet = work.ErrNotYet

	// ErrReadOnly: nothing was written: see ReadOnly.
	ErrReadOnly = kv.ErrReadOnly

	// ErrUnknownFormat: the store has a later format, or its marker is damaged. Nothing is read or
	// written. It is also an ErrUnavailable.
	ErrUnknownFormat = format.ErrUnknown

	// ErrCorrupt: this module did not write the stored bytes. It wraps a *CorruptError with their
	// keys. Results returned with it are right, and complete except for those keys.
	ErrCorrupt = codec.ErrCorrupt
)

// CorruptError names the stored items that this module did not write.
type CorruptError = wire.CorruptError

// TakenError names a unique value that another record holds. It is an ErrExists. Private means that
// its text masks the value.
type TakenError = core.TakenError

// DuplicatesError lists the records that hold unique values of other records, so that an index
// could not be built. It is an ErrExists and wraps its Records, whose By is the record to change. The other indexes were
// built, unless More is not 0. Once the records are changed or deleted, call Rebuild.
type DuplicatesError = rebuild.DuplicatesError

// ItemError is the error of one item in a call for several, with its position.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return "item " + strconv.Itoa(e.Index) + ": " + e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }

// maxValues is the default limit of a record's values in one index; max= changes it.
const maxValues = 1000

// tooMany means that a record has more values than an index accepts. It is an ErrTooLarge.
type tooMany struct {
	fields []string // fields of the values, or their method
	number int
	limit  int
}

func (e *tooMany) Error() string {
	return fmt.Sprintf("%s has %d values; an index takes at most %d", strings.Join(e.fields, ", "), e.number, e.limit)
}

func (e *tooMany) Is(target error) bool { return target == kv.ErrTooLarge }

func limited(number, limit int, fields func() []string) error {
	if limit = cmp.Or(limit, maxValues); number > limit {
		return &tooMany{fields: fields(), number: number, limit: limit}
	}
	return nil
}

// Problems describes invalid fields of a record, by their names in lower case, as in a form.
// Validate may return it. It is an ErrInvalid.
type Problems map[string]string

func (p Problems) Error() string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(p)) {
		all = append(all, field+": "+p[field])
	}
	return strings.Join(all, "; ")
}

// Is reports whether target is ErrInvalid.
func (p Problems) Is(target error) bool { return target == ErrInvalid }

// Add records a problem with a field, unless the text is empty or the field already has one.
func (p Problems) Add(field, problem string) {
	if field = strings.ToLower(field); problem != "" && p[field] == "" {
		p[field] = problem
	}
}

// Err returns p, or nil if there are no problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// ProblemsOf returns the problems with fields in err: those from Validate, taken unique values, and
// too many values.
func ProblemsOf(err error) Problems {
	all := Problems{}
	if p, ok := errors.AsType[Problems](err); ok {
		maps.Copy(all, p)
	}
	if taken, ok := errors.AsType[*TakenError](err); ok {
		text := "“" + taken.Value + "” is taken."
		if len(taken.Fields) > 1 {
			text = "These are taken together."
		}
		for _, field := range taken.Fields {
			all.Add(field, text)
		}
	}
	if many, ok := errors.AsType[*tooMany](err); ok {
		for _, field := range many.fields {
			all.Add(field, fmt.Sprintf("There are %d values; at most %d are allowed.", many.number, many.limit))
		}
	}
	return all
}

// statuses are the HTTP statuses of errors, most severe first. They are numbers, so that programs
// need not import net/http.
var statuses = []struct {
	err    error
	status int
}{
	{ErrCorrupt, 500},
	{kv.ErrLost, 503},
	{kv.ErrUnclear, 503},
	{kv.ErrUnavailable, 503},
	{ErrNeedsRebuild, 503},
	{ErrReadOnly, 503},
	{ErrUnknownFormat, 503},
	{context.DeadlineExceeded, 503},
	{context.Canceled, 503},
	{kv.ErrTooLarge, 413},
	{ErrInvalid, 422},
	{kv.ErrConflict, 409},
	{kv.ErrExists, 409},
	{ErrBadCursor, 400},
	{kv.ErrNotFound, 404},
}

// HTTPStatus returns the HTTP status for err: 200 for nil, that of the most severe of joined
// errors, 422 for a [Refused] error without one, and 500 otherwise.
func HTTPStatus(err error) int {
	if err == nil {
		return 200
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status
		}
	}
	if intent.IsRefused(err) {
		return 422
	}
	return 500
}

// The parts of package kv an app needs every day, so that one import is enough. Each is the same
// under both names.

// Errors to compare with errors.Is; package kv documents exactly when each is returned.
var (
	ErrNotFound    = kv.ErrNotFound    // the record does not exist; the store said so
	ErrExists      = kv.ErrExists      // the id or the unique value is taken
	ErrConflict    = kv.ErrConflict    // changed by someone else
	ErrTooLarge    = kv.ErrTooLarge    // too large to be stored
	ErrUnavailable = kv.ErrUnavailable // the store could not be asked; nothing was done
	ErrUnclear     = kv.ErrUnclear     // the store did not answer; the write may or may not be done
	ErrLost        = kv.ErrLost        // the store has lost its data
)

// Metered returns a context that counts the requests to stores made under it.
func Metered(ctx context.Context) (context.Context, *kv.Meter) { return kv.Metered(ctx) }

// NewID returns a random id of 26 characters that sorts by the time now.
func NewID(now time.Time) string { return kv.NewID(now) }

// IsID reports whether text has the form of an id from [NewID].
func IsID(text string) bool { return kv.IsID(text) }
