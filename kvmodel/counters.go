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

// Counters are numbers of a record that change too often to be part of it, so each has its own key.
// Loading a record reads them in the same trip; writing it leaves them alone. A plain counter
// belongs to the record and is deleted with it. A derived count belongs to lists and stays.

// CounterOf is a counter of records of type T. Set stores its value in a loaded record.
type CounterOf[T any] struct {
	Name    string
	Derived bool // it counts the members of lists: see [DB.Derived]
	Sum     bool // it adds up what these say: see [DB.Sum]
	Set     func(*T, int64)
}

// Tally is one counter of a model: the keys of its numbers and the indexes that follow it.
// [DB.Tally] returns it.
type Tally = tally.Tally

// Derived is a count of the members of lists, or a sum over them, which is read like a counter
// of another model. [DB.Derived] and [DB.Sum] return it.
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

// counter is a counter of a model, either plain or derived.
type counter struct {
	Name    string
	Set     func(plug.Record, int64)
	plain   *tally.Tally
	derived *tally.Derived
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

// fillCounters sets the counters of rec from results, the answers to the gets of all keys but the
// record's. A counter that is not a number becomes 0, and an ErrCorrupt names it.
func (m *model) fillCounters(rec *plug.Seen, results []kv.Result) error {
	rec.Counts = results
	if rec.Value == nil {
		return nil
	}
	rec.Err = m.setCounters(rec.ID, rec.Value, results)
	return rec.Err
}

// setCounters sets the counters of v, the record id, as fillCounters does.
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

// number returns the number in the answer to a get.
func (c *counter) number(r kv.Result) (int64, error) {
	if c.derived != nil {
		return c.derived.Number(0, r)
	}
	return c.plain.Number(0, r)
}

// decodeCounted is decodeOne for the answers to the gets of all keys of id.
func (m *model) decodeCounted(id string, results []kv.Result) (*plug.Seen, error) {
	rec, err := m.decodeOne(id, results[0])
	if err != nil {
		return rec, err
	}
	return rec, m.fillCounters(rec, results[1:])
}

// A plain counter is dropped only by a version read before the record was seen deleted or, in the
// change that deletes it, before the change commits. Versions never repeat, so a hit counted for
// the next record with that id keeps its counter.

func (m *model) hasPlain() bool {
	for i := range m.counters {
		if m.counters[i].plain != nil {
			return true
		}
	}
	return false
}

// drops returns an op for each plain counter of id. It drops the version in known, the results of
// an earlier read, or reads the counter if known has none.
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

// remaining returns the keys of the counters that still exist after the drops ops.
func remaining(ops []kv.Op) (keys []string) {
	for i := range ops {
		if gone := errors.Is(ops[i].Result.Err, kv.ErrNotFound); !gone && (ops[i].Kind == kv.Get || ops[i].Result.Err != nil) {
			keys = append(keys, ops[i].Key)
		}
	}
	return keys
}

// dropCounters removes the plain counters of the deleted record id. known holds its counters as
// read before the deletion.
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

// dropGuarded removes the counters under keys unless the record id exists: each by the version it
// had before the record was read.
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

// dropsOf reads keys and returns ops that drop the versions found.
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
