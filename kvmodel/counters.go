package kvmodel

import (
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/tally"
)

// Counters are numbers of a record that change too often to be part of it, so each has its own key,
// read in the same trip. A plain counter is deleted with its record; a derived count belongs to
// lists and stays.

// CounterOf is a counter of records of type T. Set stores its value in a loaded record.
type CounterOf[T any] struct {
	Name    string
	Derived bool // it counts the members of lists: see [DB.Derived]
	Sum     bool // it adds up what these say: see [DB.Sum]
	Set     func(*T, int64)
}

// Tally is one counter of a model, with the indexes that follow it.
type Tally = tally.Tally

// Derived is a count of the members of lists, or a sum over them.
type Derived = tally.Derived

// NoNumber stands for the number of what has none.
const NoNumber = tally.None

// RecountRounds is how often a rebuild tries to count a [Derived] again.
const RecountRounds = tally.RecountRounds

// Members are the members of a list at one moment.
type Members = tally.Members

// Counter counts something for each record of a model, as a [Tally] does.
type Counter = tally.Counter

// Follower is an index over a [Counter], such as a board of the most viewed records.
type Follower = tally.Follower

// SureFollower is an index that misses no number of a [Derived].
type SureFollower = tally.SureFollower

// CounterKey returns the key of a model's counter for the record with the id text id.
func CounterKey(model, counter, id string) string { return tally.Key(model, counter, id) }

func newCounters[T any](db *DB, model string, all []CounterOf[T]) []core.Counter {
	var counters []core.Counter
	for _, of := range all {
		c := core.Counter{Name: of.Name, Set: func(v plug.Record, n int64) { of.Set(v.(*T), n) }}
		switch {
		case of.Sum:
			c.Derived = db.Sum(model, of.Name)
		case of.Derived:
			c.Derived = db.Derived(model, of.Name)
		default:
			c.Plain = db.Tally(model, of.Name)
		}
		counters = append(counters, c)
	}
	return counters
}
