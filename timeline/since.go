package timeline

import (
	"context"
	"crypto/sha256"
)

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
