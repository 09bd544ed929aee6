package timeline

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
)

// Spec describes a timeline of records of type T. kvgen writes it from a tag.
type Spec[T any] struct {
	Name string // Newest: unique in the model, part of the timeline's keys
	Def  string // the definition, without the Shape; the timeline must be rebuilt when it changes

	// Value returns a text; a change of it moves the record to the newest end. It usually calls
	// Text. A record with an empty text is not in the timeline. If Value is nil, a record stays
	// where it was when it came to its owner.
	Value func(*T) string
	Holds func(*T) bool // reports whether that text is not empty; nil: call Value
	If    func(*T) bool // selects the records in the timeline; nil: all

	// Order returns the field, if its values are the order in which Rebuild must enter records: a
	// time, an integer or a text. If Order is nil, that is the order of creation.
	Order func(*T) any

	Shape  Shape
	Shards int // number of rings that share the records, for many concurrent writers; 0: 1
}

func (s *Spec[T]) untyped() spec {
	return spec{
		Name: s.Name, Def: s.Def,
		Value: plug.Untyped(s.Value),
		Holds: plug.Untyped(s.Holds),
		If:    plug.Untyped(s.If),
		Order: plug.Untyped(s.Order),
		Shape: s.Shape, Shards: s.Shards,
	}
}

// NewRing returns the timeline described by spec and plugs it into records.
func NewRing[T any, K comparable](records *kvmodel.Records[T, K], spec Spec[T]) *Ring[T] {
	c := newCore(spec.untyped(), everyone{})
	c.join(records, unowned{c}, idTextOf(records))
	return &Ring[T]{c.ring("")}
}

// Ring is a timeline of records, newest first: the newest Size of its numbers. A record appears
// once, where the last write that changed its value put it. A record that is removed for a while
// and then added again goes to the top.
//
// It guarantees:
//
//   - A change that has returned stays in the timeline until Size newer ones follow, whatever
//     crashes.
//   - A page has no hole.
//   - A record is shown only if it is live and belongs to the owner, and only at its newest entry.
type Ring[T any] struct{ ring *ring }

// ring is a Ring without its type.
type ring struct {
	core  *core
	name  string // name of the listing, for its cursors
	lanes []*lane
	err   error // the reason it cannot be read, if any
}

var _ kvmodel.Lister[struct{}] = (*Ring[struct{}])(nil)

// ring returns the timeline of owners.
func (c *core) ring(owners ...string) *ring {
	r := &ring{core: c, name: c.host.Model() + "." + c.spec.Name + " " + strings.Join(owners, " "), lanes: c.lanesOf(owners...)}
	if n := len(r.lanes); n > MaxLanes {
		r.err = c.failure(fmt.Errorf("%w: a listing of %d rings, at most %d", kvmodel.ErrInvalid, n, MaxLanes))
	}
	return r
}

// isEmpty reports whether r has no owners.
func (r *ring) isEmpty() bool { return len(r.lanes) == 0 }

func (r *ring) title() string { return r.core.host.Model() + "." + r.core.spec.Name }

// Page returns n records from cursor on, newest first, or from the newest if the cursor is empty.
// It skips records that a keep function rejects and reads on; after five trips for records, or
// seven for segments, it returns a short page with a Next. The newest page takes one trip if
// nothing was added since the process last read it, and otherwise two. Any other page takes two,
// the first in a process three, and a page that skips records at least one more.
//
// If a part of the ring is damaged, Page returns the readable records and an ErrCorrupt. A Rebuild
// repairs that.
//
// Next leads to older records and is empty at the end of the ring; it never leads to records that
// were lapped. Prev leads to newer records and is empty on the newest page. Neither moves when
// other records are written.
func (r *Ring[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	p, err := r.ring.pageAt(ctx, cursor, n, plug.Keeps(keep))
	return kvmodel.Listing[T]{Items: plug.AllAs[T](p.items), Next: r.ring.cursor(p.next), Prev: r.ring.cursor(p.prev)}, err
}

// pageAt returns the page of n records from the cursor on.
func (r *ring) pageAt(ctx context.Context, cursor string, n int, keep func(plug.Record) bool) (page, error) {
	ctx, end := r.core.host.Begin(ctx, "Page")
	defer end()
	if err := kvmodel.CheckPage(r.title(), n); err != nil || r.isEmpty() {
		return page{}, err
	}
	var p position
	if cursor != "" {
		var err error
		if p, err = r.parse(cursor); err != nil {
			return page{}, err
		}
	}
	ctx, cancel := r.core.db.Patient(ctx)
	defer cancel()
	f, err := r.page(ctx, p, n, keep)
	if err != nil {
		return page{}, err
	}
	return f, f.damage
}

// A page is a page of a ring, and the positions around it.
type page struct {
	items      []plug.Record
	next, prev *position // nil: no more records in this direction
	bottom     []cut     // cuts below the page
	damage     error     // the error if some entries were unreadable
}

// page returns the page of n records from p on.
func (r *ring) page(ctx context.Context, p position, n int, keep func(plug.Record) bool) (page, error) {
	if err := r.ready(ctx); err != nil {
		return page{}, err
	}
	s := r.core.db.Store()
	if p.cuts == nil {
		newest := r.core.ahead.Store(ctx, s, ahead.Look{Listing: r.name, N: n})
		defer newest.Remember()
		s = newest
	}
	m := newMerge(s, r.lanes, p.up, p.cuts, n)
	if p.cuts == nil {
		m.show()
	}
	if err := m.open(ctx); err != nil {
		return page{}, r.core.failure(err)
	}
	f := newFilling(r.core, m)
	f.keep, f.deep = keep, p.cuts != nil
	var start []cut
	if p.cuts != nil || p.up {
		start = m.cuts()
	}
	items, err := f.fill(ctx, n)
	if err != nil {
		return page{}, r.core.failure(err)
	}
	var back, on *position
	if p.cuts != nil {
		back = &position{up: !p.up, cuts: start}
	}
	end := m.cuts()
	if !m.ended() {
		on = &position{up: p.up, cuts: end}
	}
	switch {
	case !p.up:
		return page{items, on, back, end, r.core.failure(m.damage())}, nil
	case on == nil && len(items) < n:
		// Fewer than n records are newer, so this is the newest page.
		return r.page(ctx, position{}, n, keep)
	}
	slices.Reverse(items)
	return page{items, back, on, start, r.core.failure(m.damage())}, nil
}

// ready returns nil if the ring can be read.
func (r *ring) ready(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	return r.core.host.Ready(ctx)
}

// open returns a merge of the ring's lanes that has read the beginning.
func (r *ring) open(ctx context.Context, up bool, from []cut, n int) (*merge, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	m := newMerge(r.core.db.Store(), r.lanes, up, from, n)
	return m, r.core.failure(m.open(ctx))
}

// openAhead is open from the newest end, where each reader reads ahead(i, reader) stamps before the
// newest block.
func (r *ring) openAhead(ctx context.Context, ahead func(int, *reader) int64) (*merge, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	m := newMerge(r.core.db.Store(), r.lanes, false, nil, 1)
	for i, lane := range m.readers {
		lane.plan(ahead(i, lane))
	}
	return m, r.core.failure(m.open(ctx))
}

// All returns the records from the newest to the end of the ring, 100 in a trip or two. A record
// written meanwhile may come twice or not at all. All ends after an error. Damage is reported at
// the end.
func (r *Ring[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		r.ring.eachRecord(ctx, func(v plug.Record, err error) bool { return yield(plug.As[T](v), err) })
	}
}

func (r *ring) eachRecord(ctx context.Context, yield func(plug.Record, error) bool) {
	ctx, end := r.core.host.Begin(ctx, "All")
	defer end()
	var damage error
	for cursor := ""; ; {
		p, err := r.pageAt(ctx, cursor, 100, nil)
		if err != nil && !wire.IsCorrupt(err) {
			yield(nil, err)
			return
		}
		damage = cmp.Or(damage, err)
		for _, rec := range p.items {
			if !yield(rec, nil) {
				return
			}
		}
		if cursor = r.cursor(p.next); cursor == "" {
			if damage != nil {
				yield(nil, damage)
			}
			return
		}
	}
}

// cursor returns the cursor of p, or "" if p is nil.
func (r *ring) cursor(p *position) string {
	if p == nil {
		return ""
	}
	return kvmodel.Cursor(r.name, p.encode())
}

func (r *ring) parse(cursor string) (position, error) {
	return parsePosition(r.name, cursor, len(r.lanes))
}
