package timeline

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A view is what one call has read of a lane, and its way through it: down from
// a cut to older entries, or up to newer ones. What it shows has no hole: an
// entry that was acknowledged before the call began, and that lies between the
// cut and one that is shown, is shown as well or was lapped.
type view struct {
	*lane
	up   bool
	from *cut  // nil: the newest end
	step int64 // how many blocks to read next

	count int64               // the counter, or absent or poisoned
	top   int64               // the highest stamp known, counted or seen
	read  []map[int64]segment // by shape, and by the segment's number
}

// seat is where one segment stands: which shape, and its number there.
type seat struct {
	shape   int
	segment int64
}

// newView returns a view of l that at first reads the newest block and those
// before it that hold ahead stamps.
func (l *lane) newView(up bool, from *cut, ahead int64) *view {
	v := &view{lane: l, up: up, from: from, step: 1 + (ahead+l.shape().width-1)/l.shape().width}
	v.read = make([]map[int64]segment, len(l.shapes))
	for i := range v.read {
		v.read[i] = make(map[int64]segment)
	}
	return v
}

// open reads the counter and what is nearest to the cut. These are R1 and, the
// first time, JOIN.
func (v *view) open(ctx context.Context, s kv.Store) error {
	top, first := v.meet()
	v.top = top
	seats := v.ahead(v.step)
	if first || top == 0 {
		seats = v.whole()
	}
	if v.atomic {
		// What a transaction has handed out may have come to nothing.
		v.top = 0
	}
	if err := v.fetch(ctx, s, seats, true); err != nil {
		if first {
			v.forget()
		}
		return err
	}
	if len(seats) > 0 {
		v.step = 2
	}
	if err := v.search(ctx, s); err != nil {
		return err
	}
	v.learn(v.top)
	v.mend()
	if v.from == nil {
		v.from = &cut{stamp: v.top + 1}
	}
	return nil
}

// search reads the ring where there is no counter to say which block is the
// newest. A ring whose first segments are absent has never been written to.
func (v *view) search(ctx context.Context, s kv.Store) error {
	for first := true; v.count < 0 && (first || v.top > 0); first = false {
		seats := v.rest()
		if len(seats) == 0 {
			return nil
		}
		if err := v.fetch(ctx, s, seats, false); err != nil {
			return err
		}
	}
	return nil
}

// more reads further on the way: 2 blocks, then 4, 8 and so on. This is R3.
func (v *view) more(ctx context.Context, s kv.Store) error {
	seats := v.ahead(v.step)
	v.step = min(2*v.step, 64)
	return v.fetch(ctx, s, seats, false)
}

// whole returns all segments, if they are not too many to be read at once.
func (v *view) whole() []seat {
	if v.shape().blocks > wholeRing {
		return nil
	}
	return v.rest()
}

// rest returns segments that have not been read, as many as fit into a trip.
func (v *view) rest() []seat {
	var seats []seat
	for k, g := range v.shapes {
		for i := int64(0); i < g.blocks && len(seats) < atOnce; i++ {
			if _, ok := v.read[k][i]; !ok {
				seats = append(seats, seat{k, i})
			}
		}
	}
	return seats
}

// ahead returns the next n segments of each shape that are on the way.
func (v *view) ahead(n int64) []seat {
	var seats []seat
	for k, g := range v.shapes {
		b, end, step := v.way(k)
		for found := int64(0); found < n && (end-b)*step >= 0; b += step {
			i := g.segment(b)
			if _, ok := v.read[k][i]; !ok {
				seats = append(seats, seat{k, i})
				found++
			}
		}
	}
	return seats
}

// oldest returns the first stamp to be shown of what is in the kth shape. Where
// a newer shape has lapped something, what is older would stand below a hole.
func (v *view) oldest(k int) int64 {
	var n int64
	for _, g := range v.shapes[:k+1] {
		n = max(n, g.oldest(v.top))
	}
	return n
}

// way returns the blocks of the kth shape to go through: the first, the last,
// and the step from one to the next.
func (v *view) way(k int) (first, last, step int64) {
	g := v.shapes[k]
	low, high := g.block(v.oldest(k)), g.block(v.top)
	switch {
	case v.up:
		return max(low, g.block(v.from.stamp)), high, 1
	case v.from != nil:
		return min(high, g.block(v.from.last())), low, -1
	}
	return high, low, -1
}

// fetch reads segments, and the counter as well if it is wanted, in one trip.
func (v *view) fetch(ctx context.Context, s kv.Store, seats []seat, counter bool) error {
	var keys []string
	for _, at := range seats {
		keys = append(keys, v.key(v.shapes[at.shape], at.segment))
	}
	if counter {
		keys = append(keys, v.lane.counter)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	if counter {
		v.count = counted(results[len(seats)])
		v.top = max(v.top, v.count)
	}
	for i, at := range seats {
		seg, err := v.decode(v.shapes[at.shape], at.segment, results[i])
		if err != nil {
			return err
		}
		v.read[at.shape][at.segment] = seg
		v.top = max(v.top, highest(seg.entries))
	}
	return nil
}

// mend does after the reply what readers do for writers: they raise a counter
// that has gone back, and trim a segment that nobody has trimmed for long.
func (v *view) mend() {
	if top := v.top; v.count >= 0 && v.count < top {
		v.db.Soon(func(ctx context.Context) error { return v.raise(ctx, v.db.Store(), top) })
	}
	g := v.shape()
	for i := range g.blocks {
		seg, ok := v.read[0][i]
		if !ok || int64(len(seg.entries)) <= 2*g.width {
			continue
		}
		newest, old := g.block(highest(seg.entries)), int64(0)
		for _, e := range seg.entries {
			if g.block(e.stamp) != newest {
				old++
			}
		}
		if old > 2*max(g.width, 4) {
			v.db.Soon(func(ctx context.Context) error { return v.cut(ctx, v.db.Store(), seg) })
		}
	}
}

// reach returns how far the way was read without a gap: down to that stamp, or
// up to it. ended: there is nothing beyond. This is R2.
func (v *view) reach() (stamp int64, ended bool) {
	stamp, ended = 0, true
	if v.up {
		stamp = lastStamp
	}
	for k, g := range v.shapes {
		b, end, step := v.way(k)
		for ; (end-b)*step >= 0; b += step {
			if _, ok := v.read[k][g.segment(b)]; !ok {
				break
			}
		}
		if (end-b)*step < 0 {
			continue
		}
		ended = false
		if v.up {
			stamp = min(stamp, b*g.width-1)
		} else {
			stamp = max(stamp, (b+1)*g.width)
		}
	}
	return stamp, ended
}

// visible returns the entries that may be shown, in the order of the way, and
// whether there are no more beyond them.
func (v *view) visible() (entries []entry, ended bool) {
	reach, ended := v.reach()
	for k, g := range v.shapes {
		oldest := v.oldest(k)
		for i := range g.blocks {
			for _, e := range v.read[k][i].entries {
				if e.stamp >= oldest && v.shows(e, reach) {
					entries = append(entries, e)
				}
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if v.up {
			return a.compare(b)
		}
		return b.compare(a)
	})
	same := func(a, b entry) bool { return a.compare(b) == 0 }
	return slices.CompactFunc(entries, same), ended
}

func (v *view) shows(e entry, reach int64) bool {
	if v.up {
		return !v.from.isOver(e) && e.stamp <= reach
	}
	return v.from.isOver(e) && e.stamp >= reach
}

// pass moves the cut past e.
func (v *view) pass(e entry) {
	c := under(e)
	if v.up {
		c = over(e)
	}
	v.from = &c
}

// skip moves the cut to where the view has read to, if it shows nothing.
func (v *view) skip() {
	if entries, ended := v.visible(); len(entries) > 0 || ended {
		return
	}
	reach, _ := v.reach()
	c := cut{stamp: reach}
	if v.up {
		c.stamp++
	}
	v.from = &c
}
