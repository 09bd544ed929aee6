package timeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

func TestRing_Page_IsFilledUpOverDeletedRecords(t *testing.T) {
	p := closing(t, openPages(plain{memkv.New(memkv.Options{})}, timeline.Shape{}))
	p.createMany(t, "p", 300)
	for i := 299; i >= 290; i-- {
		must(t, p.Delete(ctx, fmt.Sprint("p", i)))
	}
	if c := cost(t, readPage(20), p); c.Trips != 3 {
		t.Errorf("with ten of the twenty deleted: %v; want one trip more", c)
	}
	wantIDs(t, "ten deleted", names("p", 289, 270), listed(t, p.newest, "", 20).Items)
	for i := 289; i >= 240; i-- {
		must(t, p.Delete(ctx, fmt.Sprint("p", i)))
	}
	wantIDs(t, "sixty deleted", names("p", 239, 220), listed(t, p.newest, "", 20).Items)
	for i := 239; i >= 1; i-- {
		must(t, p.Delete(ctx, fmt.Sprint("p", i)))
	}
	wantWalk(t, "one left", []string{"p0"}, p.newest, 20)
	if n := len(walk(t, p.newest, 20)); n > 5 {
		t.Errorf("one left, in %d pages", n)
	}
}

func TestRing_Page_WithKeepIsFilledUpFromBelow(t *testing.T) {
	p := closing(t, openPages(plain{memkv.New(memkv.Options{})}, timeline.Shape{}))
	for i := range 400 {
		p.create(t, fmt.Sprint("p", i), []string{"ann", "bob", "cid", "dan"}[i%4], "text")
	}
	of := func(author string) func(*page) bool { return func(p *page) bool { return p.Author == author } }
	l, err := p.newest.Page(ctx, "", 10, of("ann"))
	must(t, err)
	want := []string{}
	for i := 396; i > 356; i -= 4 {
		want = append(want, fmt.Sprint("p", i))
	}
	wantIDs(t, "every fourth", want, l.Items)

	// a page of nothing is short, after ten times as many records
	rare := func(p *page) bool { return p.ID == "p7" }
	if c := cost(t, func(p *pages) error { _, err := p.newest.Page(ctx, "", 10, rare); return err }, p); c.Trips > 5+7 {
		t.Errorf("a page of nothing: %v", c)
	}
}

func TestRing_Page_GoesOnPastLostSegments(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	p := closing(t, openPages(plain{mem}, timeline.Shape{Size: 64, Segment: 4}))
	for i := range 60 {
		p.create(t, fmt.Sprint("p", i+1), "ann", "text")
	}
	for i := 8; i <= 15; i++ {
		mem.Evict(fmt.Sprint("t:Page:Newest:#s", i))
	}
	wantIDs(t, "past 29 missing entries", names("p", 31, 12), listed(t, p.newest, "", 20).Items)
	p.create(t, "new", "ann", "text")
	wantIDs(t, "with a new one", append([]string{"new"}, names("p", 31, 13)...), listed(t, p.newest, "", 20).Items)
}

type survivor struct{ kv.Store }

func (s survivor) Powers() kv.Powers { return kv.PowersOf(s.Store) }
func (survivor) Close() error        { return nil }

func TestRing_TheClockMayGoBackwards(t *testing.T) {
	c := newClock()
	p := closing(t, openPages(plain{memkv.New(memkv.Options{})}, timeline.Shape{}, kvmodel.Clock(c.now)))
	for i := range 10 {
		p.create(t, fmt.Sprint("p", i), "ann", "text")
		c.move(-time.Hour)
	}
	wantIDs(t, "while the clock goes back", names("p", 9, 0), listed(t, p.newest, "", 20).Items)
}

func TestRing_ACorruptSegmentIsAnErrorThatNamesItsKey(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	p := closing(t, openPages(plain{mem}, timeline.Shape{}))
	p.create(t, "a", "ann", "text")
	proof.Done(t)(kv.One(ctx, mem, kv.OpSet("t:Page:Newest:#s0", []byte{200})))
	_, err := p.newest.Page(ctx, "", 5)
	if !errors.Is(err, kvmodel.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "Page.Newest: t:Page:Newest:#s0") {
		t.Error(err)
	}
}

func TestRing_HeadShowsThatThereAreNewEntriesAndSinceCountsThem(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		p := closing(t, openPages(s, timeline.Shape{}))
		head := func() string {
			t.Helper()
			text, err := p.newest.Head(ctx)
			must(t, err)
			return text
		}
		since := func(cursor string, want int) {
			t.Helper()
			if n, err := p.newest.Since(ctx, cursor); n != want || err != nil {
				t.Errorf("since: %d, %v; want %d", n, err, want)
			}
		}
		empty := head()
		since(empty, 0)
		p.createMany(t, "p", 30)
		looked := head()
		if looked == empty || looked != head() {
			t.Error("the head is the same for no entries and 30, or changes without a new entry")
		}
		since(empty, 30)
		since(looked, 0)
		p.createMany(t, "q", 12)
		p.edit(t, "q0", func(p *page) { p.Body = "again" })
		since(looked, 12)
		since(listed(t, p.newest, "", 20).Next, 20)
		wantIDs(t, "what is newer", append([]string{"q0"}, names("q", 11, 1)...), listed(t, p.newest, looked, 12).Items)
		p.createMany(t, "r", 400)
		since(looked, 412)
		if c := cost(t, func(p *pages) error { _, err := p.newest.Head(ctx); return err }, p); c.Trips != 1 {
			t.Errorf("head: %v", c)
		}
		if c := cost(t, func(p *pages) error { _, err := p.newest.Since(ctx, head()); return err }, p); c.Trips != 2 {
			t.Errorf("a head and since: %v", c)
		}
	})
}

func TestRing_ShardsAreOneTimeline(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		clock := kvmodel.Clock(newClock().tick)
		p := closing(t, openSpec(s, timeline.Spec[page]{Shape: timeline.Shape{Size: 100}, Shards: 4}, clock))
		for i := range 200 {
			p.create(t, fmt.Sprint("p", i), []string{"ann", "bob"}[i%2], "text")
		}
		wantWalk(t, "all of four shards", names("p", 199, 0), p.newest, 20)
		if c := cost(t, readPage(20), p); c.Trips != 1 {
			t.Errorf("a page of four shards: %v", c)
		}
	})
}

func TestRings_Of_SeveralOwnersAreOneTimeline(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		clock := kvmodel.Clock(newClock().tick)
		p := closing(t, openPages(s, timeline.Shape{}, clock))
		for i := range 90 {
			p.create(t, fmt.Sprint("p", i), []string{"ann", "bob", "cid"}[i%3], "text")
		}
		want := []string{}
		for i := 89; i >= 0; i-- {
			if i%3 != 1 {
				want = append(want, fmt.Sprint("p", i))
			}
		}
		feed := p.byAuthor.Of("ann", "cid", "nobody")
		l := listed(t, feed, "", 20)
		wantIDs(t, "the newest of two", want[:20], l.Items)
		wantIDs(t, "and on", want[20:40], listed(t, p.byAuthor.Of("nobody", "cid", "ann", "ann"), l.Next, 20).Items)
		if c := cost(t, func(p *pages) error { _, err := feed.Page(ctx, "", 20); return err }, p); c.Trips != 1 {
			t.Errorf("a feed of three: %v", c)
		}
		var many []string
		for i := range timeline.MaxLanes + 1 {
			many = append(many, fmt.Sprint("a", i))
		}
		proof.Ends(t, kvmodel.ErrInvalid)(p.byAuthor.Of(many...).Page(ctx, "", 20))
	})
}

// Entries of a millisecond are ordered by owner, then by stamp, in both directions.
func TestRings_Of_TheSameMillisecondIsOrderedByOwner(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		stopped := kvmodel.Clock(func() time.Time { return time.Unix(1_800_000_000, 0) })
		p := closing(t, openPages(s, timeline.Shape{}, stopped))
		for i := range 9 {
			p.create(t, fmt.Sprint("p", i), []string{"ann", "bob", "cid"}[i%3], "text")
		}
		want := []string{"p6", "p3", "p0", "p7", "p4", "p1", "p8", "p5", "p2"}
		for _, n := range []int{2, 9} {
			wantWalk(t, fmt.Sprint("pages of ", n), want, p.byAuthor.Of("cid", "ann", "bob"), n)
		}
	})
}

func TestRing_TheSpaceOfARingIsConstant(t *testing.T) {
	for _, shape := range []timeline.Shape{{Size: 64, Segment: 8}, {Size: 64, Segment: 1}, {Size: 8, Segment: 2}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			eachStore(t, func(t *testing.T, s kv.Store) { constantSpace(t, s, shape) })
		})
	}
}

func constantSpace(t *testing.T, s kv.Store, shape timeline.Shape) {
	p := closing(t, openRing(survivor{s}, shape))
	p.create(t, "a", "ann", "text")
	after := map[int]int{}
	laps := proof.Size(30, 100)
	for lap := range laps {
		for i := range shape.Size {
			p.edit(t, "a", func(p *page) { p.Body = fmt.Sprint(lap, "-", i) })
		}
		must(t, p.db.Flush(ctx))
		after[lap] = ringSize(t, s, shape)
	}
	most := 0
	for lap := 5; lap < 10; lap++ {
		most = max(most, after[lap])
	}
	least := after[laps-1]
	for lap := laps - 5; lap < laps-1; lap++ {
		least = min(least, after[lap]) // on a busy machine a trim may wait for the next lap
	}
	if least > most*5/4 {
		t.Errorf("%d bytes after %d laps, at most %d after 5 to 10", least, laps, most)
	}
}

func ringSize(t *testing.T, s kv.Store, shape timeline.Shape) int {
	size := 0
	for i := range 2*shape.Size + 2 {
		key := fmt.Sprint("t:Page:Newest:#s", i)
		if r, err := kv.One(ctx, s, kv.OpGet(key)); err == nil {
			size += len(r.Value)
		}
	}
	if size == 0 {
		t.Fatal("the ring has no segments under the names this test knows")
	}
	return size
}

func TestWiring_OfAnImpossibleSpecPanicsAndSaysWhy(t *testing.T) {
	feet := func(keep int, ttl time.Duration) func() {
		return func() {
			spec := visitSpec(timeline.Appended, keep, false)
			spec.TTL = ttl
			timeline.NewEvents(openDB(t, memkv.New(memkv.Options{})), spec)
		}
	}
	ring := func(spec timeline.Spec[page]) func() {
		return func() { openSpec(memkv.New(memkv.Options{}), spec) }
	}
	for name, test := range map[string]struct {
		wire func()
		want string
	}{
		"a negative ring":     {ring(timeline.Spec[page]{Shape: timeline.Shape{Size: -1}}), "a ring of -1 slots"},
		"a negative segment":  {ring(timeline.Spec[page]{Shape: timeline.Shape{Size: 9, Segment: -2}}), "9 slots by -2"},
		"too many shards":     {ring(timeline.Spec[page]{Shards: timeline.MaxLanes + 1}), "65 shards; there can be 64"},
		"events kept -1":      {feet(-1, 0), "events of Visit: keep -1"},
		"events for too long": {feet(5, 1<<62), "events of Visit: keep 5 for"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				proof.Contains(t, fmt.Sprint(recover()), test.want)
			}()
			test.wire()
		})
	}
}

func TestRing_TheZeroShapeIsARingOfTheDefaultSize(t *testing.T) {
	p := closing(t, openRing(plain{memkv.New(memkv.Options{})}, timeline.Shape{}))
	p.create(t, "first", "ann", "text")
	p.create(t, "p", "ann", "text")
	for i := range timeline.DefaultSize - 2 {
		p.edit(t, "p", func(p *page) { p.Body = fmt.Sprint(i) })
	}
	wantIDs(t, "as many entries as slots", []string{"p", "first"}, listed(t, p.newest, "", 9).Items)
	p.edit(t, "p", func(p *page) { p.Body = "one more" })
	wantIDs(t, "one entry more", []string{"p"}, listed(t, p.newest, "", 9).Items)
}
