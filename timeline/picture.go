package timeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Picture shows the stored keys of a ring.
type Picture struct {
	Head     int64     // highest number handed out; 0: none
	Newest   int       // index in Segments of Head
	Segments []Segment // in the order of use, cyclic
}

// Segment is one key of a ring. Each slot holds the entry of one number.
type Segment struct {
	Key     string
	Bytes   int   // 0: absent
	Entries int   // as stored, including lapped ones
	First   int64 // number of the first slot's last or first use
	Slots   []Slot
}

// Slot is the state of one slot of a ring.
type Slot uint8

// The states of a slot. Package templates has the same numbers.
const (
	Free      Slot = iota // not reached yet, or lapped
	Filled                // the place of a record
	Stale                 // its record has a newer entry or is gone
	Missing               // no entry, though its number was handed out or skipped
	Unchecked             // Filled or Stale: the record was not read
)

const recordsAtOnce = 512

// Pictures returns a picture of each ring, one for each shard of each owner. It reads all segments
// and the records of the newest entries, at most limit: one trip for 128 segments of each ring, and
// one for 512 entries.
func (r *Ring[T]) Pictures(ctx context.Context, limit int) ([]Picture, error) {
	return r.ring.draw(ctx, limit)
}

func (r *ring) draw(ctx context.Context, limit int) ([]Picture, error) {
	ctx, end := r.core.host.Begin(ctx, "Pictures")
	defer end()
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	pictures, _, err := r.pictures(ctx, r.core.db.Store(), limit)
	return pictures, err
}

// pictures compares about most entries, the newest of each lane, with their records. skipped: there
// were others.
func (r *ring) pictures(ctx context.Context, s kv.Store, most int) (pictures []Picture, skipped bool, err error) {
	m := newMerge(s, r.lanes, false, nil, 0)
	if err := m.each(ctx, m.readers, (*reader).readWhole); err != nil {
		return nil, false, r.core.failure(err)
	}
	f := newFilling(r.core, m)
	f.bare = true
	lowest := make(map[*reader]int64) // lowest stamp to compare
	var compared []item
	for _, v := range m.readers {
		items := v.items()
		slices.SortFunc(items, func(a, b item) int { return cmp.Compare(b.stamp, a.stamp) })
		if n := max(0, most) / len(m.readers); len(items) > n {
			lowest[v], skipped = items[n].stamp+1, true
			items = items[:n]
		}
		compared = append(compared, items...)
	}
	for some := range slices.Chunk(compared, recordsAtOnce) {
		if err := f.load(ctx, some); err != nil {
			return nil, false, r.core.failure(err)
		}
	}
	for _, v := range m.readers {
		pictures = append(pictures, v.picture(func(it item) Slot {
			switch {
			case it.stamp < lowest[v]:
				return Unchecked
			case f.stands(it):
				return Filled
			}
			return Stale
		}))
	}
	return pictures, skipped, nil
}

func (r *reader) readWhole(ctx context.Context, s kv.Store) error {
	counter := true
	for refs := r.remaining(); len(refs) > 0; refs = r.remaining() {
		if err := r.fetch(ctx, s, refs, counter); err != nil {
			return err
		}
		counter = false
	}
	r.moveTo(cut{stamp: r.top + 1})
	return nil
}

func (r *reader) items() []item {
	entries, _ := r.visible()
	items := make([]item, len(entries))
	for i, e := range entries {
		items[i] = item{*e, string(e.body), r}
	}
	return items
}

func (r *reader) picture(state func(item) Slot) Picture {
	g := r.shape
	p := Picture{Head: r.top, Newest: int(g.segment(g.block(r.top)))}
	for i := range g.blocks {
		p.Segments = append(p.Segments, r.segment(i))
	}
	slot := func(n int64) *Slot { return &p.Segments[g.segment(g.block(n))].Slots[n%g.width] }
	for n := r.oldest(); n <= r.top; n++ {
		*slot(n) = Missing
	}
	for _, it := range r.items() {
		if is, at := state(it), slot(it.stamp); is != Stale || *at == Missing {
			*at = is
		}
	}
	return p
}

func (r *reader) segment(i int64) Segment {
	g, read := r.shape, segment{}
	if there := r.has(i); there != nil {
		read = *there
	}
	newest := g.block(r.top)
	block := newest - (newest-i+g.blocks)%g.blocks
	if block < 0 {
		block = i
	}
	return Segment{
		Key: read.key, Bytes: read.bytes, Entries: len(read.entries),
		First: block * g.width, Slots: make([]Slot, g.width),
	}
}
