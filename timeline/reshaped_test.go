package timeline_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// history is the records written by releases with rings of several shapes.
type history struct {
	*testing.T
	made []string // newest first
}

// writes lets p make n records, one a second.
func (h *history) writes(p *pages, n int) {
	h.Helper()
	for range n {
		id := fmt.Sprint("p", len(h.made))
		p.create(h, id, "ann", "text")
		h.made = slices.Insert(h.made, 0, id)
		time.Sleep(time.Second)
	}
}

func (h *history) shows(what string, p *pages, n int) {
	h.Helper()
	for _, ring := range []*timeline.Ring[page]{p.newest, p.byAuthor.Of("ann")} {
		wantIDs(h, what, h.made[:min(n, len(h.made))], listed(h, ring, "", n).Items)
		shown := 0
		for _, err := range ring.All(ctx) {
			must(h, err)
			shown++
		}
		if n := filled(h, ring); n != shown {
			h.Errorf("%s: the pictures have %d records, want %d", what, n, shown)
		}
	}
}

func (h *history) refuses(what string, p *pages) {
	h.Helper()
	for _, ring := range []*timeline.Ring[page]{p.newest, p.byAuthor.Of("ann")} {
		if _, err := ring.Page(ctx, "", 10); !errors.Is(err, kvmodel.ErrNeedsRebuild) || !strings.Contains(fmt.Sprint(err), "run db build, or call Rebuild") {
			h.Errorf("%s: a page returned %v, want an ErrNeedsRebuild that says how", what, err)
		}
	}
}

// opens opens a release. It is closed at the latest at the end: its ticks would keep the clock of a
// failed test going.
func (h *history) opens(s kv.Store, size, segment, shards int) *pages {
	p := openSpec(s, timeline.Spec[page]{Shape: timeline.Shape{Size: size, Segment: segment}, Shards: shards})
	h.Cleanup(func() { _ = p.db.Close(ctx) })
	return p
}

func eachWorld(t *testing.T, f func(h *history, m *memkv.Store, s kv.Store)) {
	for name, wrap := range map[string]func(*memkv.Store) kv.Store{
		"shared": func(m *memkv.Store) kv.Store { return plain{m} },
		"alone":  func(m *memkv.Store) kv.Store { return survivor{m} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memkv.New(memkv.Options{})
				f(&history{t, []string{}}, m, wrap(m))
			})
		})
	}
}

func TestRing_SizeBelowTheSamePowerOfTwo_ShowsMoreOrLessOfTheSameEntries(t *testing.T) {
	eachWorld(t, func(h *history, _ *memkv.Store, s kv.Store) {
		first := h.opens(s, 40, 0, 1)
		h.writes(first, 80)
		for _, size := range []int{33, 64, 50, 64} {
			p := h.opens(s, size, 0, 1)
			h.shows(fmt.Sprint("a ring of ", size), p, size)
			if all := listed(h, p.newest, "", 100); len(all.Items) > size {
				h.Errorf("a ring of %d shows %d records", size, len(all.Items))
			}
			h.writes(p, 3)
			h.shows(fmt.Sprint("a ring of ", size, ", later"), p, size)
			h.shows("the first release", first, 40)
			p.close(h)
		}
		first.close(h)
	})
}

// size, segment and shards
var reshapings = map[string][2][3]int{
	"a longer ring":           {{20, 4, 1}, {48, 4, 1}},
	"a shorter ring":          {{48, 4, 1}, {20, 4, 1}},
	"more entries to a key":   {{24, 1, 1}, {24, 8, 1}},
	"fewer entries to a key":  {{24, 8, 1}, {24, 1, 1}},
	"a longer ring in shards": {{20, 4, 3}, {48, 8, 3}},
}

func TestRing_AnotherShape_NeedsARebuildWhichAStoreHeldAloneBeginsByItself(t *testing.T) {
	for name, r := range reshapings {
		for _, local := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", alone ", local), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, mem := &history{t, []string{}}, memkv.New(memkv.Options{Local: local})
					s := map[bool]kv.Store{false: plain{mem}, true: survivor{mem}}[local]
					for i := range 4 {
						p := h.opens(s, r[i%2][0], r[i%2][1], r[i%2][2])
						if i > 0 && !local {
							h.refuses("at first", p)
							h.writes(p, 3)
							h.refuses("after some changes", p)
							must(h, p.Rebuild(ctx))
						}
						h.shows("at first, or after a rebuild", p, r[i%2][0])
						h.writes(p, 90)
						h.shows("later", p, r[i%2][0])
						p.close(h)
					}
				})
			})
		}
	}
}

func TestRing_TwoShapesSideBySide_ShowAllOrNeedARebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := &history{t, []string{}}, plain{memkv.New(memkv.Options{})}
		old := h.opens(s, 20, 4, 1)
		h.writes(old, 30)
		h.shows("the old release, alone", old, 20)
		next := h.opens(s, 48, 4, 1)
		for range 5 {
			h.writes(next, 11)
			h.refuses("the new release", next)
			h.writes(old, 7)
			h.refuses("the old release", old)
		}
		old.close(h)
		must(h, next.Rebuild(ctx))
		h.shows("the new release, alone", next, 48)
		next.close(h)
	})
}

func TestRing_Purge_LeavesNothingInWhatALongerRingHasLeft(t *testing.T) {
	eachWorld(t, func(h *history, m *memkv.Store, s kv.Store) {
		long := h.opens(s, 512, 2, 1)
		h.writes(long, 300)
		long.close(h)
		short := h.opens(s, 8, 2, 1)
		must(h, short.Rebuild(ctx))
		for _, id := range []string{"p100", "p255", "p298"} {
			must(h, short.Delete(ctx, id))
			must(h, short.db.Flush(ctx))
			must(h, short.Purge(ctx, id))
			for i := range 257 {
				key := fmt.Sprint("t:Page:Newest:#s", i)
				if r, err := kv.One(ctx, m, kv.OpGet(key)); err == nil && strings.Contains(string(r.Value), id) {
					h.Errorf("%s still holds %s", key, id)
				}
			}
		}
		short.close(h)
	})
}

// Even if nothing else has to be cut off.
func TestRing_AnotherShape_LeavesTheSegmentsAsTheyAreTrimmed(t *testing.T) {
	eachWorld(t, func(h *history, m *memkv.Store, s kv.Store) {
		first := h.opens(s, 16, 16, 1)
		first.createMany(h, "first", 40)
		first.close(h)
		p := h.opens(s, 64, 4, 1)
		must(h, p.Rebuild(ctx))
		h.writes(p, 200)
		must(h, p.db.Flush(ctx))
		for i := range 17 {
			r, err := kv.One(ctx, m, kv.OpGet(fmt.Sprint("t:Page:Newest:#s", i)))
			must(h, err)
			if strings.Contains(string(r.Value), "first") {
				h.Errorf("segment %d still holds an entry of the first shape", i)
			}
		}
		h.shows("the new ring", p, 64)
		p.close(h)
	})
}
