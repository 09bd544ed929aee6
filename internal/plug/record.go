package plug

import (
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/times"
)

// Record is a record of any model: a pointer to its struct, or nil. Untyped code is compiled once,
// not once per model.
type Record any

func As[T any](v Record) *T {
	if v == nil {
		return nil
	}
	return v.(*T)
}

// AllAs is As for each of all. The result is never nil, which would be null in JSON.
func AllAs[T any](all []Record) []*T {
	values := make([]*T, len(all))
	for i, v := range all {
		values[i] = As[T](v)
	}
	return values
}

// Keeps returns Kept as a func of any record, nil if keep is empty.
func Keeps[T any](keep []func(*T) bool) func(Record) bool {
	if len(keep) == 0 {
		return nil
	}
	return func(v Record) bool { return Kept(v.(*T), keep) }
}

func Kept[T any](v *T, keep []func(*T) bool) bool {
	return !slices.ContainsFunc(keep, func(keeps func(*T) bool) bool { return !keeps(v) })
}

func Untyped[T, R any](f func(*T) R) func(Record) R {
	if f == nil {
		return nil
	}
	return func(v Record) R { return f(v.(*T)) }
}

// Verdict is the judgment of a record on one of its entries.
type Verdict int

const (
	// Counts: the record has reached the entry's rev and belongs there.
	Counts Verdict = iota

	// Stale: the record has reached the entry's rev and does not belong there. Revs only grow, so
	// any process may remove the entry at any time.
	Stale

	// Pending: the record has not reached the entry's rev, so the change may still commit. Fence
	// the record past that rev before removing the entry.
	Pending

	// Dead: pending for longer than any change takes, so a fence disturbs nobody.
	Dead
)

// Judge tells whether an entry of a list, a tree or a unique value is true. A change writes it
// before the record commits, with the rev that the record then gets. holds reports whether the
// record belongs at its place. age is the minimum age of the entry, 0 if unknown.
//
// Timelines compare stamps in place of revs. A record has at most one entry with its stamp, and
// readers remove none, so they need not distinguish the others.
func Judge(entry, record uint64, holds bool, age time.Duration) Verdict {
	switch {
	case entry <= record && holds:
		return Counts
	case entry <= record:
		return Stale
	case age > times.Overdue:
		return Dead
	}
	return Pending
}

// Age returns the age of an entry for [Judge]. It is known only if no record is live: the rev of a
// created record is at least the time in milliseconds.
func Age(entry uint64, live bool, now time.Time) time.Duration {
	if live {
		return 0
	}
	return now.Sub(time.UnixMilli(int64(entry)))
}
