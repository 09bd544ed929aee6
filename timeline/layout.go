package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Layout is how the events of one owner are stored.
type Layout uint8

const (
	// Appended is one key that events are appended to; the last of them count. A
	// push is one trip.
	Appended Layout = iota

	// Numbered is a ring of numbered keys, one for each event. A push is two
	// trips. Keep counts the numbers that pushes take. A failed push may leave one
	// unused, and so may a process's first push to an owner while others push.
	Numbered

	// Packed is one key with the last events only. A push is two trips and may
	// have to be retried, but reading takes the fewest bytes.
	Packed
)

// layout stores the entries of owners.
type layout interface {
	// push adds entries, the oldest first.
	push(ctx context.Context, s kv.Store, owner string, entries []entry) error

	// latest returns the newest entries, newest first. They are about n different
	// things or more, or all there are.
	latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error)

	// clear removes all entries that are there now.
	clear(ctx context.Context, s kv.Store, owner string) error

	// tidy does, after the reply, the upkeep that pushes for owners owe.
	tidy(owners []string)
}

// common is what all layouts have.
type common struct {
	db   plug.DB
	base func(owner string) string // what the keys of an owner begin with
	keep int
	ttl  time.Duration
	what func(entry) string
}

// cut returns the entries that count, oldest first: the last keep different ones,
// each where it came last.
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
