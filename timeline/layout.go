package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Layout is how the events of one owner are stored.
type Layout uint8

const (
	// Appended: one key, to which events are appended; the last of them count.
	// A push is one trip.
	Appended Layout = iota

	// Numbered: a ring of numbered keys, one for each event, that a counter
	// goes round. A push is two trips.
	Numbered

	// Packed: one key with the last events and no others. A push is two trips
	// and may have to be tried again, but reading takes the fewest bytes.
	Packed
)

// layout stores entries of owners.
type layout interface {
	// push adds entries, the oldest first.
	push(ctx context.Context, s kv.Store, owner string, entries []entry) error

	// latest returns the newest entries, newest first: about n different
	// things, or all there are, and perhaps more.
	latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error)

	// clear removes all entries that are there now.
	clear(ctx context.Context, s kv.Store, owner string) error

	// tidy does, after the reply, what pushes for owners owe.
	tidy(owners []string)
}

// common is what the layouts have in common.
type common struct {
	db   *kvmodel.DB
	base func(owner string) string // what the keys of an owner begin with
	keep int
	ttl  time.Duration
	what func(entry) string
}

// cut returns those of entries, oldest first, that count: the last keep
// different ones, each where it came last.
func (c *common) cut(entries []entry) []entry {
	slices.Reverse(entries)
	kept := distinct(entries, c.keep, c.what)
	slices.Reverse(kept)
	return kept
}

// decodeKey returns the entries that a get of key answered.
func decodeKey(key string, r kv.Result) ([]entry, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	entries, err := decodeEntries(r.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return entries, nil
}

func deleteAll(ctx context.Context, s kv.Store, keys []string) error {
	ops := make([]kv.Op, len(keys))
	for i, key := range keys {
		ops[i] = kv.OpDelete(key)
	}
	return s.Do(ctx, ops)
}
