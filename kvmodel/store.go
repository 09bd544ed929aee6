package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
