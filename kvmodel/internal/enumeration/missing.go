package enumeration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// tailChunks is how many chunks at the end are looked through for ids that were added not long
// ago: they hold some 35,000.
const tailChunks = 4 * chunksAtOnce

// PutMissing adds those of ids that are not at the end of the enumeration. Any number of
// processes may do so at the same time: as long as they have the same ids, such as those of a
// journal that all of them repair, each is added once.
func (e *Enumeration) PutMissing(ctx context.Context, s kv.Store, ids []string) error {
	for range maxTries + len(ids)/idsAtOnce {
		h, err := e.mustLook(ctx, s)
		if err != nil {
			return err
		}
		missing, last, err := e.unlisted(ctx, s, h, ids)
		if err != nil || len(missing) == 0 {
			return err
		}
		if err := e.addAfter(ctx, s, h, last, missing[:min(idsAtOnce, len(missing))]); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: enumeration: %w", e.model, kv.ErrConflict)
}

// Unlisted returns those of ids that are not at the end of the enumeration.
func (e *Enumeration) Unlisted(ctx context.Context, s kv.Store, ids []string) ([]string, error) {
	h, err := e.mustLook(ctx, s)
	if err != nil {
		return nil, err
	}
	ids, _, err = e.unlisted(ctx, s, h, ids)
	return ids, err
}

// unlisted returns those of ids that are in none of the last chunks of h, and the last one.
func (e *Enumeration) unlisted(ctx context.Context, s kv.Store, h Head, ids []string) (left []string, last chunk, err error) {
	left = slices.Compact(slices.Sorted(slices.Values(ids)))
	for high := h.high; high >= h.low && h.high-high < tailChunks && len(left) > 0; high -= chunksAtOnce {
		first := max(h.low, high-chunksAtOnce+1)
		chunks, err := e.read(ctx, s, first, int(high-first+1))
		if err != nil {
			return nil, last, err
		}
		listed := make(map[string]bool)
		for _, c := range chunks {
			for _, id := range c.ids {
				listed[id] = true
			}
		}
		left = slices.DeleteFunc(left, func(id string) bool { return listed[id] })
		if high == h.high {
			last = chunks[len(chunks)-1]
		}
	}
	return left, last, nil
}

// addAfter puts ids into the last chunk of h, which was read as last, or into a new one, unless
// another process has added something since. After that, or an unclear answer, it has to be
// found out whether they are there.
func (e *Enumeration) addAfter(ctx context.Context, s kv.Store, h Head, last chunk, ids []string) error {
	size := len(wire.AppendTexts(wire.AppendTexts(nil, last.ids), ids))
	if !last.exists() || last.damaged != nil || size > e.full {
		_, err := e.follow(ctx, s, h, ids)
		return err
	}
	_, err := kv.One(ctx, s, kv.OpSwap(e.key(h.high), last.version, append(last.encode(), grouped(ids)...)))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return nil
	}
	return err
}
