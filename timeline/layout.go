package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Layout is the storage format of one owner's events.
type Layout uint8

const (
	// Appended is one key that events are appended to; the last of them count. A push is one trip.
	Appended Layout = iota

	// Numbered is a ring of numbered keys, one for each event. A push is two trips. Keep counts the
	// numbers taken by pushes. A failed push may leave one unused, and so may a process's first
	// push to an owner under concurrent pushes.
	Numbered

	// Packed is one key with only the last events. A push is two trips and may be retried, but a
	// read transfers the fewest bytes.
	Packed
)

// layout stores the entries of owners.
type layout interface {
	// push adds entries, oldest first.
	push(ctx context.Context, s kv.Store, owner string, entries []entry) error

	// latest returns the newest entries, newest first, with at least n different subjects, or all
	// entries.
	latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error)

	// clear removes all current entries.
	clear(ctx context.Context, s kv.Store, owner string) error

	// tidy does the upkeep due after pushes for owners. It runs after the reply.
	tidy(owners []string)
}

// common is the common part of all layouts.
type common struct {
	db   plug.DB
	base func(owner string) string // returns the prefix of an owner's keys
	keep int
	ttl  time.Duration
	what func(entry) string
}

// cut returns the current entries, oldest first: the last keep different ones, each at its last
// occurrence.
func (c *common) cut(entries []entry) []entry {
	slices.Reverse(entries)
	kept := distinct(entries, c.keep, c.what)
	slices.Reverse(kept)
	return kept
}

func deleteAll(ctx context.Context, s kv.Store, keys []string) error {
	ops := make([]kv.Op, len(keys))
	for i, key := range keys {
		ops[i] = kv.OpDelete(key)
	}
	return s.Do(ctx, ops)
}

// distinct returns the first n of entries with different subjects. The entries are newest first.
func distinct(entries []entry, n int, what func(entry) string) []entry {
	seen := make(map[string]bool)
	var kept []entry
	for _, en := range entries {
		if len(kept) == n {
			break
		}
		if w := what(en); !seen[w] {
			seen[w] = true
			kept = append(kept, en)
		}
	}
	return kept
}
