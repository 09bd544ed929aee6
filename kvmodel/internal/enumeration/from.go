package enumeration

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Reached is how far a walk has come: through all chunks before Chunk, and the first IDs
// texts of that one, which are ids and their sums. A chunk grows only at its end, so that stays true.
// Where ids are numbers, Chunk is the last one; in a walk along the keys of the records, Key is.
type Reached struct {
	Chunk, IDs int64
	Key        string
}

// IsBehind reports whether r is farther than to, but for what is in the same chunk.
func (r Reached) IsBehind(to Reached) bool { return r.Chunk > to.Chunk || r.Key > to.Key }

// From calls f with the ids of the chunks after from, in batches, with how far that goes,
// and with about how many are left. h is the head as it was read before. A walk that goes
// on from what f was called with misses no id that was in a chunk when the first began. An
// id may come twice.
//
// A chunk that is gone is an ErrLost once the rest was given, and one that is damaged an
// ErrCorrupt. No later walk that goes on from there passes it by.
func (e *Enumeration) From(ctx context.Context, s kv.Store, h Head, from Reached, f func(ids []string, to Reached, left int64) error) (Walked, error) {
	p := &pass{e: e, s: s}
	p.take = func(h Head, n int64, texts []string) error {
		skip := 0
		if n == from.Chunk {
			skip = int(min(from.IDs, int64(len(texts))))
		}
		for skip < len(texts) {
			ids, size := firstIDs(texts[skip:])
			skip += size
			left := int64(countIDs(texts[skip:])) + (h.high-n)*int64(p.ids/max(p.chunks, 1))
			if err := f(ids, p.reached(Reached{Chunk: n, IDs: int64(skip)}), left); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.walk(ctx, h, max(h.low, from.Chunk)); err != nil {
		return p.met, fmt.Errorf("%s: enumeration: %w", e.model, err)
	}
	return p.met, p.damaged
}

// firstIDs returns the first ids of texts, at most batchSize, and of how many texts they are.
func firstIDs(texts []string) (ids []string, size int) {
	for size < len(texts) && len(ids) < batchSize {
		if isID(texts[size]) {
			ids = append(ids, texts[size])
		}
		size++
	}
	return ids, size
}

func countIDs(texts []string) (n int) {
	for _, text := range texts {
		if isID(text) {
			n++
		}
	}
	return n
}

// reached returns to, or where a chunk that is gone or damaged will be noticed again.
func (p *pass) reached(to Reached) Reached {
	if p.hole > 0 {
		return Reached{Chunk: max(p.hole-1, 1)}
	}
	if p.damagedAt > 0 {
		return Reached{Chunk: p.damagedAt}
	}
	return to
}
