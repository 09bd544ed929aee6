package timeline

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Picture is a ring of keys as it is stored, for those who want to see it.
type Picture struct {
	Head     int64     // the highest number that was given; 0: none
	Newest   int       // which of Segments the head is in
	Segments []Segment // in the order in which they are used; after the last comes the first
}

// Segment is one key of a ring. A slot of it holds the entry of one number. An
// entry that is still where an earlier Shape has put it counts as if it was here.
type Segment struct {
	Key     string // all of the key under which the store has the segment
	Bytes   int    // 0: it has no such key
	Entries int    // as stored, those that the ring has lapped as well
	First   int64  // the number that the first slot was last used for, or will be first
	Slots   []Slot
}

// Slot is the state of one place of a ring.
type Slot uint8

// What a slot may be. The places of package templates are numbered alike.
const (
	Free    Slot = iota // not reached yet, or what stood here was lapped
	Filled              // a record that stands here
	Stale               // an entry, whose record stands at a newer place or is gone
	Missing             // no entry, or none yet, though its number was given or passed over
)

// recordsAtOnce is of how many entries a picture reads the records in one trip.
const recordsAtOnce = 512

// Pictures returns a picture of each ring that this one is made of: just one, or
// one for each shard of each owner. It reads all segments and the records in them,
// and nothing is changed by it. One trip for 128 segments of each ring, and one for
// 512 entries: three for a ring of 1,024 places, and one more the first time.
func (r *Ring[T]) Pictures(ctx context.Context) ([]Picture, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	views, err := r.whole(ctx)
	if err != nil {
		return nil, r.core.failure(err)
	}
	f := newFilling(r.core, nil)
	for some := range slices.Chunk(shown(views), recordsAtOnce) {
		if err := f.load(ctx, some); err != nil {
			return nil, r.core.failure(err)
		}
	}
	pictures := make([]Picture, len(views))
	for i, v := range views {
		pictures[i] = v.picture(func(it item) bool { return f.stands(f.loaded[string(it.body)], it) })
	}
	return pictures, nil
}

// whole returns views of the lanes that have read all there is.
func (r *Ring[T]) whole(ctx context.Context) ([]*view, error) {
	views := make([]*view, len(r.lanes))
	works := make([]func(kv.Store) error, len(r.lanes))
	for i, l := range r.lanes {
		views[i] = l.newView(false, nil, 0)
		works[i] = func(s kv.Store) error { return views[i].readWhole(ctx, s) }
	}
	return views, errors.Join(kv.Together(ctx, r.core.db.Store(), works...)...)
}

// readWhole reads all segments, and goes by nothing that the process knew.
func (v *view) readWhole(ctx context.Context, s kv.Store) error {
	counter := true
	for seats := v.rest(); len(seats) > 0; seats = v.rest() {
		if err := v.fetch(ctx, s, seats, counter); err != nil {
			return err
		}
		counter = false
	}
	v.from = &cut{stamp: v.top + 1}
	return nil
}

// shown returns all that views show.
func shown(views []*view) (items []item) {
	for _, v := range views {
		entries, _ := v.visible()
		for _, e := range entries {
			items = append(items, item{e, v})
		}
	}
	return items
}

// picture returns the picture of what was read.
func (v *view) picture(stands func(item) bool) Picture {
	g := v.shape()
	p := Picture{Head: v.top, Newest: int(g.segment(g.block(v.top)))}
	for i := range g.blocks {
		p.Segments = append(p.Segments, v.segment(i))
	}
	slot := func(n int64) *Slot { return &p.Segments[g.segment(g.block(n))].Slots[n%g.width] }
	for n := v.oldest(0); n <= v.top; n++ {
		*slot(n) = Missing
	}
	for _, it := range shown([]*view{v}) {
		switch at := slot(it.stamp); {
		case stands(it):
			*at = Filled
		case *at == Missing:
			*at = Stale
		}
	}
	return p
}

// segment returns the segment i with no slot in use.
func (v *view) segment(i int64) Segment {
	g, read := v.shape(), v.read[0][i]
	newest := g.block(v.top)
	block := newest - (newest-i+g.blocks)%g.blocks
	if block < 0 {
		block = i
	}
	return Segment{
		Key: read.key, Bytes: read.bytes, Entries: len(read.entries),
		First: block * g.width, Slots: make([]Slot, g.width),
	}
}
