package timeline

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
)

// Spec says what a timeline of records of type T is about. kvgen writes it from
// a tag.
type Spec[T any] struct {
	Name string // Newest: unique in the model, part of the timeline's keys
	Def  string // the definition; when it changes, the timeline must be rebuilt

	// Value tells what moves a record to the newest place: a change of this
	// text, for which Text is the usual means. A record whose text is empty is
	// not in the timeline.
	Value func(*T) string
	If    func(*T) bool // which records the timeline holds; nil: all

	Shape  Shape
	Before []Shape // what Shape was in earlier releases, the last first: entries in them are still read
	Shards int     // rings that the records are spread over, for many writers at once; 0: 1
}

// MaxLanes is the number of rings that one listing can merge: owners times
// shards.
const MaxLanes = 64

// NewRing returns the timeline that spec describes and plugs it into records.
func NewRing[T any, K comparable](records *kvmodel.Records[T, K], spec Spec[T]) *Ring[T] {
	c := newCore(spec, func(*T) (string, bool) { return "", true })
	c.plug(records.Plug(unowned[T]{c}), idTextOf(records))
	return c.ring("")
}

// Ring is a timeline of records, newest first: the newest Size of its numbers.
// A record stands where its last write that changed the value put it, once.
//
// What it keeps true: a change that has returned is in the timeline until Size
// newer ones have come, whatever crashes; a page has no hole; a record is shown
// only if it is live, at its newest place, and belongs to the owner.
type Ring[T any] struct {
	core  *core[T]
	name  string // of the listing, for its cursors
	lanes []*lane
	err   error // why it cannot be read
}

var _ kvmodel.Lister[struct{}] = (*Ring[struct{}])(nil)

// ring returns the timeline of owners.
func (c *core[T]) ring(owners ...string) *Ring[T] {
	r := &Ring[T]{core: c, name: c.host.Model() + "." + c.spec.Name + " " + strings.Join(owners, " ")}
	for _, owner := range owners {
		r.lanes = append(r.lanes, c.lanes(owner)...)
	}
	if n := len(r.lanes); n == 0 || n > MaxLanes {
		r.err = c.failure(fmt.Errorf("%w: a listing of %d rings; it can merge 1 to %d", kvmodel.ErrInvalid, n, MaxLanes))
	}
	return r
}

// Page returns n records from the cursor on, newest first, or from the newest
// if it is empty. Two trips, three the first time in a process; one more where
// records were deleted or left out, but at most five for records and seven for
// segments: then the page is short, and Next goes on.
//
// Next leads to older records and is empty at the end of the ring; what the
// ring has forgotten is not behind it. Prev leads to newer ones and is empty on
// the newest page. Both stay where they are when others are written.
func (r *Ring[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	var none kvmodel.Listing[T]
	if n < 1 {
		return none, r.core.failure(fmt.Errorf("%w: a page of %d", kvmodel.ErrInvalid, n))
	}
	var p place
	if cursor != "" {
		var err error
		if p, err = r.parse(cursor); err != nil {
			return none, err
		}
	}
	f, err := r.leaf(ctx, p, n, keep)
	if err != nil {
		return none, err
	}
	return kvmodel.Listing[T]{Items: f.items, Next: r.cursorTo(f.next), Prev: r.cursorTo(f.prev)}, nil
}

// A leaf is one page of a ring, and the places around it.
type leaf[T any] struct {
	items      []*T
	next, prev *place // nil: there is nothing that way
	bottom     []cut  // below the leaf
}

// leaf returns the n records from p on.
func (r *Ring[T]) leaf(ctx context.Context, p place, n int, keep []func(*T) bool) (leaf[T], error) {
	m, err := r.open(ctx, p.up, p.cuts, n)
	if err != nil {
		return leaf[T]{}, err
	}
	start := m.cuts()
	f := newFilling(r.core, m)
	f.keep, f.deep = keep, p.cuts != nil
	items, err := f.fill(ctx, n)
	if err != nil {
		return leaf[T]{}, r.core.failure(err)
	}
	var back, on *place
	if p.cuts != nil {
		back = &place{up: !p.up, cuts: start}
	}
	if !m.ended() {
		on = &place{up: p.up, cuts: m.cuts()}
	}
	switch {
	case !p.up:
		return leaf[T]{items, on, back, m.cuts()}, nil
	case on == nil && len(items) < n:
		// Fewer than a page are newer: then it is the newest page.
		return r.leaf(ctx, place{}, n, keep)
	}
	slices.Reverse(items)
	return leaf[T]{items, back, on, start}, nil
}

// ready returns nil if the ring can be read.
func (r *Ring[T]) ready(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	return r.core.host.Ready(ctx)
}

// open returns a merge of the ring's lanes that has read its beginning.
func (r *Ring[T]) open(ctx context.Context, up bool, from []cut, n int) (*merge, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	m := newMerge(r.core.db.Store(), r.lanes, up, from, n)
	return m, r.core.failure(m.open(ctx))
}

// All returns the records from the newest on to the end of the ring, 100 a
// trip or two. One that is written meanwhile may come twice or not at all.
// After an error it ends.
func (r *Ring[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor := ""; ; {
			l, err := r.Page(ctx, cursor, 100)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rec := range l.Items {
				if !yield(rec, nil) {
					return
				}
			}
			if cursor = l.Next; cursor == "" {
				return
			}
		}
	}
}

func (r *Ring[T]) cursor(p place) string { return kvmodel.Cursor(r.name, p.encode()) }

// cursorTo returns the cursor of p, an empty one if there is no such place.
func (r *Ring[T]) cursorTo(p *place) string {
	if p == nil {
		return ""
	}
	return r.cursor(*p)
}

func (r *Ring[T]) parse(cursor string) (place, error) {
	b, err := kvmodel.ParseCursor(r.name, cursor)
	if err != nil {
		return place{}, err
	}
	p, err := decodePlace(b, len(r.lanes))
	if err != nil {
		return p, fmt.Errorf("%s: %w", r.name, err)
	}
	return p, nil
}
