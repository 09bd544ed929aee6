package timeline

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var _ plug.Purger = (*core)(nil)

// Purge removes the id from the entries of the record, in the rings of all owners in places. The
// entries stay, without an id, until they are lapped: no record has an empty id.
func (c *core) Purge(ctx context.Context, s kv.Store, id string, places []string, fence func() error) error {
	done := make(map[string]bool)
	for _, place := range places {
		owner := ownerOf(place)
		if done[owner] {
			continue
		}
		done[owner] = true
		if err := c.lane(owner, id).purge(ctx, s, id, fence); err != nil {
			return c.failure(err)
		}
	}
	return nil
}

// Purge searches the single ring, whether or not the record is known to be in it.
func (u unowned) Purge(ctx context.Context, s kv.Store, id string, _ []string, fence func() error) error {
	return u.core.Purge(ctx, s, id, []string{""}, fence)
}

// purge removes id from all entries of the lane, including leftover segments of a formerly longer
// ring.
func (l *lane) purge(ctx context.Context, s kv.Store, id string, fence func() error) error {
	for first, end := int64(0), l.shape.blocks; first < end; first += atOnce {
		found, err := purgeKeys(ctx, s, l.keys(first, first+atOnce), id, fence)
		if err != nil {
			return err
		}
		if found > 0 && first+int64(found) > l.shape.blocks {
			end = first + 2*atOnce
		}
	}
	return nil
}

// purgeTries bounds the reads of a segment under concurrent writes.
const purgeTries = 8

// purgeKeys removes id from the entries under keys. found is the number of keys up to the last one
// that exists.
func purgeKeys(ctx context.Context, s kv.Store, keys []string, id string, fence func() error) (found int, err error) {
	for range purgeTries {
		swaps, last, err := withoutID(ctx, s, keys, id)
		found = max(found, last)
		if err != nil || len(swaps) == 0 {
			return found, err
		}
		if err := fence(); err != nil {
			return found, err
		}
		_ = s.Do(ctx, swaps) // Each op has its own result.
		keys = nil
		for i := range swaps {
			if err := swaps[i].Err(); unlessRaced(err) != nil {
				return found, err
			} else if swaps[i].Err() != nil {
				keys = append(keys, swaps[i].Key)
			}
		}
	}
	return found, kv.ErrConflict
}

// withoutID returns ops that remove id from the entries under keys, as they are now. found is the
// number of keys up to the last one that exists.
func withoutID(ctx context.Context, s kv.Store, keys []string, id string) (swaps []kv.Op, found int, err error) {
	if len(keys) == 0 {
		return nil, 0, nil
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, 0, err
	}
	for i, r := range results {
		if r.Err == nil {
			found = i + 1
		}
		entries, err := decodeKey(keys[i], r)
		if err != nil {
			return nil, 0, err
		}
		there := false
		for j := range entries {
			if string(entries[j].body) == id {
				entries[j].body, there = nil, true
			}
		}
		if there {
			swaps = append(swaps, kv.OpSwap(keys[i], r.Version, encodeAll(entries)))
		}
	}
	return swaps, found, nil
}
