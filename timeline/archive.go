package timeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// WithArchive returns a listing that begins as ring and goes on in an archive where
// the ring ends. The archive is a listing of all records, such as Records.Before of a
// model whose ids are given in order, or a ranking by time.
//
// mark returns where a record stands in the archive. archive returns the archive from
// about a mark on: that of the last record shown, or the zero M if the ring shows
// none. The archive may begin with records that the ring has shown, or hold records
// that never belonged in the ring; these are left out. If the orders of the two
// differ, let it begin a little above the mark.
//
//	all := timeline.WithArchive(m.Stories.Newest,
//		func(s *Story) int64 { return s.ID },
//		func(id int64) kvmodel.Lister[Story] { return m.Stories.Before(id + 9) })
//
// What it keeps true: the records of the ring come first, and after them those that
// the ring has forgotten; no record is in both. The page on which the ring ends is
// filled up from the archive. A page of the archive costs one trip more than a page
// of the listing that archive returns.
func WithArchive[T, M any](ring *Ring[T], mark func(*T) M, archive func(M) kvmodel.Lister[T]) kvmodel.Lister[T] {
	return &archived[T, M]{ring.ring, mark, archive}
}

// archived is a ring with an archive.
type archived[T, M any] struct {
	ring    *ring
	mark    func(*T) M
	archive func(M) kvmodel.Lister[T]
}

// A stop is what a cursor of an archived ring stands for: a position in the ring, or
// a position in the archive of what is below that one.
type stop[M any] struct {
	position
	part   part
	inner  string // the archive's own cursor
	oldest M      // the mark of the last record shown
}

type part byte

const (
	inRing    part = 'r'
	inArchive part = 'a'
	goingBack part = 'b' // in the archive, toward the ring
)

// Page returns n records, newest first, from the position that cursor stands for.
func (a *archived[T, M]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	ctx, end := a.ring.core.host.Begin(ctx, "Page")
	defer end()
	var none kvmodel.Listing[T]
	if err := kvmodel.CheckPage(a.name(), n); err != nil || a.ring.isEmpty() {
		return none, err
	}
	at := stop[M]{part: inRing}
	if cursor != "" {
		var err error
		if at, err = a.parse(cursor); err != nil {
			return none, err
		}
	}
	switch at.part {
	case inRing:
		return a.young(ctx, at, n, keep)
	case inArchive:
		return a.old(ctx, at, n, keep)
	}
	return a.back(ctx, at, n, keep)
}

// young returns a page that begins in the ring.
func (a *archived[T, M]) young(ctx context.Context, at stop[M], n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	f, err := a.ring.page(ctx, at.position, n, plug.Keeps(keep))
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	l := kvmodel.Listing[T]{Items: plug.AllAs[T](f.items)}
	if len(l.Items) > 0 {
		at.oldest = a.mark(l.Items[len(l.Items)-1])
	}
	if f.prev != nil {
		l.Prev = a.cursor(stop[M]{position: *f.prev, part: inRing, oldest: at.oldest})
	}
	if f.next != nil {
		l.Next = a.cursor(stop[M]{position: *f.next, part: inRing, oldest: at.oldest})
		return l, f.damage
	}
	rest := stop[M]{position: position{cuts: f.bottom}, part: inArchive, oldest: at.oldest}
	if len(f.items) == n {
		l.Next = a.cursor(rest)
		return l, f.damage
	}
	older, err := a.old(ctx, rest, n-len(f.items), keep)
	l.Items, l.Next = append(l.Items, older.Items...), older.Next
	return l, cmp.Or(err, f.damage)
}

// old returns a page of the archive, filled up where records of the ring were left
// out.
func (a *archived[T, M]) old(ctx context.Context, at stop[M], n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	var l kvmodel.Listing[T]
	for batch := 0; batch < maxBatches && len(l.Items) < n; batch++ {
		items, inner, err := a.read(ctx, at, n-len(l.Items), keep)
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
	}
	l.Next = a.cursor(at)
	return l, nil
}

// back returns the page of the archive before one that was shown. It is short where
// the ring ends.
func (a *archived[T, M]) back(ctx context.Context, at stop[M], n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	var l kvmodel.Listing[T]
	for batch := 0; batch < maxBatches && len(l.Items) < n && at.part == goingBack; batch++ {
		items, inner, err := a.read(ctx, at, n-len(l.Items), keep)
		if err != nil {
			return kvmodel.Listing[T]{}, err
		}
		if batch == 0 && inner.Next != "" {
			l.Next = a.cursor(stop[M]{at.position, inArchive, inner.Next, at.oldest})
		}
		l.Items = a.above(items, l.Items)
		at = at.before(inner.Prev)
	}
	if at.part == inRing && len(l.Items) == 0 {
		return a.young(ctx, at, n, keep)
	}
	l.Prev = a.cursor(at)
	return l, nil
}

// above returns items followed by below, each once. A listing may repeat some items,
// since it begins a short page at its top.
func (a *archived[T, M]) above(items, below []*T) []*T {
	for _, rec := range below {
		again := func(other *T) bool { return a.ring.core.idText(other) == a.ring.core.idText(rec) }
		if !slices.ContainsFunc(items, again) {
			items = append(items, rec)
		}
	}
	return items
}

// before returns the stop before a page of the archive whose own cursor to it is
// inner. At the archive's beginning that is the end of the ring.
func (at stop[M]) before(inner string) stop[M] {
	if at.part, at.inner = goingBack, inner; inner == "" {
		at.part, at.up = inRing, true
	}
	return at
}

// read returns a page of the archive and, as items, those of its records that the
// ring has forgotten.
func (a *archived[T, M]) read(ctx context.Context, at stop[M], n int, keep []func(*T) bool) (items []*T, inner kvmodel.Listing[T], err error) {
	if inner, err = a.archive(at.oldest).Page(ctx, at.inner, n, keep...); err != nil || len(inner.Items) == 0 {
		return nil, inner, err
	}
	c := a.ring.core
	seen, err := c.host.See(ctx, c.db.Store(), kv.Texts(inner.Items, func(v *T) string { return c.idText(v) })...)
	if err != nil {
		return nil, inner, c.failure(err)
	}
	for i, rec := range seen {
		if a.ring.hasBelow(at.cuts, rec) {
			items = append(items, inner.Items[i])
		}
	}
	return items, inner, nil
}

// hasBelow reports whether rec belongs in the ring and stands below the cuts, wherever it
// stands.
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

// cursor encodes at as a position in the ring whose mark is what the archive needs:
// the part, the archive's cursor as a text, and the mark in JSON.
func (a *archived[T, M]) cursor(at stop[M]) string {
	rest := wire.AppendText([]byte{byte(at.part)}, at.inner)
	// A mark is a number, a text or a time, which JSON can encode.
	mark, _ := json.Marshal(at.oldest)
	at.position.mark = append(rest, mark...)
	return kvmodel.Cursor(a.name(), at.position.encode())
}

func (a *archived[T, M]) parse(cursor string) (at stop[M], err error) {
	if at.position, err = parsePosition(a.name(), cursor, len(a.ring.lanes)); err != nil {
		return at, err
	}
	r := wire.Reader{Rest: at.position.mark}
	at.part, at.inner = part(r.Byte()), r.Text("cursor")
	if at.part != inRing && at.part != inArchive && at.part != goingBack || json.Unmarshal(r.Rest, &at.oldest) != nil {
		return at, fmt.Errorf("%s: %w: a position of another form", a.name(), kvmodel.ErrBadCursor)
	}
	return at, nil
}
