package timeline

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
)

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

// maxBatches is how many trips for records one page may take: more than one if
// entries were stale, or if keep leaves out many.
const maxBatches = 5

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
	f := &filling[T]{core: r.core, merge: m, keep: keep, deep: p.cuts != nil, loaded: make(map[string]*kvmodel.Seen[T])}
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

// open returns a merge of the ring's lanes that has read its beginning.
func (r *Ring[T]) open(ctx context.Context, up bool, from []cut, n int) (*merge, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.core.host.Ready(ctx); err != nil {
		return nil, err
	}
	m := newMerge(r.core.db.Store(), r.lanes, up, from, n)
	return m, r.core.failure(m.open(ctx))
}

// filling is the records of one page being found.
type filling[T any] struct {
	core   *core[T]
	merge  *merge
	keep   []func(*T) bool
	deep   bool                        // the page is not the newest
	loaded map[string]*kvmodel.Seen[T] // by id
	passed int                         // entries looked at
}

// fill returns the next n records. It moves the cuts past all it has looked at.
func (f *filling[T]) fill(ctx context.Context, n int) (found []*T, err error) {
	known := func(id string) bool { return f.loaded[id] != nil }
	for batch := 0; batch < maxBatches && len(found) < n; batch++ {
		items, err := f.merge.gather(ctx, f.ask(n-len(found), len(found)), known)
		if err != nil {
			return nil, err
		}
		if err := f.load(ctx, items); err != nil {
			return nil, err
		}
		found = append(found, f.pick(items, n-len(found))...)
		if len(items) == 0 {
			f.merge.skip()
			break
		}
	}
	if len(f.keep) == 0 && len(found) > 0 {
		f.merge.noteStale(10 * f.passed / len(found))
	}
	// What is known to be stale behind the page is no reason for another one.
	if items, _, _ := f.merge.upcoming(0, known); len(found) == n {
		f.passStale(items)
	}
	return found, nil
}

// ask returns how many records to look at for so many that are missing: at first
// just these, and then twice as many as it will take if it goes on as before, so
// that one trip more is enough. Far from the newest entries nothing tells that a
// record has a newer place, so there the last pages are gone by at first.
func (f *filling[T]) ask(missing, found int) int {
	ask := missing
	if len(f.loaded) > 0 {
		ask = 2 * missing * (len(f.loaded) + 1) / (found + 1)
	} else if stale := f.merge.stale(); f.deep && stale > 11 {
		ask = missing * stale * 3 / 20
	}
	return min(ask, missing+maxAsked)
}

// maxAsked bounds how many records a page looks at in one trip.
const maxAsked = 80

// load reads the records of items that are not known, in one trip.
func (f *filling[T]) load(ctx context.Context, items []item) error {
	var ids []string
	for _, it := range items {
		if id := string(it.body); f.loaded[id] == nil {
			f.loaded[id] = &kvmodel.Seen[T]{}
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	recs, err := f.core.host.See(ctx, f.core.db.Store(), ids...)
	for i, rec := range recs {
		f.loaded[ids[i]] = rec
	}
	return err
}

// pick returns the first n records whose places items are, and moves the cuts
// past what it has looked at.
func (f *filling[T]) pick(items []item, n int) []*T {
	var found []*T
	for _, it := range items {
		if len(found) == n {
			break
		}
		it.view.pass(it.entry)
		f.passed++
		if rec := f.loaded[string(it.body)]; f.stands(rec, it) && f.keeps(rec.Value) {
			found = append(found, rec.Value)
		}
	}
	return found
}

// passStale moves the cuts past those of items at the beginning that count for
// nothing.
func (f *filling[T]) passStale(items []item) {
	for _, it := range items {
		if f.stands(f.loaded[string(it.body)], it) {
			return
		}
		it.view.pass(it.entry)
	}
}

// stands tells whether rec stands at the place it.
func (f *filling[T]) stands(rec *kvmodel.Seen[T], it item) bool {
	l, stamp := f.core.stand(rec)
	return l != nil && stamp == it.stamp && l.base == it.view.base
}

func (f *filling[T]) keeps(rec *T) bool {
	for _, keep := range f.keep {
		if !keep(rec) {
			return false
		}
	}
	return true
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

// Head returns a text that is another one whenever there is a new entry among
// the newest, in one trip: an ETag for the newest page, as far as its records
// change their places only. It is a cursor as well: Page gives what is newer
// than the entries it stands for, and Since counts that.
func (r *Ring[T]) Head(ctx context.Context) (string, error) {
	m, err := r.open(ctx, false, nil, 1)
	if err != nil {
		return "", err
	}
	window := make([]cut, len(m.views))
	for i, v := range m.views {
		window[i] = cut{stamp: max(1, v.top-defaultSegment+1)}
	}
	entries, err := m.above(ctx, window)
	if err != nil {
		return "", r.core.failure(err)
	}
	sum := sha256.New()
	for _, e := range entries {
		sum.Write(e.encode(nil))
	}
	return r.cursor(place{up: true, cuts: m.newest(), mark: sum.Sum(nil)[:8]}), nil
}

// Since returns how many records are newer than the cursor, which is one of
// this ring's, such as a Head that was taken when somebody looked. They are
// counted by their entries, without asking whether each still stands there.
// One trip if they are few, and otherwise at most seven: then there are more
// than it returns.
func (r *Ring[T]) Since(ctx context.Context, cursor string) (int, error) {
	p, err := r.parse(cursor)
	if err != nil {
		return 0, err
	}
	m, err := r.open(ctx, false, nil, defaultSegment)
	if err != nil {
		return 0, err
	}
	entries, err := m.above(ctx, p.cuts)
	newer := make(map[string]bool)
	for _, e := range entries {
		newer[string(e.body)] = true
	}
	return len(newer), r.core.failure(err)
}

// InUse returns the lowest and the highest stamp that the ring shows, 0 if it
// is empty: how long it is, and how much has ever passed through it. The
// entries may be stale. Of several owners or shards it is those of the oldest
// and of the newest entry. Two trips.
func (r *Ring[T]) InUse(ctx context.Context) (first, last int64, err error) {
	oldest := make([]cut, len(r.lanes))
	for i := range oldest {
		oldest[i].stamp = 1
	}
	if last, err = r.end(ctx, false, nil); err == nil {
		first, err = r.end(ctx, true, oldest)
	}
	return first, last, err
}

// end returns the first stamp on the way from the cuts, 0 if there is none.
func (r *Ring[T]) end(ctx context.Context, up bool, from []cut) (int64, error) {
	m, err := r.open(ctx, up, from, 1)
	if err != nil {
		return 0, err
	}
	items, err := m.gather(ctx, 1, func(string) bool { return false })
	if err != nil || len(items) == 0 {
		return 0, r.core.failure(err)
	}
	return items[0].stamp, nil
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
