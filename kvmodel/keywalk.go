package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// On a store that walks keys in order, the keys of the records tell which records exist. So a new
// record is written under its own key only, and a walk sees it as soon as it is committed.

// walker is the power [kv.Powers.Walk].
type walker = func(ctx context.Context, begin, after string, f func(keys []string) error) error

// errStop ends a walk.
var errStop = errors.New("stop")

// idMark is the mark, in the envelope of a record with a hashed key, that holds its id.
const idMark = "#id"

// walkKeys calls f with the ids of the records after from, in batches, with the position reached
// and a func that counts the rest. At the end an ErrCorrupt names the keys of records whose ids
// cannot be read; a walk that continues does not skip them.
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

// countKeys returns the number of record keys after the given key, as far as the store can tell.
func (m *model) countKeys(ctx context.Context, after string) (n int64) {
	_ = m.db.walk(ctx, m.keys[0].Begin(), after, func(keys []string) error {
		n += int64(len(keys))
		return nil
	})
	return n
}

// isWritten reports whether there is a record or a tombstone.
func (m *model) isWritten(ctx context.Context) (bool, error) {
	err := m.walkKeys(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
		if len(ids) > 0 {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) || wire.IsCorrupt(err) {
		return true, nil
	}
	return false, err
}

// idsOf returns the ids of the records under keys. An ErrCorrupt names hashed keys whose records do
// not contain their ids.
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
		case m.key(id) == key: // Keys of models with long names begin alike.
			ids = append(ids, id)
		}
	}
	return ids, damaged, nil
}

// idIn returns the id of a record with a hashed key, given the answer to its get.
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
		return "", fmt.Errorf("%w: it does not say its id", codec.ErrCorrupt)
	}
	return string(id), nil
}
