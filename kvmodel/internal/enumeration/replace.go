package enumeration

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Replace takes id out of all chunks. fence is called after a chunk was read and before
// it is written: it fails if there is such a record.
func (e *Enumeration) Replace(ctx context.Context, s kv.Store, id string, fence func() error) error {
	h, err := e.look(ctx, s)
	if err != nil || !h.Exists() {
		return err
	}
	if h.Damaged != nil {
		return h.Damaged
	}
	for first := h.low; first <= h.high; first += chunksAtOnce {
		chunks, err := e.read(ctx, s, first, int(min(chunksAtOnce, h.high-first+1)))
		if err != nil {
			return err
		}
		for i, c := range chunks {
			if err := e.replaceIn(ctx, s, first+int64(i), c, id, fence); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceIn takes id out of chunk n, which was read as c.
func (e *Enumeration) replaceIn(ctx context.Context, s kv.Store, n int64, c chunk, id string, fence func() error) error {
	for range maxTries {
		if !slices.Contains(c.ids, id) {
			return nil
		}
		if err := fence(); err != nil {
			return err
		}
		_, err := kv.One(ctx, s, kv.OpSwap(e.key(n), c.version, c.without(id)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if c, err = e.readOne(ctx, s, n); err != nil {
			return err
		}
	}
	return kv.ErrConflict
}

// without returns the value of c without id.
func (c chunk) without(id string) []byte {
	c.texts = slices.Clone(c.texts)
	for i := range c.texts {
		if c.texts[i] == id {
			c.texts[i] = nobody
		}
	}
	return c.encode()
}
