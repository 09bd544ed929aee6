package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Where the store names keys in order, those of the records say which records there are. So
// a new record is written under its own key and under no other, and a walk along the keys
// sees it with its commit.

// walker is the power [kv.Powers.Walk].
type walker = func(ctx context.Context, begin, after string, f func(keys []string) error) error

// idMark is the mark in the envelope of a record whose key is hashed: its id.
const idMark = "#id"

// walkKeys calls f with the ids of the records behind from, in batches, with how far that goes,
// and with a func that counts how many are left. Once the rest was given, an ErrCorrupt names
// the keys of records that cannot say their ids; no walk that goes on passes them by.
func (m *model) walkKeys(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left func() int64) error) error {
	rest, counted := int64(0), false
	var damaged error
	err := m.db.walk(ctx, m.keys[0].Begin(), from.Key, func(keys []string) error {
		for some := range slices.Chunk(keys, recordsAtOnce) {
			ids, unread, err := m.idsOf(ctx, some)
			if err != nil {
				return err
			}
			last := some[len(some)-1]
			if damaged = wire.JoinCorrupt(damaged, unread); damaged == nil {
				from.Key = last
			}
			rest -= int64(len(some))
			left := func() int64 {
				if !counted {
					rest, counted = m.countKeys(ctx, last), true
				}
				return max(rest, 0)
			}
			if err := f(ids, from, left); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return damaged
}

// countKeys returns how many keys of records there are after a key, as far as the store says.
func (m *model) countKeys(ctx context.Context, after string) (n int64) {
	_ = m.db.walk(ctx, m.keys[0].Begin(), after, func(keys []string) error {
		n += int64(len(keys))
		return nil
	})
	return n
}

// isWritten reports whether there is a record, or the tombstone of one.
func (m *model) isWritten(ctx context.Context) (bool, error) {
	err := m.walkKeys(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
		if len(ids) > 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || wire.IsCorrupt(err) {
		return true, nil
	}
	return false, err
}

// idsOf returns the ids of the records under keys. An ErrCorrupt names keys that are hashed and
// whose records do not say their ids.
func (m *model) idsOf(ctx context.Context, keys []string) (ids []string, damaged, err error) {
	var hashed []string
	for _, key := range keys {
		if id := m.keys[0].Text(key); id != "" {
			ids = append(ids, id)
		} else if kv.IsHashed(key) {
			hashed = append(hashed, key)
		}
	}
	if len(hashed) == 0 {
		return ids, nil, nil
	}
	results, err := kv.GetAll(ctx, m.db.store, hashed...)
	if err != nil {
		return nil, nil, err
	}
	for i, key := range hashed {
		id, err := idIn(results[i])
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case wire.IsCorrupt(err):
			damaged = wire.JoinCorrupt(damaged, wire.Corrupt(key, err))
		case err != nil:
			return nil, nil, err
		case m.key(id) == key: // Long names of models begin alike.
			ids = append(ids, id)
		}
	}
	return ids, damaged, nil
}

// idIn returns the id of a record whose key is hashed, as a get of it has answered.
func idIn(r kv.Result) (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	env, err := envelope.Decode(r.Value)
	if err != nil {
		return "", err
	}
	id := env.Mark(idMark)
	if id == nil {
		return "", fmt.Errorf("%w: it does not say its id", ErrCorrupt)
	}
	return string(id), nil
}
