package timeline

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxBatches bounds the trips for records that a page may take. It takes more than
// one if entries are stale or keep leaves out many records.
const maxBatches = 5

// filling is a page that is being filled with records.
type filling struct {
	core   *core
	merge  *merge
	keep   func(plug.Record) bool // nil: all
	deep   bool                   // the page is not the newest
	bare   bool                   // nobody looks at the counters of the records
	loaded map[string]*plug.Seen  // by id
	passed int                    // how many entries it has looked at
	put    int64                  // when the last of the records it has found was put there, in Unix milliseconds
}

func newFilling(c *core, m *merge) *filling {
	return &filling{core: c, merge: m}
}

// fill returns the next n records. It moves the cuts past all entries it has looked
// at.
func (f *filling) fill(ctx context.Context, n int) (found []plug.Record, err error) {
	known := func(id string) bool { return f.loaded[id] != nil }
	for batch := 0; batch < maxBatches && len(found) < n; batch++ {
		items, err := f.merge.gather(ctx, f.ask(n-len(found), len(found)), known)
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
		f.merge.noteStale(10 * f.passed / len(found))
	}
	// Entries after the page that are known to be stale are no reason for another
	// page.
	if items, _, _ := f.merge.upcoming(0, known); len(found) == n {
		f.passStale(items)
	}
	return found, nil
}

// ask returns how many records to look at to find those that are missing. At first
// these are just the missing ones, and then twice as many as the page takes at its
// rate so far, plus a few, so that one more trip is enough. Far from the newest
// entries nothing shows that a record has a newer entry, so there the first guess
// goes by the last pages.
func (f *filling) ask(missing, found int) int {
	ask := missing
	if len(f.loaded) > 0 {
		ask = 2*missing*(len(f.loaded)+1)/(found+1) + 4
	} else if stale := f.merge.stale(); f.deep && stale > 11 {
		ask = missing * stale * 3 / 20
	}
	return min(ask, missing+maxAsked)
}

// maxAsked bounds how many records a page looks at in one trip.
const maxAsked = 80

// load reads, in one trip, the records of items that are not known. An id that was purged
// has none.
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

// pick appends records that stand where items do to found until there are n, and moves
// the cuts past the items it has looked at.
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

// passStale moves the cuts past the stale items at the beginning.
func (f *filling) passStale(items []item) {
	for _, it := range items {
		if f.stands(it) {
			return
		}
		it.reader.pass(it)
	}
}

// stands reports whether its record, which was loaded, stands where it does: it is not
// stale.
func (f *filling) stands(it item) bool {
	rec := f.loaded[it.what]
	m := f.core.markOf(rec.Mark, it.reader.owner)
	return m.stamp == it.stamp && f.core.belongs(rec, it.reader.laneName) && (!f.core.several || f.isFirst(it, m.at, rec))
}

// isFirst reports whether it, made at a time, is where the page shows rec, though several
// of its rings may: where the last change has put it, of those that have not forgotten it.
func (f *filling) isFirst(it item, at int64, rec *plug.Seen) bool {
	passed := false
	for _, r := range f.merge.readers {
		if r == it.reader {
			passed = true
			continue
		}
		m := f.core.markOf(rec.Mark, r.owner)
		if m.stamp < r.oldest() || m.stamp == 0 || !f.core.belongs(rec, r.laneName) {
			continue
		}
		if m.at > at || m.at == at && !passed {
			return false
		}
	}
	return true
}
