package kvmodel

import (
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
)

// Counters are numbers of a record that change too often to be part of it, so each has its own key,
// read in the same trip. A plain counter is deleted with its record; a derived count belongs to
// lists and stays.

// CounterOf is a counter of records of type T. Set stores its value in a loaded record.
type CounterOf[T any] struct {
	Name    string
	Derived bool // counts the members of lists: see [DB.Derived]
	Sum     bool // adds up a number of each member: see [DB.Sum]
	Set     func(*T, int64)
}

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
