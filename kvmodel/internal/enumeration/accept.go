package enumeration

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Found returns a head over the chunks that are there, for an enumeration that has
// none. It does not exist in the store. The search ends where no chunk follows within
// the next 64.
func (e *Enumeration) Found(ctx context.Context, s kv.Store) (Head, error) {
	h := Head{low: 1}
	first, err := e.readOne(ctx, s, 1)
	if err != nil {
		return h, err
	}
	if first.next > 1 {
		h.low, h.high = first.next, first.next-1
	}
	for n, found := h.low, true; found; n += chunksAtOnce {
		chunks, err := e.read(ctx, s, n, chunksAtOnce)
		if err != nil {
			return h, err
		}
		found = false
		for i, c := range chunks {
			if c.exists() {
				h.high, h.nonce, found = n+int64(i), c.nonce, true
			}
		}
	}
	// What has appeared since is found by a second look.
	h.moves = h.high
	return h, nil
}

// Accept takes what is gone for lost, so that it is no error any more: the head lists
// the numbers of these chunks. If the head itself is gone, it is made again with birth
// over the chunks that are there. A chunk that is damaged is written again, with the ids
// that can be read. Accept returns the birth in the head.
func (e *Enumeration) Accept(ctx context.Context, s kv.Store, birth string) (string, error) {
	for range maxTries {
		h, err := e.look(ctx, s)
		if err != nil {
			return "", err
		}
		to, made := h, !h.Exists() || h.Damaged != nil
		if made {
			if to, err = e.Found(ctx, s); err != nil {
				return "", err
			}
			to.Birth, to.Born, to.moves = birth, true, 0
		}
		var damaged []int64
		if to.lost, damaged, err = e.gone(ctx, s, to); err != nil {
			return to.Birth, err
		}
		if made || !slices.Equal(to.lost, h.lost) {
			_, err = kv.One(ctx, s, kv.OpReplace(e.HeadKey(), h.version, to.encode()))
		}
		if !kv.Raced(err) {
			return to.Birth, cmp.Or(err, e.renew(ctx, s, to, damaged))
		}
	}
	return "", kv.ErrConflict
}

// renew writes the chunks of numbers again that are damaged, with the ids that can be read.
// The head h names them as lost, so it does not matter which chunks they were added after.
func (e *Enumeration) renew(ctx context.Context, s kv.Store, h Head, numbers []int64) error {
	for _, n := range numbers {
		if err := e.renewOne(ctx, s, h, n); err != nil {
			return err
		}
	}
	return nil
}

func (e *Enumeration) renewOne(ctx context.Context, s kv.Store, h Head, n int64) error {
	for range maxTries {
		c, err := e.readOne(ctx, s, n)
		if err != nil || c.damaged == nil {
			return err
		}
		fresh := chunk{nonce: kv.Random(), made: e.now()}
		if n < h.low {
			fresh.next = h.low
		}
		_, err = kv.One(ctx, s, kv.OpSwap(e.key(n), c.version, fresh.holding(c.ids)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return kv.ErrConflict
}

// gone returns the numbers of the chunks of h that are not there, are not its own or are
// damaged, and those of the chunks to look at, since they are damaged or may be.
func (e *Enumeration) gone(ctx context.Context, s kv.Store, h Head) (lost, damaged []int64, err error) {
	p := pass{e: e, s: s}
	var before chunk
	for n := h.low; n <= h.high; n += chunksAtOnce {
		chunks, err := e.read(ctx, s, n, int(min(chunksAtOnce, h.high-n+1)))
		if err != nil {
			return nil, nil, err
		}
		for i, c := range chunks {
			at := n + int64(i)
			if c.damaged != nil {
				damaged = append(damaged, at)
			}
			if c.damaged != nil || h.isLost(at) || !p.fits(h, at, at == h.low, before, c) {
				lost = append(lost, at)
				h.lost = append(slices.Clip(h.lost), at)
			}
			before = c
		}
	}
	if h.low > 1 {
		damaged = append(damaged, 1)
	}
	return lost, damaged, nil
}
