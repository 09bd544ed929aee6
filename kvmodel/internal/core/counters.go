package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Counter struct {
	Name    string
	Set     func(plug.Record, int64)
	Plain   *tally.Tally
	Derived *tally.Derived
}

func (c *Counter) keys() kv.Family {
	if c.Derived != nil {
		return c.Derived.Keys()
	}
	return c.Plain.Keys()
}

func (c *Counter) Key(id string) string { return c.keys().Key(id) }

func (m *Model) fillCounters(rec *plug.Seen, results []kv.Result) error {
	rec.Counts = results
	if rec.Value == nil {
		return nil
	}
	rec.Err = m.SetCounters(rec.ID, rec.Value, results)
	return rec.Err
}

func (m *Model) SetCounters(id string, v plug.Record, results []kv.Result) error {
	var damaged []error
	for i := range m.Counters {
		c := &m.Counters[i]
		n, err := c.number(results[i])
		if errors.Is(err, kv.ErrNotNumber) {
			n, err = 0, nil
			damaged = append(damaged, m.Failure(id, wire.Corrupt(c.Key(id), fmt.Errorf("counter %s: %w", c.Name, kv.ErrNotNumber))))
		}
		if err != nil {
			return m.Failure(id, fmt.Errorf("counter %s: %w", c.Name, err))
		}
		c.Set(v, n)
	}
	return Joined(damaged)
}

func (c *Counter) number(r kv.Result) (int64, error) {
	if c.Derived != nil {
		return c.Derived.Number(0, r)
	}
	return c.Plain.Number(0, r)
}

func (m *Model) DecodeCounted(id string, results []kv.Result) (*plug.Seen, error) {
	rec, err := m.DecodeOne(id, results[0])
	if err != nil {
		return rec, err
	}
	return rec, m.fillCounters(rec, results[1:])
}

// A plain counter is dropped only by a version read before the record was seen deleted or, in the
// change that deletes it, before the change commits. Versions never repeat, so a hit for the next
// record with that id keeps its counter.

func (m *Model) HasPlain() bool {
	for i := range m.Counters {
		if m.Counters[i].Plain != nil {
			return true
		}
	}
	return false
}

// Drops returns an op for each plain counter: a drop by the known version, or a get.
func (m *Model) Drops(id string, known []kv.Result) []kv.Op {
	var ops []kv.Op
	for i := range m.Counters {
		c := &m.Counters[i]
		switch {
		case c.Plain == nil:
		case known != nil && known[i].Err == nil:
			ops = append(ops, kv.OpDrop(c.Key(id), known[i].Version))
		default:
			ops = append(ops, kv.OpGet(c.Key(id)))
		}
	}
	return ops
}

func Remaining(ops []kv.Op) (keys []string) {
	for i := range ops {
		if gone := errors.Is(ops[i].Result.Err, kv.ErrNotFound); !gone && (ops[i].Kind == kv.Get || ops[i].Result.Err != nil) {
			keys = append(keys, ops[i].Key)
		}
	}
	return keys
}

// DropCounters removes the plain counters of a deleted record. known holds them as read before the
// deletion.
func (m *Model) DropCounters(ctx context.Context, s kv.Store, id string, known []kv.Result) error {
	ops := m.Drops(id, known)
	if len(ops) == 0 {
		return nil
	}
	if err := s.Do(ctx, ops); err != nil {
		return err
	}
	return m.dropGuarded(ctx, s, id, Remaining(ops))
}

// dropGuarded removes the counters under keys unless the record exists: each by the version it had
// before the record was read.
func (m *Model) dropGuarded(ctx context.Context, s kv.Store, id string, keys []string) error {
	for range MaxTries {
		drops, err := dropsOf(ctx, s, keys)
		if err != nil || len(drops) == 0 {
			return err
		}
		rec, err := m.Readable(ctx, s, id)
		if err != nil || rec.Envelope.Live() {
			return err
		}
		if err := s.Do(ctx, drops); err != nil {
			return err
		}
		if keys = Remaining(drops); len(keys) == 0 {
			return nil
		}
	}
	return m.Failure(id, kv.ErrConflict)
}

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
