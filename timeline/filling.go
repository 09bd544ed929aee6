package timeline

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type filling struct {
	core   *core
	merge  *merge
	keep   func(plug.Record) bool // nil: all
	deep   bool                   // the page is not the newest
	bare   bool                   // counters of records are not needed
	loaded map[string]*plug.Seen  // by id
	passed int                    // entries examined
	put    int64                  // latest entry of a found record, in ms
}

func newFilling(c *core, m *merge) *filling {
	return &filling{core: c, merge: m}
}

// fill returns the next n records, or fewer once it has loaded 10 n: see [plug.Ask].
func (f *filling) fill(ctx context.Context, n int) (found []plug.Record, err error) {
	known := func(id string) bool { return f.loaded[id] != nil }
	for ask := f.first(n); ask > 0; ask = plug.Ask(n, len(found), len(f.loaded)) {
		items, err := f.merge.gather(ctx, ask, known)
		if err != nil {
			return nil, err
		}
		if err := f.load(ctx, items); err != nil {
			return nil, err
		}
		found = f.pick(found, items, n)
		if len(items) == 0 {
			f.merge.skip()
			break
		}
	}
	if f.keep == nil && len(found) > 0 {
		f.merge.learnStale(10 * f.passed / len(found))
	}
	// stale entries at the end alone must not cause another page
	if items, _, _ := f.merge.upcoming(0, known); len(found) == n {
		f.passStale(items)
	}
	return found, nil
}

// first returns how many records a page of n reads in its first trip. Far from the newest entries,
// a newer entry does not show that another is stale, so there it uses the rate of recent pages.
func (f *filling) first(n int) int {
	if stale := f.merge.stale(); f.deep && stale > 11 {
		return min(n*stale*3/20, 4*n)
	}
	return n
}

// A purged id has no record.
func (f *filling) load(ctx context.Context, items []item) error {
	if f.loaded == nil {
		f.loaded = make(map[string]*plug.Seen, len(items))
	}
	ids := make([]string, 0, len(items))
	var nobody plug.Seen
	for _, it := range items {
		if id := it.what; f.loaded[id] == nil {
			f.loaded[id] = &nobody
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	s := ahead.Then(f.merge.store)
	if !f.deep {
		s = kv.Near(s)
	}
	see := f.core.host.SeeMarks
	if f.bare {
		see = f.core.host.SeeBare
	}
	recs, err := see(ctx, s, ids...)
	for i, rec := range recs {
		f.loaded[ids[i]] = rec
	}
	return err
}

func (f *filling) pick(found []plug.Record, items []item, n int) []plug.Record {
	found = slices.Grow(found, min(len(items), n-len(found)))
	for _, it := range items {
		if len(found) == n {
			break
		}
		it.reader.pass(it)
		f.passed++
		if f.stands(it) && (f.keep == nil || f.keep(f.loaded[it.what].Value)) {
			found = append(found, f.loaded[it.what].Value)
			f.put = max(f.put, it.at)
		}
	}
	return found
}

func (f *filling) passStale(items []item) {
	for _, it := range items {
		if f.stands(it) {
			return
		}
		it.reader.pass(it)
	}
}

// stands reports whether the record of it has its stamp.
func (f *filling) stands(it item) bool {
	rec := f.loaded[it.what]
	m := f.core.marks.of(rec.Mark, it.reader.owner)
	return m.stamp == it.stamp && f.core.belongs(rec, it.reader.laneName) && (!f.core.marks.several || f.isFirst(it, m.at, rec))
}

// isFirst reports whether it, made at a time, is the last change of rec in the page's rings.
func (f *filling) isFirst(it item, at int64, rec *plug.Seen) bool {
	passed := false
	for _, r := range f.merge.readers {
		if r == it.reader {
			passed = true
			continue
		}
		m := f.core.marks.of(rec.Mark, r.owner)
		if m.stamp < r.oldest() || m.stamp == 0 || !f.core.belongs(rec, r.laneName) {
			continue
		}
		if m.at > at || m.at == at && !passed {
			return false
		}
	}
	return true
}
