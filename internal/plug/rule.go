package plug

import (
	"time"

	"github.com/ringtree/ringtree/internal/times"
)

// Verdict is what a record says about an entry of it in an index.
type Verdict int

const (
	// Counts: the record has reached the entry's rev, and belongs at the entry's place.
	Counts Verdict = iota

	// Stale: the record has reached the entry's rev, and does not belong there. Revs only grow, so
	// any process may remove the entry, at any later time.
	Stale

	// Pending: the record has not reached the entry's rev. The change that wrote the entry may
	// still commit. To remove the entry, fence the record past its rev first.
	Pending

	// Dead: so it has been for longer than any change takes, so a fence disturbs nobody.
	Dead
)

// Judge is the rule by which lists, trees and unique values tell whether an entry is true: a change
// writes it before the record commits, with the rev that the record then has. entry is that rev,
// record the rev of the record, and holds reports whether the record belongs at the entry's place.
// The entry has existed for at least age; 0 means that its age is unknown.
//
// In a timeline the rule is the same, but a stamp takes the place of the rev. A record has at most
// one entry with its stamp, and readers remove none, so the entry with the record's stamp counts,
// and a reader need not tell the others apart.
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

// Age returns the age of an entry with the rev entry at now, for [Judge]. It is known only while no
// record is live: a created record has at least the time, in milliseconds, as its rev.
func Age(entry uint64, live bool, now time.Time) time.Duration {
	if live {
		return 0
	}
	return now.Sub(time.UnixMilli(int64(entry)))
}
