package timeline_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type post struct {
	ID     int64
	Author string
	Draft  bool
}

type posts struct {
	*kvmodel.Records[post, int64]
	newest   *timeline.Ring[post]
	byAuthor *timeline.Rings[post, string]
}

func openPosts(t testing.TB, s kv.Store, shape timeline.Shape) *posts {
	r := kvmodel.NewRecords(openDB(t, s), kvmodel.Schema[post, int64]{
		Name: "Post", Version: 1,
		ID:    func(p *post) int64 { return p.ID },
		SetID: func(p *post, id int64) { p.ID = id },
		Key:   kvmodel.IntKey[int64](), Codec: asJSON[post]{}, Sequential: true,
	})
	spec := timeline.Spec[post]{
		Name: "Newest", Def: "timeline ID", Shape: shape,
		Value: func(*post) string { return "made" }, If: func(p *post) bool { return !p.Draft },
	}
	p := &posts{Records: r, newest: timeline.NewRing(r, spec)}
	spec.Name, spec.Def = "NewestByAuthor", "timeline ID by Author"
	p.byAuthor = timeline.NewRings(r, spec, by(func(p *post) string { return p.Author }))
	return p
}

// make creates n posts, by ann and bob in turn, and returns their ids, the highest first.
func (p *posts) make(t testing.TB, n int) []int64 {
	t.Helper()
	var ids []int64
	for i := range n {
		v := &post{Author: []string{"ann", "bob"}[i%2]}
		must(t, p.Create(ctx, v))
		ids = append(ids, v.ID)
	}
	slices.Reverse(ids)
	return ids
}

func (p *posts) all(ring *timeline.Ring[post]) kvmodel.Lister[post] {
	return timeline.WithArchive(ring,
		func(p *post) int64 { return p.ID },
		func(id int64) kvmodel.Lister[post] { return p.Before(id) },
	)
}

func postIDs(items []*post) []int64 {
	all := []int64{}
	for _, p := range items {
		all = append(all, p.ID)
	}
	return all
}

// through returns the ids on all pages of n, and the pages.
func through(t testing.TB, l kvmodel.Lister[post], n int, between ...func()) (all []int64, pages []kvmodel.Listing[post]) {
	t.Helper()
	pages = walk(t, l, n, between...)
	for _, page := range pages {
		all = append(all, postIDs(page.Items)...)
	}
	return all, pages
}

func TestWithArchive_GoesOnWhereTheRingEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		for _, made := range []int{0, 3, 12, 13, 100} {
			own, err := kv.Prefix(survivor{s}, fmt.Sprint("of", made))
			must(t, err)
			p := openPosts(t, own, timeline.Shape{Size: 12, Segment: 4})
			want := p.make(t, made)
			all, pages := through(t, p.all(p.newest), 5)
			proof.NoDiff(t, cmp.Diff(append([]int64{}, want...), append([]int64{}, all...)), "of %d", made)
			for i, page := range pages[:len(pages)-1] {
				proof.Equal(t, len(page.Items), 5, "of %d: page %d", made, i)
			}
		}
	})
}

// asked returns the mark that a full walk asks the archive below.
func asked[M timeline.Mark](t *testing.T, p *posts, mark func(id int64) M) M {
	t.Helper()
	var asked []M
	list := timeline.WithArchive(p.newest,
		func(p *post) M { return mark(p.ID) },
		func(m M) kvmodel.Lister[post] { asked = append(asked, m); return p.Before(0) },
	)
	through(t, list, 20)
	for _, m := range asked {
		proof.Equal(t, cmp.Diff(asked[0], m), "", "the archive is asked for below different marks")
	}
	return asked[0]
}

type day string

func TestWithArchive_BeginsAboveTheLastRecordsOfALongRingOrAtItsTop(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 150})
	highest := p.make(t, 400)[50]
	ahead := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	short := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12})
	short.make(t, 60)
	for _, d := range []string{
		cmp.Diff(int64(0), asked(t, short, func(id int64) int64 { return id })),
		cmp.Diff(day(""), asked(t, short, func(id int64) day { return day(fmt.Sprint(id)) })),
		cmp.Diff(9999, asked(t, short, func(id int64) time.Time { return time.Unix(id, 0) }).Year()),
		cmp.Diff(highest+1, asked(t, p, func(id int64) int64 { return id })),
		cmp.Diff(uint16(highest+1), asked(t, p, func(id int64) uint16 { return uint16(id) })),
		cmp.Diff(int64(0), asked(t, p, func(int64) int64 { return math.MaxInt64 })),
		cmp.Diff(uint8(0), asked(t, p, func(int64) uint8 { return math.MaxUint8 })),
		cmp.Diff(day("400\x00"), asked(t, p, func(id int64) day { return day(fmt.Sprint(400 - id%2)) })),
		cmp.Diff(ahead.Add(time.Millisecond), asked(t, p, func(id int64) time.Time { return ahead.Add(time.Duration(id % 10)) })),
	} {
		if d != "" {
			t.Errorf("mismatch (-want +got):\n%s", d)
		}
	}
}

// Only the times of their return show that others are younger.
func TestWithArchive_ByTimeGoesOnBelowHundredsThatHaveComeBack(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 150})
	p.make(t, 400)
	for id := int64(1); id <= 120; id++ {
		for _, draft := range []bool{true, false} {
			proof.Done(t)(p.Update(ctx, id, func(p *post) error { p.Draft = draft; return nil }))
		}
	}
	p.make(t, 30)
	list := timeline.WithArchive(p.newest,
		func(p *post) time.Time { return time.Unix(p.ID, 0) },
		func(t time.Time) kvmodel.Lister[post] {
			if t.Unix() > 430 {
				return p.Before(0)
			}
			return p.Before(t.Unix())
		},
	)
	all, _ := through(t, list, 20)
	if slices.Sort(all); len(slices.Compact(all)) != 430 {
		t.Errorf("it shows %d of 430", len(all))
	}
}

func TestWithArchive_TakesFewTripsWhereTheRingEndsAndOneMoreBelow(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 1000})
	made := p.make(t, 1200)
	list := p.all(p.newest)
	_, pages := through(t, list, 30)
	for at, most := range map[int]kv.Cost{33: {Trips: 10, Keys: 400}, 35: {Trips: 2, Keys: 100}} {
		mctx, m := kv.Metered(ctx)
		page, err := list.Page(mctx, pages[at-1].Next, 30) // the first has the last 10 of the ring
		must(t, err)
		proof.NoDiff(t, cmp.Diff(made[30*at:30*at+30], postIDs(page.Items)), "page %d", at)
		if c := m.Cost(); c.Trips > most.Trips || c.Keys > most.Keys {
			t.Errorf("page %d: %+v", at, c)
		}
	}
}

// A record that came back is at the top of the ring, and at its old place in the archive.
func TestWithArchive_ShowsEachLiveRecordOnceWhateverHasComeBack(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 1 + r.IntN(12), Segment: 1 + r.IntN(4)})
		p.make(t, r.IntN(30))
		made := p.make(t, 1)[0]
		drafts := map[int64]bool{}
		for range r.IntN(60) {
			if r.IntN(3) == 0 {
				made = p.make(t, 1)[0]
				continue
			}
			id := 1 + r.Int64N(made)
			drafts[id] = !drafts[id]
			proof.Done(t)(p.Update(ctx, id, func(p *post) error { p.Draft = drafts[id]; return nil }))
		}
		var want []int64
		for id := range made {
			if !drafts[id+1] {
				want = append(want, id+1)
			}
		}
		ring, _ := through(t, p.newest, 5)
		for _, n := range []int{1, 3, 10, 100} {
			all, pages := through(t, p.all(p.newest), n)
			proof.NoDiff(t, cmp.Diff(ring, all[:len(ring)]), "seed %d: the ring comes first", seed)
			if below := all[len(ring):]; !slices.IsSortedFunc(below, func(a, b int64) int { return int(b - a) }) {
				t.Errorf("seed %d: below the ring: %v", seed, below)
			}
			slices.Sort(all)
			proof.NoDiff(t, cmp.Diff(want, all), "seed %d: pages of %d", seed, n)
			back := map[int64]bool{}
			for cursor := pages[len(pages)-1].Prev; cursor != ""; {
				page, err := p.all(p.newest).Page(ctx, cursor, n)
				must(t, err)
				for _, id := range postIDs(page.Items) {
					back[id] = true
				}
				cursor = page.Prev
			}
			for _, page := range pages[:len(pages)-1] {
				for _, id := range postIDs(page.Items) {
					if !back[id] {
						t.Fatalf("seed %d: %d is not shown on the way back in pages of %d", seed, id, n)
					}
				}
			}
		}
	}
}

func TestWithArchive_OfSeveralRingsShowsWhatTheBusyOneHasForgotten(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 4, Segment: 2})
	want := p.make(t, 8)
	for range 20 {
		v := &post{Author: "ann"}
		must(t, p.Create(ctx, v))
		want = append(want, v.ID)
	}
	all, _ := through(t, p.all(p.byAuthor.Of("ann", "bob")), 5)
	slices.Sort(all)
	slices.Sort(want)
	proof.NoDiff(t, cmp.Diff(want, all), "mismatch")
}

// Others write between the pages, and the ring passes the reader.
func TestWithArchive_IsStableWhileTheRingMovesOn(t *testing.T) {
	for _, n := range []int{1, 5, 7} {
		p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
		want := p.make(t, 60)
		all, _ := through(t, p.all(p.newest), n, func() { p.make(t, 4) })
		proof.NoDiff(t, cmp.Diff(want, all), "pages of %d", n)
	}
}

func TestWithArchive_ShowsWhatBelongsInTheRingAndNothingElse(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
	made := p.make(t, 60)
	want := []int64{}
	for _, id := range made {
		switch {
		case id%10 == 1:
			must(t, p.Delete(ctx, id))
		case id%10 == 3:
			if _, err := p.Update(ctx, id, func(p *post) error { p.Draft = true; return nil }); err != nil {
				t.Fatal(err)
			}
		case id%2 == 1:
			want = append(want, id)
		}
	}
	all, pages := through(t, p.all(p.byAuthor.Of("ann")), 5)
	proof.NoDiff(t, cmp.Diff(want, all), "of one author")
	if _, err := p.Update(ctx, 3, func(p *post) error { p.Draft = false; return nil }); err != nil {
		t.Fatal(err)
	}
	all, _ = through(t, p.all(p.byAuthor.Of("ann")), 5)
	proof.NoDiff(t, cmp.Diff(append([]int64{3}, want...), all), "with one that has come back")
	even := func(p *post) bool { return p.ID%4 == 1 }
	l, err := p.all(p.byAuthor.Of("ann")).Page(ctx, pages[1].Next, 3, even)
	must(t, err)
	for _, p := range l.Items {
		if !even(p) {
			t.Errorf("%d is not to be kept", p.ID)
		}
	}
	proof.Equal(t, len(l.Items), 3, "a page of 3 that is filtered")
}

func TestWithArchive_RefusesBadCursorsAndSizes(t *testing.T) {
	p := openPosts(t, memkv.New(memkv.Options{}), timeline.Shape{Size: 12, Segment: 4})
	p.make(t, 30)
	list := p.all(p.newest)
	ring, err := p.newest.Page(ctx, "", 5)
	must(t, err)
	for name, test := range map[string]struct {
		cursor string
		n      int
		want   error
	}{
		"no records":        {"", 0, kvmodel.ErrInvalid},
		"no cursor":         {"x", 5, kvmodel.ErrBadCursor},
		"one of the ring":   {ring.Next, 5, kvmodel.ErrBadCursor},
		"only a position":   {plug.Cursor("Post.Newest  and on", []byte{'d', 1, 0}), 5, kvmodel.ErrBadCursor},
		"an unknown part":   {plug.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'x', 0, '1'}), 5, kvmodel.ErrBadCursor},
		"a cursor too long": {plug.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'r', 9, '1'}), 5, kvmodel.ErrBadCursor},
		"no mark":           {plug.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'r', 0}), 5, kvmodel.ErrBadCursor},
	} {
		if _, err := list.Page(ctx, test.cursor, test.n); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
