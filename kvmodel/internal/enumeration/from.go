package enumeration

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Reached is how far a walk has come: through all chunks before Chunk, and the first IDs
// ids of that one. A chunk grows only at its end, so that stays true.
type Reached struct{ Chunk, IDs int64 }

// From calls f with the ids of the chunks after from, in batches, with how far that goes,
// and with about how many are left. h is the head as it was read before. A walk that goes
// on from what f was called with misses no id that was in a chunk when the first began. An
// id may come twice.
//
// A chunk that is gone is an ErrLost once the rest was given. No later walk that goes on
// from there passes it by.
func (e *Enumeration) From(ctx context.Context, s kv.Store, h Head, from Reached, f func(ids []string, to Reached, left int64) error) (Walked, error) {
	p := &pass{e: e, s: s}
	p.take = func(h Head, n int64, ids []string) error {
		skip := 0
		if n == from.Chunk {
			skip = int(min(from.IDs, int64(len(ids))))
		}
		for batch := range slices.Chunk(ids[skip:], batchSize) {
			skip += len(batch)
			left := int64(len(ids)-skip) + (h.high-n)*int64(p.ids/max(p.chunks, 1))
			if err := f(batch, p.reached(Reached{n, int64(skip)}), left); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.walk(ctx, h, max(h.low, from.Chunk)); err != nil {
		return p.met, fmt.Errorf("%s: enumeration: %w", e.model, err)
	}
	return p.met, nil
}

// reached returns to, or where a chunk that is gone will be noticed again.
func (p *pass) reached(to Reached) Reached {
	if p.hole > 0 {
		return Reached{Chunk: max(p.hole-1, 1)}
	}
	return to
}
