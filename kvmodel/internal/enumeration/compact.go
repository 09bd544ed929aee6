package enumeration

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxKnown is how many ids a compaction remembers, so as to notice those that stand
// twice. It misses some where there are more.
const maxKnown = 1 << 18

// compaction moves the ids of records that exist out of chunks that have few of them.
type compaction struct {
	e     *Enumeration
	s     kv.Store
	alive func(ctx context.Context, ids []string) ([]bool, error)
	known map[hash]int64 // of ids of records that exist: the chunk that keeps it, or moved
}

// moved stands for the chunk of an id that has been moved, which is a new one.
const moved = 0

// sparse is a chunk that is to be emptied.
type sparse struct {
	number int64
	chunk
	moves []hash // the ids that are only safe once they have been moved
}

// Compact empties the chunks in which half or more of the ids are of records that do
// not exist, or stand in others too; alive reports which records exist. Then it
// removes from the front those that have been empty for long enough. Any number of
// processes may do so at the same time, and may die.
func (e *Enumeration) Compact(ctx context.Context, s kv.Store, alive func(ctx context.Context, ids []string) ([]bool, error)) error {
	c := &compaction{e: e, s: s, alive: alive, known: make(map[hash]int64)}
	h, err := e.mustLook(ctx, s)
	if err != nil {
		return err
	}
	for next, tries, end := h.low, 0, h.high; next < end; {
		after, err := c.round(ctx, next, end)
		if errors.Is(err, kv.ErrConflict) && tries < maxTries {
			tries++
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: compaction: %w", e.model, err)
		}
		next, tries = after, 0
	}
	return e.Leave(ctx, s)
}

// round empties chunks from first on, until what has been moved fills a new one, or
// end is reached. It returns the chunk to go on from. An ErrConflict says that it has
// to begin again.
func (c *compaction) round(ctx context.Context, first, end int64) (next int64, err error) {
	h, err := c.e.mustLook(ctx, c.s)
	if err != nil {
		return first, err
	}
	var moves []string
	var from []sparse
	for next = max(first, h.low); next < end && len(wire.AppendTexts(nil, moves)) < c.e.full; next++ {
		sp, ids, err := c.judge(ctx, h, next)
		if err != nil {
			return first, err
		}
		if sp != nil {
			from, moves = append(from, *sp), append(moves, ids...)
		}
	}
	if len(moves) > 0 {
		// The head names the new chunk and says that ids have moved in one step, before
		// they go from where they were.
		in, err := c.e.extend(ctx, c.s, h, moves, 1)
		if err == nil && !in {
			err = kv.ErrConflict
		}
		if err != nil {
			c.forget(from)
			return first, err
		}
	}
	return next, c.empty(ctx, from)
}

// judge reads chunk n. If it is sparse, it returns the ids in it that are to be moved.
func (c *compaction) judge(ctx context.Context, h Head, n int64) (*sparse, []string, error) {
	chunks, err := c.e.read(ctx, c.s, n, 2)
	if err != nil {
		return nil, nil, err
	}
	chunk := chunks[0]
	if chunk.damaged != nil || chunks[1].damaged != nil {
		return nil, nil, nil
	}
	if err := c.e.mustFollow(ctx, c.s, h, n, chunk, chunks[1]); err != nil || len(chunk.ids) == 0 {
		return nil, nil, err
	}
	alive, err := c.alive(ctx, chunk.ids)
	if err != nil {
		return nil, nil, err
	}
	fresh, here := 0, make(map[hash]bool)
	var ids []string
	var keys []hash
	for i, id := range chunk.ids {
		key := hashOf(id)
		if !alive[i] || here[key] {
			continue
		}
		here[key] = true
		at, known := c.known[key]
		if !known || at == n {
			fresh++
		}
		if !known || at != moved {
			ids, keys = append(ids, id), append(keys, key)
		}
	}
	if 2*fresh > len(chunk.ids) {
		c.note(keys, n)
		return nil, nil, nil
	}
	c.note(keys, moved)
	return &sparse{n, chunk, keys}, ids, nil
}

// mustFollow returns an ErrLost unless chunk n of h is the one that the chunk after it,
// which is next, was added to. Nothing may be taken away that shows a loss. If the head
// has changed since, the error is an ErrConflict.
func (e *Enumeration) mustFollow(ctx context.Context, s kv.Store, h Head, n int64, c, next chunk) error {
	gone := n
	switch {
	case h.isLost(n), h.isLost(n+1) && c.exists():
		return nil
	case c.exists() && next.exists() && next.follows(c):
		return nil
	case c.exists() && !next.exists():
		gone = n + 1
	}
	again, err := e.mustLook(ctx, s)
	if err == nil && again.version != h.version {
		err = kv.ErrConflict
	}
	if err == nil {
		err = e.chunkLost(gone, 0)
	}
	return err
}

// note remembers where ids are kept.
func (c *compaction) note(keys []hash, at int64) {
	for _, key := range keys {
		if _, known := c.known[key]; known || len(c.known) < maxKnown {
			c.known[key] = at
		}
	}
}

// forget takes back that the ids of from have been moved.
func (c *compaction) forget(from []sparse) {
	for _, sp := range from {
		for _, key := range sp.moves {
			delete(c.known, key)
		}
	}
}

// empty removes the ids from the chunks that are still as they were read.
func (c *compaction) empty(ctx context.Context, from []sparse) error {
	var ops []kv.Op
	for _, sp := range from {
		ops = append(ops, kv.OpSwap(c.e.key(sp.number), sp.version, sp.holding(nil)))
	}
	if len(ops) == 0 {
		return nil
	}
	err := c.s.Do(ctx, ops)
	if errors.Is(err, kv.ErrUnclear) {
		return nil
	}
	return err
}

// Leave removes the empty chunks at the front, once no request for them can be under
// way. Two chunks after it there must be one that was made long ago: by then, the head
// had named the one between for as long. Chunk 1 stays, as a sign that the model has
// been written, and says where the enumeration begins.
func (e *Enumeration) Leave(ctx context.Context, s kv.Store) error {
	for {
		h, err := e.mustLook(ctx, s)
		if err != nil {
			return err
		}
		if err := e.sweepOut(ctx, s, h.low-1); err != nil || h.low+2 > h.high {
			return err
		}
		chunks, err := e.read(ctx, s, h.low, 3)
		if err != nil {
			return err
		}
		if chunks[0].damaged != nil || chunks[1].damaged != nil || chunks[2].damaged != nil {
			return nil
		}
		err = e.mustFollow(ctx, s, h, h.low, chunks[0], chunks[1])
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		if len(chunks[0].ids) > 0 || !chunks[2].exists() || e.now().Sub(chunks[2].made) < times.Chunk {
			return nil
		}
		if err := e.leave(ctx, s, h); err != nil {
			return err
		}
	}
}

// leave lets the enumeration of h begin with the chunk after its first.
func (e *Enumeration) leave(ctx context.Context, s kv.Store, h Head) error {
	to := h
	to.low = h.low + 1
	to.lost = nil
	for _, n := range h.lost {
		if n >= to.low {
			to.lost = append(to.lost, n)
		}
	}
	if err := e.noteFirst(ctx, s, to.low); err != nil {
		return err
	}
	err := e.swap(ctx, s, h, to)
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return nil
	}
	return err
}

// noteFirst lets chunk 1 say where the enumeration begins.
func (e *Enumeration) noteFirst(ctx context.Context, s kv.Store, low int64) error {
	c, err := e.readOne(ctx, s, 1)
	if err != nil || !c.exists() || c.damaged != nil || c.next >= low {
		return err
	}
	c.next = low
	_, err = kv.One(ctx, s, kv.OpSwap(e.key(1), c.version, c.encode()))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return nil
	}
	return err
}

// sweepOut removes chunk n, which the head does not name any more. Ids that have come
// into it since are added again first.
func (e *Enumeration) sweepOut(ctx context.Context, s kv.Store, n int64) error {
	for n > 0 {
		c, err := e.readOne(ctx, s, n)
		if err != nil || !c.exists() || c.damaged != nil || n == 1 && len(c.ids) == 0 {
			return err
		}
		if err := e.Put(ctx, s, c.ids); err != nil {
			return err
		}
		op := kv.OpDrop(e.key(n), c.version)
		if n == 1 {
			op = kv.OpSwap(e.key(1), c.version, c.holding(nil))
		}
		if _, err = kv.One(ctx, s, op); err == nil || !kv.Raced(err) {
			return err
		}
	}
	return nil
}
