package kvmodel

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/tally"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Counters are numbers of a record that change too often to be in it: each has a
// key of its own. Loading a record reads them in the same trip; writing it leaves
// them alone. A plain counter belongs to the record and is dropped when that is
// deleted. A derived count belongs to lists and stays.

// CounterOf is a counter of records of type T. Set puts its value into a record
// that was loaded.
type CounterOf[T any] struct {
	Name    string
	Derived bool // it counts the members of lists: see [DB.Derived]
	Sum     bool // it adds up what these say: see [DB.Sum]
	Set     func(*T, int64)
}

// Tally is one counter of a model: where its numbers are, and which indexes
// follow it. [DB.Tally] returns it.
type Tally = tally.Tally

// Derived is a count of the members of lists, or a sum over them, which is read like a counter
// of another model. [DB.Derived] and [DB.Sum] return it.
type Derived = tally.Derived

// NoNumber stands for the number of what has none.
const NoNumber = tally.None

// RecountRounds is how often a rebuild tries to count a [Derived] again.
const RecountRounds = tally.RecountRounds

// Members are those of a list at one moment.
type Members = tally.Members

// A Counter counts something of each record of a model, such as a [Tally] does.
type Counter = tally.Counter

// A Follower is an index over a [Counter], such as a board of what is viewed
// most.
type Follower = tally.Follower

// A SureFollower is an index that misses no number of a [Derived].
type SureFollower = tally.SureFollower

// CounterKey returns the key of a model's counter for the record with that id
// text.
func CounterKey(model, counter, id string) string { return tally.Key(model, counter, id) }

// counter is a counter as its model knows it: either plain or derived.
type counter struct {
	Name    string
	Set     func(plug.Record, int64)
	plain   *Tally
	derived *Derived
}

func newCounters[T any](db *DB, model string, all []CounterOf[T]) []counter {
	var counters []counter
	for _, of := range all {
		c := counter{Name: of.Name, Set: func(v plug.Record, n int64) { of.Set(v.(*T), n) }}
		switch {
		case of.Sum:
			c.derived = db.Sum(model, of.Name)
		case of.Derived:
			c.derived = db.Derived(model, of.Name)
		default:
			c.plain = db.Tally(model, of.Name)
		}
		counters = append(counters, c)
	}
	return counters
}

func (c *counter) keys() kv.Family {
	if c.derived != nil {
		return c.derived.Keys()
	}
	return c.plain.Keys()
}

func (c *counter) key(id string) string { return c.keys().Key(id) }

// fillCounters puts into rec what gets of all keys but that of the record have answered. A
// counter that is no number is 0, and the ErrCorrupt names it.
func (m *model) fillCounters(rec *plug.Seen, results []kv.Result) error {
	rec.Counts = results
	if rec.Value == nil {
		return nil
	}
	rec.Err = m.setCounters(rec.ID, rec.Value, results)
	return rec.Err
}

// setCounters puts into v, which is the record id, what fillCounters puts into rec.
func (m *model) setCounters(id string, v plug.Record, results []kv.Result) error {
	var damaged []error
	for i := range m.counters {
		c := &m.counters[i]
		n, err := c.number(results[i])
		if errors.Is(err, kv.ErrNotNumber) {
			n, err = 0, nil
			damaged = append(damaged, m.failure(id, wire.Corrupt(c.key(id), fmt.Errorf("counter %s: %w", c.Name, kv.ErrNotNumber))))
		}
		if err != nil {
			return m.failure(id, fmt.Errorf("counter %s: %w", c.Name, err))
		}
		c.Set(v, n)
	}
	return joined(damaged)
}

// number returns the number that a get has answered.
func (c *counter) number(r kv.Result) (int64, error) {
	if c.derived != nil {
		return c.derived.Number(0, r)
	}
	return c.plain.Number(0, r)
}

// decodeCounted is decodeOne for what gets of all keys of id have answered.
func (m *model) decodeCounted(id string, results []kv.Result) (*plug.Seen, error) {
	rec, err := m.decodeOne(id, results[0])
	if err != nil {
		return rec, err
	}
	return rec, m.fillCounters(rec, results[1:])
}

// A plain counter is dropped only by a version that was read before some moment at
// which the record was seen deleted or, by the change that deletes it, before that
// has committed. Versions never come again, so a hit that the next record of that id
// was answered for keeps its counter.

// hasPlain reports whether records have plain counters.
func (m *model) hasPlain() bool {
	for i := range m.counters {
		if m.counters[i].plain != nil {
			return true
		}
	}
	return false
}

// drops returns an op for each plain counter of id: it drops what known says, the
// results of an earlier read that was before that moment, or reads the counter where
// there was none.
func (m *model) drops(id string, known []kv.Result) []kv.Op {
	var ops []kv.Op
	for i := range m.counters {
		c := &m.counters[i]
		switch {
		case c.plain == nil:
		case known != nil && known[i].Err == nil:
			ops = append(ops, kv.OpDrop(c.key(id), known[i].Version))
		default:
			ops = append(ops, kv.OpGet(c.key(id)))
		}
	}
	return ops
}

// remaining returns the keys of the counters that the drops ops have left.
func remaining(ops []kv.Op) (keys []string) {
	for i := range ops {
		if gone := errors.Is(ops[i].Result.Err, kv.ErrNotFound); !gone && (ops[i].Kind == kv.Get || ops[i].Result.Err != nil) {
			keys = append(keys, ops[i].Key)
		}
	}
	return keys
}

// dropCounters removes the plain counters of the record id, which is deleted. known
// is what was read of its counters before it was.
func (m *model) dropCounters(ctx context.Context, s kv.Store, id string, known []kv.Result) error {
	ops := m.drops(id, known)
	if len(ops) == 0 {
		return nil
	}
	if err := s.Do(ctx, ops); err != nil {
		return err
	}
	return m.dropGuarded(ctx, s, id, remaining(ops))
}

// dropGuarded removes the counters under keys unless the record id lives: each by
// the version that it had before the record was read.
func (m *model) dropGuarded(ctx context.Context, s kv.Store, id string, keys []string) error {
	for range maxTries {
		drops, err := dropsOf(ctx, s, keys)
		if err != nil || len(drops) == 0 {
			return err
		}
		rec, err := m.readable(ctx, s, id)
		if err != nil || rec.Envelope.Live() {
			return err
		}
		if err := s.Do(ctx, drops); err != nil {
			return err
		}
		if keys = remaining(drops); len(keys) == 0 {
			return nil
		}
	}
	return m.failure(id, kv.ErrConflict)
}

// dropsOf reads what stands under keys and returns ops that drop just that.
func dropsOf(ctx context.Context, s kv.Store, keys []string) (drops []kv.Op, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if r.Err == nil {
			drops = append(drops, kv.OpDrop(keys[i], r.Version))
		}
	}
	return drops, nil
}
