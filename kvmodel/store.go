package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// What an app needs of package kv every day, so that one import is enough. Each
// is the same thing under both names.

// Store is where the data is kept: what a backend opens and [Open] takes.
type Store = kv.Store

// Cost is what some work asked of a store.
type Cost = kv.Cost

// Trip is one request to the store, for a hook of [Trace] to look at.
type Trip = kv.Trip

// Work says which verb of which model or index asks for something.
type Work = kv.Work

// Errors that an app compares with errors.Is; package kv says exactly when each
// is returned.
var (
	ErrNotFound    = kv.ErrNotFound    // there is no such record, and the store said so
	ErrExists      = kv.ErrExists      // the id or the unique value is taken
	ErrConflict    = kv.ErrConflict    // someone else has changed it
	ErrTooLarge    = kv.ErrTooLarge    // too large to be stored
	ErrUnavailable = kv.ErrUnavailable // the store could not be asked; nothing was done
	ErrUnclear     = kv.ErrUnclear     // the store did not answer; it may or may not be done
	ErrLost        = kv.ErrLost        // the store has lost its data
)

// Metered returns a context that counts what is asked of the stores under it.
func Metered(ctx context.Context) (context.Context, *kv.Meter) { return kv.Metered(ctx) }

// Count returns a store that adds up, in the meter of each context, what is
// asked of s. A store that was opened by [Open] does so already.
func Count(s Store) Store { return kv.Count(s) }

// Trace returns a store that shows each trip to hook after it has ended.
func Trace(s Store, hook func(context.Context, Trip)) Store { return kv.Trace(s, hook) }

// Prefix returns a store whose keys all live under tenant in s.
func Prefix(s Store, tenant string) (Store, error) { return kv.Prefix(s, tenant) }

// NewID returns a random id of 26 characters that sorts by the time now.
func NewID(now time.Time) string { return kv.NewID(now) }

// IsID reports whether text is an id as [NewID] returns them.
func IsID(text string) bool { return kv.IsID(text) }
