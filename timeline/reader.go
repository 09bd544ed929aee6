package timeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A reader goes through a lane for one call: down from a cut, or up. It shows no hole: every entry
// between the cut and a visible entry that was acknowledged before the call is visible, or was
// lapped.
type reader struct {
	*lane
	up    bool
	shown bool
	from  *cut // nil: the newest end
	at    cut
	step  int64

	counter int64 // or absent or poisoned
	top     int64 // highest stamp known or read
	read    []segment
	ordered []*entry // distinct showable entries of read, in the order of the way
}

func (r *reader) has(segment int64) *segment {
	for i := range r.read {
		if r.read[i].number == segment {
			return &r.read[i]
		}
	}
	return nil
}

// plan makes open read the newest block and, before it, the blocks of ahead stamps.
func (r *reader) plan(ahead int64) {
	width := r.shape.width
	r.step = 1 + (ahead+width-1)/width
}

// open reads the counter and the segments nearest to the cut. This is R1 and, the first time, JOIN.
func (r *reader) open(ctx context.Context, s kv.Store) error {
	if r.sparing {
		return r.openSparingly(ctx, s)
	}
	top, first := r.meet()
	r.top = top
	refs := r.ahead(r.step)
	if first || top == 0 {
		refs = r.whole()
	}
	if r.atomic {
		// numbers of a transaction may have been rolled back
		r.top = 0
	}
	if err := r.fetch(ctx, s, refs, true); err != nil {
		if first {
			r.forget()
		}
		return err
	}
	if len(refs) > 0 {
		r.step = max(2, r.step/2)
	}
	return r.locate(ctx, s)
}

// openSparingly is open for large entries. It reads the planned segments and the one above, which
// may have been used since; if the head of the ring is unknown, the counter first.
func (r *reader) openSparingly(ctx context.Context, s kv.Store) error {
	r.top = r.knowledge.top()
	known := r.top != 0
	if !known {
		if err := r.fetch(ctx, s, nil, true); err != nil {
			return err
		}
		if r.counter < 0 {
			return r.locate(ctx, s)
		}
	}
	refs, above := r.ahead(r.step), r.shape.segment(r.shape.block(r.top)+1)
	if !slices.Contains(refs, above) {
		refs = append(refs, above)
	}
	if err := r.fetch(ctx, s, refs, known); err != nil {
		return err
	}
	return r.locate(ctx, s)
}

func (r *reader) locate(ctx context.Context, s kv.Store) error {
	if err := r.search(ctx, s); err != nil {
		return err
	}
	r.learn(r.top)
	r.help()
	if r.from == nil {
		r.moveTo(cut{stamp: r.top + 1})
	}
	return nil
}

func (r *reader) moveTo(c cut) { r.at, r.from = c, &r.at }

// search reads the ring if no counter locates the newest block.
func (r *reader) search(ctx context.Context, s kv.Store) error {
	for first := true; r.counter < 0 && (first || r.top > 0); first = false {
		refs := r.remaining()
		if len(refs) == 0 {
			return nil
		}
		if r.sparing && first {
			refs = refs[:min(len(refs), probed)]
		}
		if err := r.fetch(ctx, s, refs, false); err != nil {
			return err
		}
	}
	return nil
}

// probed empty segments mean that a ring of large entries was never written.
const probed = 3

// more reads further, twice as many blocks each time. This is R3.
func (r *reader) more(ctx context.Context, s kv.Store) error {
	refs := r.ahead(r.step)
	r.step = max(r.step, min(2*r.step, 64))
	return r.fetch(ctx, s, refs, false)
}

func (r *reader) whole() []int64 {
	if r.shape.blocks > wholeRing {
		return nil
	}
	return r.remaining()
}

func (r *reader) remaining() []int64 {
	var refs []int64
	for i := int64(0); i < r.shape.blocks && len(refs) < atOnce; i++ {
		if r.has(i) == nil {
			refs = append(refs, i)
		}
	}
	return refs
}

func (r *reader) ahead(n int64) []int64 {
	var refs []int64
	b, end, step := r.way()
	for ; int64(len(refs)) < n && (end-b)*step >= 0; b += step {
		if i := r.shape.segment(b); r.has(i) == nil {
			refs = append(refs, i)
		}
	}
	return refs
}

func (r *reader) oldest() int64 { return r.shape.firstShown(r.top) }

func (r *reader) way() (first, last, step int64) {
	g := r.shape
	low, high := g.block(r.oldest()), g.block(r.top)
	switch {
	case r.up:
		return max(low, g.block(r.from.stamp)), high, 1
	case r.from != nil:
		return min(high, g.block(r.from.lastNumber())), low, -1
	}
	return high, low, -1
}

func (r *reader) fetch(ctx context.Context, s kv.Store, refs []int64, counter bool) error {
	keys := r.keysOf(refs, counter)
	if r.shown {
		s = kv.Near(s)
	}
	results, err := kv.GetDecoded(ctx, s, decodeKept, keys...)
	if err != nil {
		return err
	}
	if counter {
		r.counter = numberIn(results[len(refs)])
		r.top = max(r.top, r.counter)
	}
	for i, at := range refs {
		seg, err := r.decode(at, keys[i], results[i])
		if err != nil {
			return err
		}
		r.read = append(r.read, seg)
		r.top = max(r.top, highest(seg.entries))
	}
	r.order()
	return nil
}

func (r *reader) order() {
	n := 0
	for _, seg := range r.read {
		n += len(seg.entries)
	}
	r.ordered = make([]*entry, 0, n)
	oldest := r.oldest()
	for _, seg := range r.read {
		begin := len(r.ordered)
		for i := range seg.entries {
			if e := &seg.entries[i]; e.stamp >= oldest {
				r.ordered = append(r.ordered, e)
			}
		}
		if !r.up {
			slices.Reverse(r.ordered[begin:]) // leaves little to sort
		}
	}
	slices.SortFunc(r.ordered, func(a, b *entry) int {
		if r.up {
			return a.compare(b)
		}
		return b.compare(a)
	})
	r.ordered = slices.CompactFunc(r.ordered, func(a, b *entry) bool { return a.compare(b) == 0 })
}

func (r *reader) help() {
	if top := r.top; r.counter >= 0 && r.counter < top {
		r.db.Soon(func(ctx context.Context) error { return r.raise(ctx, r.db.Store(), top) })
	}
	g := r.shape
	for _, seg := range r.read {
		if int64(len(seg.entries)) <= 2*g.width {
			continue
		}
		newest, old := g.block(highest(seg.entries)), int64(0)
		for _, e := range seg.entries {
			if g.block(e.stamp) != newest {
				old++
			}
		}
		if old > 2*max(g.width, 4) {
			r.db.Soon(func(ctx context.Context) error { return r.cut(ctx, r.db.Store(), seg) })
		}
	}
}

// reach returns the stamp up to which the way was read without a gap. ended: nothing is beyond.
// This is R2.
func (r *reader) reach() (stamp int64, ended bool) {
	b, end, step := r.way()
	for ; (end-b)*step >= 0; b += step {
		switch g := r.shape; {
		case r.has(g.segment(b)) != nil:
		case r.up:
			return b*g.width - 1, false
		default:
			return (b + 1) * g.width, false
		}
	}
	if r.up {
		return lastStamp, true
	}
	return 0, true
}

// visible returns the entries between the cut and the reach, in the order of the way. ended: none
// are beyond.
func (r *reader) visible() (entries []*entry, ended bool) {
	reach, ended := r.reach()
	first := r.find(func(e *entry) bool { return r.from.isOver(*e) != r.up })
	end := r.find(func(e *entry) bool { return !r.up && e.stamp < reach || r.up && e.stamp > reach })
	return r.ordered[first:max(first, end)], ended
}

func (r *reader) find(behind func(*entry) bool) int {
	return sort.Search(len(r.ordered), func(i int) bool { return behind(r.ordered[i]) })
}

func (r *reader) pass(it item) {
	if r.up {
		r.moveTo(over(it.entry))
		return
	}
	r.moveTo(cut{it.stamp, it.what})
}

func (r *reader) skip() {
	if entries, ended := r.visible(); len(entries) > 0 || ended {
		return
	}
	reach, _ := r.reach()
	c := cut{stamp: reach}
	if r.up {
		c.stamp++
	}
	r.moveTo(c)
}

type item struct {
	entry
	what   string
	reader *reader
}

// A cut is a position in a lane, below entries with a higher stamp, or an equal one and an equal or
// higher body.
type cut struct {
	stamp int64
	body  string
}

func over(e entry) cut { return cut{e.stamp, string(e.body) + "\x00"} }

func (c cut) isOver(e entry) bool {
	return e.stamp < c.stamp || e.stamp == c.stamp && string(e.body) < c.body
}

func (c cut) lastNumber() int64 {
	if c.body == "" {
		return c.stamp - 1
	}
	return c.stamp
}

type position struct {
	up   bool
	cuts []cut  // one in each lane
	mark []byte // of a Head, or for an archive
}

func (p position) encode() []byte {
	way := byte('d')
	if p.up {
		way = 'u'
	}
	size := 1 + len(p.mark)
	for _, c := range p.cuts {
		size += 2*binary.MaxVarintLen64 + len(c.body)
	}
	b := append(make([]byte, 0, size), way)
	for _, c := range p.cuts {
		b = binary.AppendUvarint(b, uint64(c.stamp))
		b = wire.AppendText(b, c.body)
	}
	return append(b, p.mark...)
}

func parsePosition(name, cursor string, n int) (position, error) {
	b, err := plug.ParseCursor(name, cursor)
	if err != nil {
		return position{}, err
	}
	r := wire.Reader{Rest: b}
	way := r.Byte()
	p := position{up: way == 'u', cuts: make([]cut, n)}
	for i := range p.cuts {
		p.cuts[i].stamp = int64(r.Number("stamp", lastStamp+1))
		p.cuts[i].body = r.Text("body")
	}
	if r.Err != nil || way != 'd' && way != 'u' {
		return position{}, otherForm(name)
	}
	p.mark = r.Rest
	return p, nil
}

func otherForm(name string) error {
	index, _, _ := strings.Cut(name, " ")
	return fmt.Errorf("%s: %w: it is not a position in this timeline", index, kvmodel.ErrBadCursor)
}
