package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (c *core) Meet(places []string) { c.met.Add(kv.Texts(places, ownerOf)) }

const ringsAtOnce = 16

// Finish removes unreadable bytes from the rings. Their records have entries again by now.
func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	for some := range slices.Chunk(c.met.Take(), ringsAtOnce) {
		var lanes []*lane
		for _, owner := range some {
			lanes = append(lanes, c.lanesOf(owner)...)
		}
		err := cmp.Or(kv.Each(ctx, s, lanes, func(s kv.Store, _ int, l *lane) error { return l.dropDamaged(ctx, s) })...)
		if err != nil {
			return c.failure(err)
		}
	}
	return nil
}

func (l *lane) dropDamaged(ctx context.Context, s kv.Store) error {
	return l.each(ctx, s, 0, l.shape.blocks, func(_ int64, key string, r kv.Result) error {
		for range pushTries {
			entries, err := entriesIn(r)
			if err != nil || !isDamaged(entries) {
				return err
			}
			_, err = kv.One(ctx, s, kv.OpSwap(key, r.Version, encodeAll(withoutLost(entries))))
			if err == nil || !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
				return err
			}
			r, _ = kv.One(ctx, s, kv.OpGet(key))
		}
		return fmt.Errorf("%s: %w: others write to it", key, kv.ErrConflict)
	})
}

func (c *core) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	wrong, all := make([][]string, len(recs)), make(map[laneName]*checked)
	for i, rec := range recs {
		marks := c.marks.all(rec.Mark)
		for _, place := range rec.Places {
			owner := ownerOf(place)
			m := marks.of(owner)
			if m.stamp == 0 {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s.%s: %s has no stamp%s", c.host.Model(), c.spec.Name, rec.ID, ofOwner(owner)))
				continue
			}
			in := laneName{owner, c.shardOf(rec.ID)}
			if all[in] == nil {
				all[in] = &checked{lane: c.shard(owner, in.shard)}
			}
			all[in].add(i, stamped{m.stamp, rec.ID})
		}
	}
	lanes := slices.SortedFunc(maps.Keys(all), laneName.compare)
	for some := range slices.Chunk(lanes, ringsAtOnce) {
		err := cmp.Or(kv.Each(ctx, s, some, func(s kv.Store, _ int, in laneName) error {
			return all[in].each(ctx, s, func(i int, e stamped) {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s.%s: %s has the stamp %d%s but no entry", c.host.Model(), c.spec.Name, e.id, e.n, ofOwner(in.owner)))
			})
		})...)
		if err != nil {
			return nil, c.failure(err)
		}
	}
	return wrong, nil
}

type checked struct {
	*lane
	at   []int
	recs []stamped
}

func (c *checked) add(at int, rec stamped) { c.at, c.recs = append(c.at, at), append(c.recs, rec) }

func (c *checked) each(ctx context.Context, s kv.Store, missing func(at int, e stamped)) error {
	for from := 0; from < len(c.recs); from += atOnce {
		some := c.recs[from:min(from+atOnce, len(c.recs))]
		there, _, err := c.holdAll(ctx, s, some)
		for k := range there {
			if !there[k] {
				missing(c.at[from+k], some[k])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ofOwner(owner string) string {
	if owner == "" {
		return ""
	}
	return " of " + owner
}

// Purge removes the id from the entries of the record. They stay until they are lapped: no record
// has an empty id.
func (c *core) Purge(ctx context.Context, s kv.Store, gone plug.Gone, fence func() error) error {
	done := make(map[string]bool)
	for _, place := range gone.Places {
		owner := ownerOf(place)
		if done[owner] {
			continue
		}
		done[owner] = true
		if err := c.lane(owner, gone.ID).purge(ctx, s, gone.ID, fence); err != nil {
			return c.failure(err)
		}
	}
	return nil
}

// Purge searches the ring even if the record is not known to be in it.
func (u unowned) Purge(ctx context.Context, s kv.Store, gone plug.Gone, fence func() error) error {
	gone.Places = []string{""}
	return u.core.Purge(ctx, s, gone, fence)
}

// purge also finds segments left by a longer ring.
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

func purgeKeys(ctx context.Context, s kv.Store, keys []string, id string, fence func() error) (found int, err error) {
	for range pushTries {
		swaps, last, err := withoutID(ctx, s, keys, id)
		found = max(found, last)
		if err != nil || len(swaps) == 0 {
			return found, err
		}
		if err := fence(); err != nil {
			return found, err
		}
		_ = s.Do(ctx, swaps)
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
		entries, err := entriesIn(r)
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
