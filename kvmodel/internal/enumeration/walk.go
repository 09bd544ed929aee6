package enumeration

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// chunksAPass is how many chunks are read for the ids of one pass. So a walk keeps the
// hashes of as many ids in memory as stand in so many chunks.
const chunksAPass = 2048

// Walked is what a walk has met.
type Walked struct {
	IDs   int  // in the chunks before the last, each as often as it stands there
	Empty bool // the first chunk is empty
}

// Each calls f with the ids of the enumeration and then with more, in batches, each id
// once. h is the head as it was read after more, or what Found returns.
//
// It remembers the ids it has given by 16 bytes of their hashes. Where there are more
// chunks than chunksAPass, it goes through all of them once for each part of the hashes.
//
// Once the rest was given, an ErrLost names a chunk that is gone, or an ErrCorrupt one that
// is damaged.
func (e *Enumeration) Each(ctx context.Context, s kv.Store, h Head, more []string, f func(ids []string) error) (Walked, error) {
	var walked Walked
	var lost error
	parts := 1 + uint64(max(0, h.high-h.low))/chunksAPass
	for part := range parts {
		p := pass{e: e, s: s, part: part, parts: parts, seen: make(map[hash]struct{}), give: f}
		p.take = func(_ Head, _ int64, texts []string) error { return p.once(texts) }
		err := p.walk(ctx, h, h.low)
		if errors.Is(err, kv.ErrLost) && !p.refused {
			lost, err = err, nil
		}
		if err == nil {
			err = p.once(more)
		}
		if err != nil {
			return walked, fmt.Errorf("%s: enumeration: %w", e.model, err)
		}
		if part == 0 {
			walked = p.met
		}
		lost = cmp.Or(lost, p.damaged)
	}
	return walked, lost
}

// pass is one walk through the chunks.
type pass struct {
	e           *Enumeration
	s           kv.Store
	part, parts uint64 // of all ids, by their hashes
	seen        map[hash]struct{}
	take        func(h Head, n int64, texts []string) error // what is in chunk n of h
	give        func(ids []string) error
	refused     bool // give has returned an error
	met         Walked

	chunks, ids int   // how many were read
	hole        int64 // the first chunk that is gone; 0 if none is
	damaged     error // an ErrCorrupt of what is
	damagedAt   int64 // the first chunk that is; 0 if none is
}

type hash [16]byte

func hashOf(id string) hash {
	sum := sha256.Sum256([]byte(id))
	return hash(sum[:])
}

// walk takes the ids of all chunks from one on. Then it looks at the head again: what has
// moved to other chunks since is in the last ones, and a chunk that is gone may have left.
func (p *pass) walk(ctx context.Context, h Head, from int64) error {
	for {
		if err := p.read(ctx, h, from); err != nil {
			return err
		}
		again, err := p.again(ctx, h)
		switch {
		case err != nil:
			return err
		case p.hole >= again.low && !again.isLost(p.hole):
			return p.e.chunkLost(p.hole, p.ids/max(p.chunks, 1))
		case p.hole > 0:
			from = again.low
		case again.moves != h.moves:
			from = h.high
		default:
			return nil
		}
		h, p.hole = again, 0
	}
}

// again returns the head as it is now, or one over the chunks that are found.
func (p *pass) again(ctx context.Context, h Head) (Head, error) {
	again, err := p.e.look(ctx, p.s)
	if err != nil || again.Exists() && again.Damaged == nil {
		return again, err
	}
	p.damaged = cmp.Or(p.damaged, again.Damaged)
	if h.Exists() && !again.Exists() {
		return again, p.e.headLost()
	}
	return p.e.Found(ctx, p.s)
}

// read takes the ids in the chunks of h from first on, some chunks a trip.
func (p *pass) read(ctx context.Context, h Head, first int64) error {
	var before chunk
	for n := first; n <= h.high; n += chunksAtOnce {
		chunks, err := p.e.read(ctx, p.s, n, int(min(chunksAtOnce, h.high-n+1)))
		if err != nil {
			return err
		}
		for i, c := range chunks {
			at := n + int64(i)
			if !p.fits(h, at, at == first, before, c) && p.hole == 0 {
				p.hole = at
			}
			p.meet(h, at, c)
			before = c
			p.note(at, c)
			if err := p.take(h, at, c.texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits reports whether c is chunk n of h, the one that was added after before.
func (p *pass) fits(h Head, n int64, first bool, before, c chunk) bool {
	switch {
	case h.isLost(n), c.damaged != nil:
		return true
	case !c.exists(), n == h.high && c.nonce != h.nonce:
		return false
	}
	return first || h.isLost(n-1) || before.damaged != nil || c.follows(before)
}

// note remembers what is wrong with chunk n.
func (p *pass) note(n int64, c chunk) {
	if c.damaged != nil && p.damagedAt == 0 {
		p.damaged, p.damagedAt = cmp.Or(p.damaged, c.damaged), n
	}
}

// meet counts chunk n of h.
func (p *pass) meet(h Head, n int64, c chunk) {
	if !c.exists() {
		return
	}
	p.chunks++
	p.ids += len(c.ids)
	if n == h.low {
		p.met.Empty = len(c.ids) == 0
	}
	if n < h.high {
		p.met.IDs += len(c.ids)
	}
}

// once gives those of the ids among texts that belong to this pass and were not given yet.
func (p *pass) once(texts []string) error {
	var fresh []string
	for _, id := range texts {
		if !isID(id) {
			continue
		}
		key := hashOf(id)
		if p.parts > 1 && binary.BigEndian.Uint64(key[:])%p.parts != p.part {
			continue
		}
		if _, ok := p.seen[key]; !ok {
			p.seen[key] = struct{}{}
			fresh = append(fresh, id)
		}
	}
	for batch := range slices.Chunk(fresh, batchSize) {
		if err := p.give(batch); err != nil {
			p.refused = true
			return err
		}
	}
	return nil
}
