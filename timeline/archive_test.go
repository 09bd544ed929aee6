package timeline_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// post is a record whose ids are given in order.
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
	p.byAuthor = timeline.NewRings(r, spec, kvmodel.By[post, string]{Key: kvmodel.StringKey[string](), Value: func(p *post) string { return p.Author }})
	return p
}

// make creates n posts, those of ann and bob by turns, and returns their ids,
// the highest first.
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

// all returns ring with its archive.
func (p *posts) all(ring *timeline.Ring[post]) kvmodel.Lister[post] {
	return timeline.WithArchive(ring,
		func(p *post) int64 { return p.ID },
		func(id int64) kvmodel.Lister[post] { return p.Before(id + 9) },
	)
}

func postIDs(items []*post) []int64 {
	all := []int64{}
	for _, p := range items {
		all = append(all, p.ID)
	}
	return all
}

// through returns the ids on all pages of n, and the pages. It calls f between pages.
func through(t testing.TB, l kvmodel.Lister[post], n int, f func()) (all []int64, pages []kvmodel.Listing[post]) {
	t.Helper()
	for cursor := "?"; cursor != ""; f() {
		page, err := l.Page(ctx, strings.TrimPrefix(cursor, "?"), n)
		must(t, err)
		all, pages, cursor = append(all, postIDs(page.Items)...), append(pages, page), page.Next
		if len(pages) > 1000 {
			t.Fatal("the pages do not end")
		}
	}
	return all, pages
}

func nothing() {}

func TestWithArchive_GoesOnWhereTheRingEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		for _, made := range []int{0, 3, 12, 13, 100} {
			own, err := kv.Prefix(survivor{s}, fmt.Sprint("of", made))
			must(t, err)
			p := openPosts(t, own, timeline.Shape{Size: 12, Segment: 4})
			want := p.make(t, made)
			all, pages := through(t, p.all(p.newest), 5, nothing)
			if d := cmp.Diff(append([]int64{}, want...), append([]int64{}, all...)); d != "" {
				t.Errorf("of %d: mismatch (-want +got):\n%s", made, d)
			}
			for i, page := range pages[:len(pages)-1] {
				if len(page.Items) != 5 {
					t.Errorf("of %d: page %d has %d", made, i, len(page.Items))
				}
			}
		}
	})
}

func TestWithArchive_LeadsBackOverTheSeam(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
	want := p.make(t, 60)
	list := p.all(p.newest)
	_, pages := through(t, list, 5, nothing)
	var back []int64
	cursor := pages[len(pages)-1].Prev
	for cursor != "" {
		page, err := list.Page(ctx, cursor, 5)
		must(t, err)
		ids := postIDs(page.Items)
		if !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) || len(ids) == 0 {
			t.Errorf("a page on the way back: %v", ids)
		}
		back, cursor = append(back, ids...), page.Prev
	}
	// A page that would be short at the top begins there, so some ids come twice.
	if missing := slices.DeleteFunc(want[:55], func(id int64) bool { return slices.Contains(back, id) }); len(missing) > 0 {
		t.Errorf("on the way back %v are not shown, only %v", missing, back)
	}
}

// It could begin further up, but that would only read again what was shown.
func TestWithArchive_AsksForTheArchiveBelowTheLastRecordShown(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
	made := p.make(t, 60)
	var asked []int64
	list := timeline.WithArchive(p.newest,
		func(p *post) int64 { return p.ID },
		func(id int64) kvmodel.Lister[post] { asked = append(asked, id); return p.Before(id) },
	)
	all, _ := through(t, list, 20, nothing)
	if d := cmp.Diff(made, all); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
	last := made[11]
	if d := cmp.Diff([]int64{last, last, last}, asked[:3]); d != "" {
		t.Errorf("where the archive is asked for: mismatch (-want +got):\n%s", d)
	}
}

// While one process reads page after page, others write, and the ring passes the
// reader.
func TestWithArchive_IsStableWhileTheRingMovesOn(t *testing.T) {
	for _, n := range []int{1, 5, 7} {
		p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
		want := p.make(t, 60)
		all, _ := through(t, p.all(p.newest), n, func() { p.make(t, 4) })
		if d := cmp.Diff(want, all); d != "" {
			t.Errorf("pages of %d: mismatch (-want +got):\n%s", n, d)
		}
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
	all, pages := through(t, p.all(p.byAuthor.Of("ann")), 5, nothing)
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("of one author: mismatch (-want +got):\n%s", d)
	}
	// A post that comes back goes to the top, and is not in the archive as well.
	if _, err := p.Update(ctx, 3, func(p *post) error { p.Draft = false; return nil }); err != nil {
		t.Fatal(err)
	}
	all, _ = through(t, p.all(p.byAuthor.Of("ann")), 5, nothing)
	if d := cmp.Diff(append([]int64{3}, want...), all); d != "" {
		t.Errorf("with one that has come back: mismatch (-want +got):\n%s", d)
	}
	even := func(p *post) bool { return p.ID%4 == 1 }
	l, err := p.all(p.byAuthor.Of("ann")).Page(ctx, pages[2].Next, 3, even)
	must(t, err)
	for _, p := range l.Items {
		if !even(p) {
			t.Errorf("%d is not to be kept", p.ID)
		}
	}
	if len(l.Items) != 3 {
		t.Errorf("a page of 3 that is filtered has %d", len(l.Items))
	}
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
		"only a position":   {kvmodel.Cursor("Post.Newest  and on", []byte{'d', 1, 0}), 5, kvmodel.ErrBadCursor},
		"an unknown part":   {kvmodel.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'x', 0, '1'}), 5, kvmodel.ErrBadCursor},
		"a cursor too long": {kvmodel.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'r', 9, '1'}), 5, kvmodel.ErrBadCursor},
		"no mark":           {kvmodel.Cursor("Post.Newest  and on", []byte{'d', 1, 0, 'r', 0}), 5, kvmodel.ErrBadCursor},
	} {
		if _, err := list.Page(ctx, test.cursor, test.n); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestWithArchive_APageOfTheArchiveTakesTwoTrips(t *testing.T) {
	p := openPosts(t, plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 12, Segment: 4})
	p.make(t, 100)
	list := p.all(p.newest)
	_, pages := through(t, list, 20, nothing)
	mctx, m := kv.Metered(ctx)
	if _, err := list.Page(mctx, pages[1].Next, 20); err != nil {
		t.Fatal(err)
	}
	if c := m.Cost(); c.Trips != 2 {
		t.Errorf("%v", c)
	}
}
