package timeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
)

// Head returns a text that changes with each new entry: an ETag for the newest page, if all visible
// changes move a record. It is also a cursor: Page returns the records newer than the head, and
// Since counts them. One trip.
func (r *Ring[T]) Head(ctx context.Context) (string, error) { return r.ring.head(ctx) }

func (r *ring) head(ctx context.Context) (string, error) {
	ctx, end := r.core.host.Begin(ctx, "Head")
	defer end()
	if r.hasNoOwner() {
		return "", nil
	}
	m, err := r.openAhead(ctx, func(int, *reader) int64 { return defaultSegment })
	if err != nil {
		return "", err
	}
	window := make([]cut, len(m.readers))
	for i := range window {
		window[i] = cut{stamp: max(1, m.readers[i].top-defaultSegment+1)}
	}
	items, err := m.above(ctx, window)
	if err != nil {
		return "", r.core.failure(err)
	}
	if err := m.damage(); err != nil {
		return "", r.core.failure(err)
	}
	sum := sha256.New()
	for _, it := range items {
		sum.Write(it.encode(nil))
	}
	return r.cursor(&position{up: true, cuts: m.newest(), mark: sum.Sum(nil)[:8]}), nil
}

// Since returns the number of records above a cursor of this ring, such as the Head at a visitor's
// last visit, among the newest 512 entries. One trip if there are none; otherwise up to seven, and
// one for the records.
func (r *Ring[T]) Since(ctx context.Context, cursor string) (int, error) {
	return r.ring.since(ctx, cursor)
}

func (r *ring) since(ctx context.Context, cursor string) (int, error) {
	ctx, end := r.core.host.Begin(ctx, "Since")
	defer end()
	if r.hasNoOwner() {
		return 0, nil
	}
	p, err := r.parse(cursor)
	if err != nil {
		return 0, err
	}
	ctx, cancel := r.core.db.Patient(ctx)
	defer cancel()
	m, err := r.openAhead(ctx, func(i int, known *reader) int64 {
		return min(max(known.knowledge.top()-p.cuts[i].stamp, 0), max(4*defaultSegment/int64(len(r.lanes)), defaultSegment))
	})
	if err != nil {
		return 0, err
	}
	items, err := m.above(ctx, p.cuts)
	if err != nil {
		return 0, r.core.failure(err)
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.at, a.at) })
	items = items[:min(len(items), recordsAtOnce)]
	f := newFilling(r.core, m)
	if err := f.load(ctx, items); err != nil {
		return 0, r.core.failure(err)
	}
	n := 0
	for _, it := range items {
		if f.stands(it) {
			n++
		}
	}
	return n, r.core.failure(m.damage())
}

// InUse returns the lowest and the highest stamp that the ring shows, stale ones too, or 0. With
// several owners or shards, they are the stamps of the oldest and the newest entry. Two trips.
func (r *Ring[T]) InUse(ctx context.Context) (first, last int64, err error) { return r.ring.inUse(ctx) }

func (r *ring) inUse(ctx context.Context) (first, last int64, err error) {
	ctx, end := r.core.host.Begin(ctx, "InUse")
	defer end()
	if r.hasNoOwner() {
		return 0, 0, nil
	}
	oldest := make([]cut, len(r.lanes))
	for i := range oldest {
		oldest[i].stamp = 1
	}
	if last, err = r.endOf(ctx, false, nil); err == nil {
		first, err = r.endOf(ctx, true, oldest)
	}
	return first, last, err
}

func (r *ring) endOf(ctx context.Context, up bool, from []cut) (int64, error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	m := newMerge(r.core.db.Store(), r.lanes, up, from, 1)
	if err := m.open(ctx); err != nil {
		return 0, r.core.failure(err)
	}
	items, err := m.gather(ctx, 1, func(string) bool { return false })
	if err = cmp.Or(err, m.damage()); err != nil || len(items) == 0 {
		return 0, r.core.failure(err)
	}
	return items[0].stamp, nil
}

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
