package enumeration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Put adds ids.
func (e *Enumeration) Put(ctx context.Context, s kv.Store, ids []string) error {
	for batch := range slices.Chunk(ids, idsAtOnce) {
		g, err := e.add(ctx, s, batch)
		if err != nil {
			return err
		}
		e.grew(g)
	}
	return nil
}

// add puts ids into the last chunk, or into a new one. The error is an ErrLost if the last
// chunk or the head is gone.
func (e *Enumeration) add(ctx context.Context, s kv.Store, ids []string) (growth, error) {
	data, size := grouped(ids), len(wire.AppendTexts(nil, ids)) // Sums do not fill a chunk.
	var h Head                                                  // as it is, if it was looked at since the last append
	g := e.known()
	for range maxTries {
		if e.now().Sub(g.looked) > times.Head {
			var err error
			if h, g, err = e.lookNow(ctx, s); err != nil {
				return g, err
			}
		}
		if g.chunk > 0 && g.size+size <= e.full {
			err := kv.AppendSurely(ctx, s, e.key(g.chunk), data)
			if !errors.Is(err, kv.ErrNotStored) {
				return growth{g.chunk, g.looked, size}, err
			}
			h = Head{}
		}
		if known := g.chunk; !h.Exists() {
			var err error
			if h, g, err = e.lookNow(ctx, s); err != nil {
				return g, err
			}
			if g.chunk != known {
				continue
			}
		}
		in, err := e.follow(ctx, s, h, ids)
		if in || err != nil {
			return growth{h.high + 1, g.looked, size}, err
		}
		h, g = Head{}, growth{}
	}
	return g, fmt.Errorf("%s: enumeration: %w", e.model, kv.ErrConflict)
}

// lookNow returns the head, and what is known of its last chunk.
func (e *Enumeration) lookNow(ctx context.Context, s kv.Store) (Head, growth, error) {
	looked := e.now()
	h, err := e.mustLook(ctx, s)
	g := e.known()
	if g.chunk != h.high {
		g = growth{chunk: h.high}
	}
	g.looked = looked
	return h, g, err
}

func (e *Enumeration) known() growth {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// grew remembers an addition.
func (e *Enumeration) grew(g growth) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case g.chunk > e.last.chunk:
		e.last = g
	case g.chunk == e.last.chunk:
		e.last.size += g.size
		if g.looked.After(e.last.looked) {
			e.last.looked = g.looked
		}
	}
}

// follow adds the chunk after the last of h, which has no room or is gone. If that is
// not known yet, the error is an ErrLost.
func (e *Enumeration) follow(ctx context.Context, s kv.Store, h Head, ids []string) (in bool, err error) {
	if h.high >= h.low && !h.isLost(h.high) {
		c, err := e.readOne(ctx, s, h.high)
		if err != nil {
			return false, err
		}
		if !c.exists() {
			return false, e.chunkLost(h.high, 0)
		}
	}
	return e.extend(ctx, s, h, ids, 0)
}

func (e *Enumeration) chunkLost(n int64, ids int) error {
	about := ""
	if ids > 0 {
		about = fmt.Sprintf(", with about %d ids", ids)
	}
	return fmt.Errorf("%w: chunk %d of the enumeration of %s is gone%s", kv.ErrLost, n, e.model, about)
}

// extend adds the chunk after the last of h, with ids in it, and lets the head name
// it. If another process has added one, the head is to name that, and ids are not in.
// They are in only if both were done and both were answered: a process that loses the race
// for the head cannot know that the head names this chunk.
func (e *Enumeration) extend(ctx context.Context, s kv.Store, h Head, ids []string, moves int64) (in bool, err error) {
	n := h.high + 1
	c := chunk{nonce: kv.Random(), before: h.nonce, made: e.now()}
	_, err = kv.One(ctx, s, kv.OpAdd(e.key(n), c.holding(ids)))
	mine := err == nil
	if !mine {
		if kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return false, err
		}
		if c, err = e.readOne(ctx, s, n); err != nil || !c.exists() {
			return false, err
		}
		moves = 0
	}
	to := h
	to.high, to.nonce, to.moves = n, c.nonce, h.moves+moves
	err = e.swap(ctx, s, h, to)
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return mine && err == nil, err
}
