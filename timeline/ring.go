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
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Spec describes a timeline of records of type T. kvgen writes it from a tag.
type Spec[T any] struct {
	Name string // Newest: unique in the model, part of the keys
	Def  string // without the Shape; a change requires a rebuild

	// Value returns a text, usually by Text. A change of it moves the record to the newest end;
	// without one, a record is not in the timeline. If Value is nil, a record stays where it was
	// when it came to its owner.
	Value func(*T) string
	Holds func(*T) bool // reports whether Value is not empty; nil: call Value
	If    func(*T) bool // selects records; nil: all

	// Order returns a time, an integer or a text by which a rebuild orders records; nil: by
	// creation.
	Order func(*T) any

	Shape  Shape
	Shards int // rings that share the records, for many concurrent writers; 0: 1
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

// NewRing returns the timeline described by spec, as an index of records.
func NewRing[T any, K comparable](records *kvmodel.Records[T, K], spec Spec[T]) *Ring[T] {
	c := newCore(spec.untyped(), everyone{})
	c.join(records, unowned{c}, idTextOf(records))
	return &Ring[T]{c.ring("")}
}

// Ring is a timeline of records, newest first. A record appears once, where the last write that
// changed its value put it; one that is removed and added again goes to the top.
//
//   - A change that has returned stays in the timeline until Size newer ones follow, whatever
//     crashes.
//   - A page has no hole.
//   - A record is shown only if it is live and belongs to the owner.
type Ring[T any] struct{ ring *ring }

// Rings is a timeline for each value of a field, the owner of the record. A record may have several
// owners, such as its tags.
type Rings[T, V any] struct {
	core *core
	key  kvmodel.KeyOf[V]
}

// NewRings returns the timelines described by spec, one for each value of by, as an index of
// records.
func NewRings[T any, K comparable, V any](records *kvmodel.Records[T, K], spec Spec[T], by kvmodel.By[T, V]) *Rings[T, V] {
	c := newCore(spec.untyped(), ownersOf[T, V]{by})
	c.marks.several = by.Values != nil
	c.join(records, c, idTextOf(records))
	return &Rings[T, V]{c, by.Key}
}

// Of returns the timeline of one owner, or of several merged: by the time of each change, in
// milliseconds by the clock of its process, and then by owner. A record of several owners is shown
// once, at the last of these changes. Of takes no trip.
func (r *Rings[T, V]) Of(owners ...V) *Ring[T] {
	texts := kv.Texts(owners, r.key.Text)
	slices.Sort(texts)
	return &Ring[T]{r.core.ring(slices.Compact(texts)...)}
}

type ownersOf[T, V any] struct{ by kvmodel.By[T, V] }

func (o ownersOf[T, V]) Texts(rec plug.Record) []string { return o.by.Texts(rec.(*T)) }

func (o ownersOf[T, V]) Limit(rec plug.Record) error { return o.by.Limit(rec.(*T)) }

func (o ownersOf[T, V]) Has(rec plug.Record, text string) bool { return o.by.Has(rec.(*T), text) }

type ring struct {
	core  *core
	name  string // of the listing, for its cursors
	lanes []*lane
	err   error
}

var _ kvmodel.Lister[struct{}] = (*Ring[struct{}])(nil)

func (c *core) ring(owners ...string) *ring {
	r := &ring{core: c, name: c.host.Model() + "." + c.spec.Name + " " + strings.Join(owners, " "), lanes: c.lanesOf(owners...)}
	if n := len(r.lanes); n > MaxLanes {
		r.err = c.failure(fmt.Errorf("%w: a listing of %d rings, at most %d", kvmodel.ErrInvalid, n, MaxLanes))
	}
	return r
}

func (r *ring) hasNoOwner() bool { return len(r.lanes) == 0 }

func (r *ring) title() string { return r.core.host.Model() + "." + r.core.spec.Name }

// Page returns n records from cursor on, newest first. An empty cursor is the newest end. It skips
// records that a keep function rejects; after ten times n records, or seven trips for segments, it
// returns a short page with a Next. A page takes two trips, the first in a process three, the
// newest one if it is unchanged; to skip records takes at least one more.
//
// Next leads to older records and is empty at the end of the ring. Prev leads to newer ones and is
// empty on the newest page. Neither moves when other records are written. If a part of the ring is
// damaged, Page returns the readable records and an ErrCorrupt, until a Rebuild.
func (r *Ring[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	p, err := r.ring.pageAt(ctx, cursor, n, plug.Keeps(keep))
	return kvmodel.Listing[T]{Items: plug.AllAs[T](p.items), Next: r.ring.cursor(p.next), Prev: r.ring.cursor(p.prev)}, err
}

func (r *ring) pageAt(ctx context.Context, cursor string, n int, keep func(plug.Record) bool) (page, error) {
	ctx, end := r.core.host.Begin(ctx, "Page")
	defer end()
	if err := plug.CheckPage(r.title(), n); err != nil || r.hasNoOwner() {
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

type page struct {
	items      []plug.Record
	next, prev *position // nil: no more
	bottom     []cut     // below the page
	damage     error
}

func (r *ring) page(ctx context.Context, p position, n int, keep func(plug.Record) bool) (page, error) {
	if err := r.ready(ctx); err != nil {
		return page{}, err
	}
	s := r.core.db.Store()
	if p.cuts == nil {
		newest := r.core.ahead.Store(ctx, s, func() ahead.Look { return ahead.Look{Listing: r.name, N: n} })
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
	case on == nil && len(items) < n && keep == nil:
		// this is the newest page; a filtered one stays short
		return r.page(ctx, position{}, n, keep)
	}
	slices.Reverse(items)
	return page{items, back, on, start, r.core.failure(m.damage())}, nil
}

func (r *ring) ready(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	return r.core.host.Ready(ctx)
}

// All returns the records from the newest to the end of the ring, 100 in a trip or two. A record
// written meanwhile may come twice or not at all. All ends at an error; damage comes last.
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

func (r *ring) cursor(p *position) string {
	if p == nil {
		return ""
	}
	return plug.Cursor(r.name, p.encode())
}

func (r *ring) parse(cursor string) (position, error) {
	return parsePosition(r.name, cursor, len(r.lanes))
}
