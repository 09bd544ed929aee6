package enumeration

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// nobody stands in the place of an id that was taken out, so that those after it keep
// their numbers: a build remembers how many ids of a chunk it has entered.
const nobody = "-"

// Replace takes id out of all chunks. fence is called after a chunk was read and before
// it is written: it fails if there is such a record.
func (e *Enumeration) Replace(ctx context.Context, s kv.Store, id string, fence func() error) error {
	h, err := e.look(ctx, s)
	if err != nil || !h.Exists() {
		return err
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
	var data []byte
	if !c.bare {
		data = c.header()
	}
	ids := slices.Clone(c.ids)
	for i := range ids {
		if ids[i] == id {
			ids[i] = nobody
		}
	}
	return wire.AppendTexts(data, ids)
}
