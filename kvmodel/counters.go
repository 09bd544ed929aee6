package kvmodel

import "github.com/ringtree/ringtree/kvmodel/internal/tally"

// Counters are numbers of a record that change too often to be in it: each has a
// key of its own. Loading a record reads them in the same trip; writing it leaves
// them alone.

// CounterOf is a counter of records of type T. Set puts its value into a record
// that was loaded.
type CounterOf[T any] struct {
	Name string
	Set  func(*T, int64)
}

// Tally is one counter of a model: where its numbers are, and which indexes
// follow it. [DB.Tally] returns it.
type Tally = tally.Tally

// A Counter counts something of each record of a model, such as a [Tally] does.
type Counter = tally.Counter

// A Follower is an index over a [Counter], such as a board of what is viewed
// most.
type Follower = tally.Follower

// CounterKey returns the key of a model's counter for the record with that id
// text.
func CounterKey(model, counter, id string) string { return tally.Key(model, counter, id) }
