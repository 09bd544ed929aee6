package timeline_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// history is what releases with rings of several shapes have written, in order.
type history struct {
	*testing.T
	made []string // ids, the newest first
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

// shows fails unless p shows the newest n records, or all if there are fewer, in the
// timeline of all and in that of the author.
func (h *history) shows(what string, p *pages, n int) {
	h.Helper()
	for _, ring := range []*timeline.Ring[page]{p.newest, p.byAuthor.Of("ann")} {
		wantIDs(h, what, h.made[:min(n, len(h.made))], listed(h, ring, "", n).Items)
	}
}

// A reshaping is a ring whose shape a release has changed.
type reshaping struct {
	old, new timeline.Shape
	shards   int
	alone    bool // a process holds the store alone
}

func (r reshaping) store(m *memkv.Store) kv.Store {
	if r.alone {
		return survivor{m}
	}
	return plain{m}
}

func (r reshaping) oldRelease(m *memkv.Store) *pages {
	return openSpec(r.store(m), timeline.Spec[page]{Shape: r.old, Shards: r.shards})
}

func (r reshaping) newRelease(m *memkv.Store) *pages {
	return openSpec(r.store(m), timeline.Spec[page]{Shape: r.new, Before: []timeline.Shape{r.old}, Shards: r.shards})
}

// smaller is how many records both releases show.
func (r reshaping) smaller() int { return min(r.old.Size, r.new.Size) }

// reshapings are the changes of shape that there are.
var reshapings = map[string]reshaping{
	"a longer ring":           {old: timeline.Shape{Size: 20, Segment: 4}, new: timeline.Shape{Size: 48, Segment: 4}},
	"a shorter ring":          {old: timeline.Shape{Size: 48, Segment: 4}, new: timeline.Shape{Size: 20, Segment: 4}},
	"more entries to a key":   {old: timeline.Shape{Size: 24, Segment: 1}, new: timeline.Shape{Size: 24, Segment: 8}},
	"fewer entries to a key":  {old: timeline.Shape{Size: 24, Segment: 8}, new: timeline.Shape{Size: 24, Segment: 1}},
	"a longer ring in shards": {old: timeline.Shape{Size: 20, Segment: 4}, new: timeline.Shape{Size: 48, Segment: 8}, shards: 3},
}

// eachReshaping runs f with a clock that moves when nothing else does.
func eachReshaping(t *testing.T, f func(h *history, r reshaping, m *memkv.Store)) {
	for name, r := range reshapings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(&history{t, []string{}}, r, memkv.New(memkv.Options{})) })
		})
	}
}

func TestReleases_BothShowWhatTheOtherHasWrittenInAnotherShape(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		n := r.smaller()
		old := r.oldRelease(m)
		h.writes(old, 30)
		next := r.newRelease(m)
		h.shows("the new release, before it has written", next, n)
		for range 5 {
			h.writes(next, 11)
			h.shows("the old release", old, n)
			h.shows("the new release", next, n)
			h.writes(old, 7)
			h.shows("the old release, after its own", old, n)
			h.shows("the new release, after the old one's", next, n)
		}
		old.close(h)
		next.close(h)
	})
}

// While a new shape is on its way no reader, of whichever release, misses an entry.
func TestReleases_NoReaderMissesAnEntryWhileANewShapeIsOnItsWay(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		n := r.smaller()
		old := r.oldRelease(m)
		h.writes(old, 25)
		var rarely []*pages // each looks every 14 seconds
		for range 13 {
			rarely = append(rarely, r.oldRelease(m))
			h.shows("who reads rarely", rarely[len(rarely)-1], n)
			h.writes(old, 1)
		}
		next := r.newRelease(m)
		for i := range 60 {
			h.writes(next, 1)
			h.shows("the old release", old, n)
			h.shows("who reads rarely", rarely[i%len(rarely)], n)
			h.shows("the new release", next, n)
		}
		for _, p := range append(rarely, old, next) {
			p.close(h)
		}
	})
}

// A process that is rolled back, and knows of nothing that came after its release, shows
// what newer ones have written, and they show what it writes.
func TestReleases_RollingBackAndForthHidesNothing(t *testing.T) { eachReshaping(t, rollBackAndForth) }

func TestReleases_RollingBackAndForthHidesNothingInAStoreHeldAlone(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		r.alone = true
		rollBackAndForth(h, r, m)
	})
}

func rollBackAndForth(h *history, r reshaping, m *memkv.Store) {
	n := r.smaller()
	for range 3 {
		for _, open := range []func(*memkv.Store) *pages{r.oldRelease, r.newRelease} {
			p := open(m)
			h.shows("at first", p, n)
			h.writes(p, 12)
			h.shows("after its first changes", p, n)
			time.Sleep(time.Minute)
			h.writes(p, 30)
			h.shows("after a minute", p, n)
			p.close(h)
		}
	}
	old := r.oldRelease(m)
	must(h, old.Rebuild(ctx))
	h.shows("the old release, after its rebuild", old, n)
	h.writes(old, 5)
	old.close(h)
	next := r.newRelease(m)
	h.shows("the new release, after the old one's rebuild", next, n)
	next.close(h)
}

// Once kvgen -accept has forgotten a shape, a rebuild puts its entries into the new one.
func TestReleases_ARebuildForgetsAShapeThatTheReleaseDoesNotKnow(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		old := r.oldRelease(m)
		h.writes(old, 40)
		accepted := reshaping{old: r.new, new: r.new, shards: r.shards}.oldRelease(m)
		h.writes(old, 10)
		h.writes(accepted, 3)
		time.Sleep(time.Minute)
		h.writes(accepted, 2)
		must(h, accepted.Rebuild(ctx))
		h.shows("the new release", accepted, r.smaller())
		time.Sleep(time.Minute)
		h.shows("the new release, later", accepted, r.smaller())
		h.shows("the old release, later", old, r.smaller())
		if r.new.Size >= r.old.Size && strings.Contains(builtItem(h, m), " ") {
			t.Errorf("the built item still names two shapes: %q", builtItem(h, m))
		}
		old.close(h)
		accepted.close(h)
	})
}

// A process that writes other models, and so ticks, looks at the shapes of this one before
// it writes it again.
func TestReleases_WhoWritesOtherModelsForgetsAShapeInTime(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		old := r.oldRelease(m)
		schema := pageSchema
		schema.Name = "Other"
		others := kvmodel.NewRecords(old.db, schema)
		h.writes(old, 40)
		accepted := reshaping{old: r.new, new: r.new, shards: r.shards}.oldRelease(m)
		h.writes(accepted, 3)
		writing := make(chan struct{})
		go func() {
			defer close(writing)
			for i := range 100 {
				must(t, others.Create(ctx, &page{ID: fmt.Sprint(i)}))
				time.Sleep(time.Second)
			}
		}()
		time.Sleep(time.Minute)
		h.writes(accepted, 2)
		must(h, accepted.Rebuild(ctx))
		time.Sleep(time.Second / 2)
		h.writes(old, 3)
		h.shows("the new release", accepted, r.smaller())
		<-writing
		h.shows("the new release, later", accepted, r.smaller())
		old.close(h)
		accepted.close(h)
	})
}

// builtItem returns the shapes that the built item of pages names for Newest.
func builtItem(t testing.TB, m *memkv.Store) string {
	t.Helper()
	r, err := kv.One(ctx, m, kv.OpGet("built:Page"))
	must(t, err)
	for in := (wire.Reader{Rest: r.Value}); len(in.Rest) > 0; {
		if shapes, ok := strings.CutPrefix(in.Text("index"), "~Newest "); ok {
			return shapes
		}
	}
	t.Error("the built item names no shapes")
	return ""
}

func TestReleases_WhoMayNotWriteReadsNewShapesToo(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		old := openSpec(plain{m}, timeline.Spec[page]{Shape: r.old, Shards: r.shards}, kvmodel.ReadOnly())
		next := openSpec(plain{m}, timeline.Spec[page]{Shape: r.new, Before: []timeline.Shape{r.old}, Shards: r.shards}, kvmodel.ReadOnly())
		for _, p := range []*pages{r.oldRelease(m), r.newRelease(m)} {
			for range 6 {
				h.writes(p, 9)
				h.shows("the old release", old, r.smaller())
				h.shows("the new release", next, r.smaller())
			}
			p.close(h)
		}
		old.close(h)
		next.close(h)
	})
}

// What a process of the new release leaves half done is finished by one of the old, where
// both show it.
func TestReleases_TheOldOneRepairsWhatTheNewOneLeaves(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		store, off, noEntries := faulty(m)
		next := openSpec(store, timeline.Spec[page]{Shape: r.new, Before: []timeline.Shape{r.old}, Shards: r.shards}, quiet)
		h.writes(next, 40)
		noEntries.Store(true)
		h.writes(next, 1)
		off.Store(true)
		old := r.oldRelease(m)
		time.Sleep(2 * time.Minute)
		again := r.newRelease(m)
		h.shows("the new release", again, r.smaller())
		h.shows("the old release", old, r.smaller())
		again.close(h)
		old.close(h)
		off.Store(false)
		noEntries.Store(false)
		next.close(h)
	})
}

// A ring is as long as the longest that a release has asked for, whichever has written.
func TestReleases_ALongerRingIsFilledByTheOldReleaseToo(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		old, next := r.oldRelease(m), r.newRelease(m)
		h.writes(old, 5)
		h.writes(next, 60)
		h.writes(old, 60)
		h.shows("the old release", old, r.old.Size)
		h.shows("the new release", next, r.new.Size)
		old.close(h)
		next.close(h)
	})
}

func TestReleases_ThreeShapesAreReadAsOneRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, m := &history{t, []string{}}, memkv.New(memkv.Options{})
		var all []*pages
		var before []timeline.Shape
		for _, shape := range []timeline.Shape{{Size: 40, Segment: 4}, {Size: 40, Segment: 5}, {Size: 60, Segment: 3}} {
			all = append(all, openSpec(plain{m}, timeline.Spec[page]{Shape: shape, Before: slices.Clone(before)}))
			before = slices.Insert(before, 0, shape)
			for range 7 {
				h.writes(all[len(all)-1], 7)
				for i, p := range all {
					h.shows(fmt.Sprint("release ", i), p, 40)
				}
			}
		}
		for _, p := range all {
			p.close(h)
		}
	})
}

func TestReleases_ARebuildFillsALongerRing(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		old := r.oldRelease(m)
		h.writes(old, 70)
		next := r.newRelease(m)
		must(h, next.Rebuild(ctx))
		h.shows("the new release", next, r.new.Size)
		h.shows("the old release", old, r.old.Size)
		h.writes(old, 5)
		h.shows("the new release, later", next, r.new.Size)
		old.close(h)
		next.close(h)
	})
}

// faulty is the store of a process that may be cut off from all of it, or from the segments
// of rings.
func faulty(m *memkv.Store) (s kv.Store, off, noEntries *atomic.Bool) {
	off, noEntries = new(atomic.Bool), new(atomic.Bool)
	return &broken{Store: plain{m}, refuses: func(op kv.Op) bool {
		return off.Load() || noEntries.Load() && strings.HasPrefix(op.Key, "t:") && op.Kind != kv.Increment
	}}, off, noEntries
}

// A process that sleeps while the shape changes shows what was written, or writes where
// others see it, as soon as it wakes.
func TestReleases_WhoHasSleptIsInStepWithANewShape(t *testing.T) {
	eachReshaping(t, func(h *history, r reshaping, m *memkv.Store) {
		n := r.smaller()
		store, off, _ := faulty(m)
		old := openSpec(store, timeline.Spec[page]{Shape: r.old, Shards: r.shards}, quiet)
		h.writes(old, 25)
		h.shows("before", old, n)
		off.Store(true)
		next := r.newRelease(m)
		h.writes(next, 60)
		off.Store(false)
		h.shows("who has slept", old, n)
		h.writes(old, 3)
		h.shows("the new release", next, n)
		h.shows("who has slept, after its changes", old, n)
		old.close(h)
		next.close(h)
	})
}
