package timeline

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// WithArchive returns a listing that begins with ring and continues in an archive: a listing of all
// records, the highest mark first, such as a ranking by time, or Records.Before of a model with
// ascending ids. mark returns the position of a record in it. archive returns the listing below a
// mark, exclusive; from its top below a time far in the future, or otherwise the zero M.
//
//	all := timeline.WithArchive(m.Stories.Newest,
//		func(s *Story) time.Time { return s.Made },
//		func(t time.Time) kvmodel.Lister[Story] { return m.Stories.Archive.Between(time.Time{}, t) })
//
// The records of the ring come first, then those that left it at its end, each once. The archive
// begins at the highest mark of the last hundred records of the ring, or their latest time in it,
// or at the top if a ring has fewer. A record is missing only if its mark is above these: with
// times, if clocks differ or marks are later than the change; with numbers and texts, after a
// hundred consecutive records that were added again or created at the same time.
//
// The first page of the archive takes up to ten trips more, any other one more than the archive's.
func WithArchive[T any, M Mark](ring *Ring[T], mark func(*T) M, archive func(M) kvmodel.Lister[T]) kvmodel.Lister[T] {
	return &archived[T, M]{ring.ring, mark, archive}
}

type archived[T any, M Mark] struct {
	ring    *ring
	mark    func(*T) M
	archive func(M) kvmodel.Lister[T]
}

// A stop is the position of a cursor.
type stop[M Mark] struct {
	position
	part  part
	inner string // the archive's own cursor
	below M      // where the archive begins
}

type part byte

const (
	inRing    part = 'r'
	inArchive part = 'a'
	goingBack part = 'b' // in the archive, toward the ring
)

// Page returns n records, newest first, from cursor on. It skips records that a keep function
// rejects; after ten times n records it returns a short page with a Next.
func (a *archived[T, M]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	ctx, end := a.ring.core.host.Begin(ctx, "Page")
	defer end()
	none := kvmodel.Listing[T]{Items: []*T{}}
	if err := plug.CheckPage(a.ring.title(), n); err != nil || a.ring.hasNoOwner() {
		return none, err
	}
	at := stop[M]{part: inRing}
	if cursor != "" {
		var err error
		if at, err = a.parse(cursor); err != nil {
			return none, err
		}
	}
	f := newFilter(keep, n)
	switch at.part {
	case inRing:
		return a.young(ctx, at, n, f)
	case inArchive:
		return a.old(ctx, at, n, f)
	}
	return a.back(ctx, at, n, f)
}

// filter holds the keep functions of a page of n records. They see at most 10 n records.
type filter[T any] struct {
	keep []func(*T) bool
	left int
}

func newFilter[T any](keep []func(*T) bool, n int) *filter[T] {
	f := &filter[T]{left: 10 * n}
	if len(keep) > 0 {
		f.keep = []func(*T) bool{func(v *T) bool { f.left--; return plug.Kept(v, keep) }}
	}
	return f
}

func (f *filter[T]) size(missing, size int) int {
	if f.keep == nil {
		return size
	}
	return min(missing, f.left/10)
}

func (a *archived[T, M]) young(ctx context.Context, at stop[M], n int, f *filter[T]) (kvmodel.Listing[T], error) {
	p, err := a.ring.page(ctx, at.position, n, plug.Keeps(f.keep))
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	l := kvmodel.Listing[T]{Items: plug.AllAs[T](p.items)}
	if p.prev != nil {
		l.Prev = a.cursor(stop[M]{position: *p.prev, part: inRing})
	}
	if p.next != nil {
		l.Next = a.cursor(stop[M]{position: *p.next, part: inRing})
		return l, p.damage
	}
	rest := stop[M]{position: position{cuts: p.bottom}, part: inArchive}
	if len(p.items) == n {
		l.Next = a.cursor(rest)
		return l, p.damage
	}
	older, err := a.old(ctx, rest, n-len(p.items), f)
	l.Items, l.Next = append(l.Items, older.Items...), older.Next
	return l, cmp.Or(err, p.damage)
}

func (a *archived[T, M]) old(ctx context.Context, at stop[M], n int, f *filter[T]) (kvmodel.Listing[T], error) {
	l := kvmodel.Listing[T]{Items: []*T{}}
	size := n
	if at.inner == "" {
		var err error
		if at.below, err = a.beginning(ctx, at.cuts); err != nil {
			return l, err
		}
		size += a.ring.atSeam() // the archive may begin with these
	}
	for batch := 0; batch < archiveTries && len(l.Items) < n; batch++ {
		missing := n - len(l.Items)
		if size = f.size(missing, size); size == 0 {
			break
		}
		items, inner, err := a.read(ctx, at, missing, size, f.keep)
		if err != nil {
			return kvmodel.Listing[T]{}, err
		}
		if batch == 0 {
			l.Prev = a.cursor(at.before(inner.Prev))
		}
		l.Items = append(l.Items, items...)
		if at.inner = inner.Next; at.inner == "" {
			return l, nil
		}
		size *= 4
	}
	l.Next = a.cursor(at)
	return l, nil
}

func (a *archived[T, M]) back(ctx context.Context, at stop[M], n int, f *filter[T]) (kvmodel.Listing[T], error) {
	l := kvmodel.Listing[T]{Items: []*T{}}
	size := n
	for batch := 0; batch < archiveTries && len(l.Items) < n && at.part == goingBack; batch++ {
		missing := n - len(l.Items)
		if size = f.size(missing, size); size == 0 {
			break
		}
		items, inner, err := a.read(ctx, at, missing, size, f.keep)
		if err != nil {
			return kvmodel.Listing[T]{}, err
		}
		if batch == 0 && inner.Next != "" {
			l.Next = a.cursor(stop[M]{at.position, inArchive, inner.Next, at.below})
		}
		l.Items = a.joined(items, l.Items)
		at = at.before(inner.Prev)
		size *= 4
	}
	if at.part == inRing && len(l.Items) == 0 {
		return a.young(ctx, at, n, f)
	}
	l.Prev = a.cursor(at)
	return l, nil
}

func (a *archived[T, M]) joined(items, below []*T) []*T {
	for _, rec := range below {
		again := func(other *T) bool { return a.ring.core.idText(other) == a.ring.core.idText(rec) }
		if !slices.ContainsFunc(items, again) {
			items = append(items, rec)
		}
	}
	return items
}

func (at stop[M]) before(inner string) stop[M] {
	if at.part, at.inner = goingBack, inner; inner == "" {
		at.part, at.up = inRing, true
	}
	return at
}

// read reads up to size records of the archive, and returns up to n that are no longer in the ring.
func (a *archived[T, M]) read(ctx context.Context, at stop[M], n, size int, keep []func(*T) bool) (items []*T, inner kvmodel.Listing[T], err error) {
	c := a.ring.core
	for size = min(size, kvmodel.MaxPage); ; {
		inner, err = a.archive(at.below).Page(ctx, at.inner, size, keep...)
		if err != nil || len(inner.Items) == 0 {
			return nil, inner, err
		}
		seen, err := c.host.See(ctx, c.db.Store(), kv.Texts(inner.Items, func(v *T) string { return c.idText(v) })...)
		if err != nil {
			return nil, inner, c.failure(err)
		}
		items = nil
		for i, rec := range seen {
			if a.ring.hasBelow(at.cuts, rec) {
				items = append(items, inner.Items[i])
			}
		}
		if len(items) <= n {
			return items, inner, nil
		}
		// a cursor cannot point into a page, so read a shorter one
		if size = 1 + slices.Index(inner.Items, items[n-1]); at.part == goingBack {
			size = len(inner.Items) - slices.Index(inner.Items, items[len(items)-n])
		}
	}
}

const archiveTries = 5

// seam is how many records at the end of a ring decide where its archive begins.
const seam = 100

func (r *ring) atSeam() int { return int(min(seam, r.lanes[0].shape.shown*int64(len(r.lanes)))) }

func (a *archived[T, M]) beginning(ctx context.Context, cuts []cut) (below M, err error) {
	each := (seam + len(cuts) - 1) / len(cuts)
	pages, err := a.ring.justAbove(ctx, cuts, each)
	if err != nil {
		return below, err
	}
	var marks []M
	for _, p := range pages {
		if len(p.items) < each {
			return highestMark[M](), nil
		}
		for _, v := range plug.AllAs[T](p.items) {
			marks = append(marks, a.mark(v))
		}
		if put, ok := any(time.UnixMilli(p.put)).(M); ok {
			marks = append(marks, put)
		}
	}
	return nextMark(slices.MaxFunc(marks, compareMarks)), nil
}

type seamRecords struct {
	items []plug.Record
	put   int64 // when the last of them was put there, in Unix milliseconds
}

// justAbove returns up to n records above the cut of each lane, or its last ones.
func (r *ring) justAbove(ctx context.Context, cuts []cut, n int) ([]seamRecords, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	found := make([]seamRecords, len(r.lanes))
	errs := kv.Each(ctx, r.core.db.Store(), r.lanes, func(s kv.Store, i int, l *lane) (err error) {
		m := newMerge(s, []*lane{l}, true, cuts[i:i+1], n)
		if err := m.open(ctx); err != nil {
			return err
		}
		f := newFilling(r.core, m)
		f.deep = true
		found[i].items, err = f.fill(ctx, n)
		found[i].put = f.put
		return err
	})
	return found, r.core.failure(cmp.Or(errs...))
}

// hasBelow reports whether rec belongs in the ring, below all its cuts.
func (r *ring) hasBelow(cuts []cut, rec *plug.Seen) bool {
	below := false
	for i, own := range r.lanes {
		if st, ok := r.core.standingIn(rec, own.laneName); ok {
			if below = cuts[i].isOver(entry{stamp: st.stamp, body: []byte(rec.ID)}); !below {
				return false
			}
		}
	}
	return below
}

func (a *archived[T, M]) name() string { return a.ring.name + " and on" }

func (a *archived[T, M]) cursor(at stop[M]) string {
	rest := wire.AppendText([]byte{byte(at.part)}, at.inner)
	// marks are numbers, texts and times, so this cannot fail
	mark, _ := json.Marshal(at.below)
	at.position.mark = append(rest, mark...)
	return plug.Cursor(a.name(), at.position.encode())
}

func (a *archived[T, M]) parse(cursor string) (at stop[M], err error) {
	if at.position, err = parsePosition(a.name(), cursor, len(a.ring.lanes)); err != nil {
		return at, err
	}
	r := wire.Reader{Rest: at.position.mark}
	at.part, at.inner = part(r.Byte()), r.Text("cursor")
	if at.part != inRing && at.part != inArchive && at.part != goingBack || json.Unmarshal(r.Rest, &at.below) != nil {
		return at, otherForm(a.name())
	}
	return at, nil
}

// Mark is the position of a record in an archive: a time, a number or a text.
type Mark interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~string | time.Time
}

var farAhead = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func highestMark[M Mark]() (m M) {
	if t, ok := any(&m).(*time.Time); ok {
		*t = farAhead
	}
	return m
}

func compareMarks[M Mark](a, b M) int {
	if a, ok := any(a).(time.Time); ok {
		return a.Compare(any(b).(time.Time))
	}
	switch a, b := reflect.ValueOf(a), reflect.ValueOf(b); {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	default:
		return cmp.Compare(a.String(), b.String())
	}
}

// nextMark returns the lowest mark above m, or highestMark.
func nextMark[M Mark](m M) M {
	if t, ok := any(&m).(*time.Time); ok {
		*t = t.Truncate(time.Millisecond).Add(time.Millisecond)
		return m
	}
	switch next := reflect.ValueOf(&m).Elem(); {
	case next.CanInt():
		if next.SetInt(next.Int() + 1); next.Int() == -1<<(next.Type().Bits()-1) {
			return highestMark[M]()
		}
	case next.CanUint():
		next.SetUint(next.Uint() + 1)
	default:
		next.SetString(next.String() + "\x00")
	}
	return m
}
