package examples_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

func allMemos(m models) kvmodel.Lister[examples.Memo] {
	return timeline.WithArchive(m.Memos.Newest,
		func(memo *examples.Memo) time.Time { return memo.Made },
		func(t time.Time) kvmodel.Lister[examples.Memo] { return m.Memos.Archive.Between(time.Time{}, t) })
}

func memoIDs(l kvmodel.Lister[examples.Memo], n int) (ids []string) {
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := l.Page(context.Background(), cursor, n)
		check(err)
		for _, memo := range page.Items {
			ids = append(ids, memo.ID)
		}
		cursor = page.Next
	}
	return ids
}

func TestArchiveByTime_ShowsAllThatWereMadeInTheSameMillisecond(t *testing.T) {
	clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	_, m, done := open(kvmodel.Clock(clock.Now))
	defer done()
	memos := make([]*examples.Memo, 20)
	for i := range memos {
		memos[i] = &examples.Memo{ID: fmt.Sprintf("m%02d", i)}
	}
	check(m.Memos.CreateMulti(context.Background(), memos))
	ids := memoIDs(allMemos(m), 3)
	if slices.Sort(ids); len(slices.Compact(ids)) != 20 || len(ids) != 20 {
		t.Errorf("it shows %v", ids)
	}
}

func TestArchiveByTime_ShowsEachLiveRecordOnceWhateverHasComeBack(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		_, m, done := open(kvmodel.Clock(clock.Now))
		live := map[string]bool{}
		var made []string
		for range 40 {
			if clock.Advance(time.Duration(r.IntN(3)) * time.Millisecond / 2); r.IntN(2) == 0 || made == nil {
				memo := &examples.Memo{ID: fmt.Sprintf("m%02d", len(made))}
				check(m.Memos.Create(context.Background(), memo))
				made, live[memo.ID] = append(made, memo.ID), true
				continue
			}
			id := made[r.IntN(len(made))]
			if live[id] = !live[id]; live[id] {
				check(restore(context.Background(), m.Models, id))
			} else {
				check(trash(context.Background(), m.Models, id))
			}
		}
		want := slices.DeleteFunc(made, func(id string) bool { return !live[id] })
		for _, n := range []int{1, 3, 50} {
			ids := memoIDs(allMemos(m), n)
			ring := memoIDs(m.Memos.Newest, 50)
			proof.NoDiff(t, cmp.Diff(ring, ids[:min(len(ring), len(ids))]), "seed %d: what is first", seed)
			slices.Sort(ids)
			proof.NoDiff(t, cmp.Diff(want, ids), "seed %d, pages of %d", seed, n)
		}
		done()
	}
}

// A memo in the trash is in no other index. A restored one is at the top of the newest, and in the
// archive where it was.
func Example_softDelete() {
	clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ctx, m, done := open(kvmodel.Clock(func() time.Time { clock.Advance(time.Second); return clock.Now() }))
	defer done()
	for i := range 4 {
		check(m.Memos.Create(ctx, &examples.Memo{ID: fmt.Sprint("m", i+1)}))
	}
	show := func(what string) {
		inTrash, err := trashed(ctx, m.Models, "")
		check(err)
		fmt.Println(what, memoIDs(m.Memos.Newest, 10), memoIDs(m.Memos.Archive, 10), len(inTrash.Items))
	}
	show("created: ")
	check(trash(ctx, m.Models, "m2"))
	check(trash(ctx, m.Models, "m3"))
	show("trashed: ")
	check(restore(ctx, m.Models, "m2"))
	show("restored:") // The ring counts entries: this was its fifth, so it has forgotten m1.
	fmt.Println("all:     ", memoIDs(allMemos(m), 10))
	fmt.Println("trash:   ", memoIDs(m.Memos.Trash, 10))
	// Output:
	// created:  [m4 m3 m2 m1] [m4 m3 m2 m1] 0
	// trashed:  [m4 m1] [m4 m1] 2
	// restored: [m2 m4] [m4 m2 m1] 1
	// all:      [m2 m4 m1]
	// trash:    [m3]
}

const (
	filteredOf   = 450 // entries of each listing
	filteredPage = 25
)

// wantFilled asserts that the pages of l, of whose entries a filter keeps one in two to one in 200,
// show together what is kept, each once; that a page is full, is the last, or has looked at about
// ten times as many entries, most at the most; and that the pages end where nothing is kept. number
// tells entries apart.
func wantFilled[T any](t *testing.T, name string, l kvmodel.Lister[T], most int, number func(*T) int) {
	t.Helper()
	looked, in := 0, 7
	keep := func(v *T) bool { looked++; return number(v)%in == 0 }
	walk := func(cursor string, forward bool) (sizes []int, seen map[int]int, last string) {
		seen = map[int]int{}
		for {
			looked = 0
			p, err := l.Page(context.Background(), cursor, filteredPage, keep)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, v := range p.Items {
				seen[number(v)]++
			}
			if sizes = append(sizes, len(p.Items)); looked > most {
				t.Errorf("%s: a page looks at %d", name, looked)
			}
			next := p.Next
			if !forward {
				next = p.Prev
			}
			if forward && len(p.Items) < filteredPage && next != "" && looked <= 10*(filteredPage-1) {
				t.Errorf("%s, one in %d: a page has %d items after a look at %d, and is not the last", name, in, len(p.Items), looked)
			}
			if next == "" || len(sizes) > filteredOf {
				return sizes, seen, cursor
			}
			cursor = next
		}
	}
	for _, in = range []int{2, 3, 20, 50, 200, 7} {
		want := map[int]int{}
		for i := 0; i < filteredOf; i += in {
			want[i] = 1
		}
		if _, seen, _ := walk("", true); !maps.Equal(want, seen) {
			t.Errorf("%s, one in %d: seen mismatch (-want +got):\n%s", name, in, cmp.Diff(want, seen))
		}
	}
	sizes, _, last := walk("", true)
	proof.NoDiff(t, cmp.Diff([]int{25, 25, 15}, sizes), "%s: sizes", name)
	if sizes, _, _ := walk(last, false); sizes[1] != filteredPage {
		t.Errorf("%s: back: %v", name, sizes)
	}
	in = 10 * filteredOf // Only 0 is kept.
	if sizes, seen, _ := walk("", true); len(seen) != 1 || len(sizes) > 3 {
		t.Errorf("%s: of one, %v in pages of %v", name, seen, sizes)
	}
}

func TestListings_FillAPageOfWhichAFilterKeepsFew(t *testing.T) {
	ctx, m, done := open()
	defer done()
	var photos []*examples.Photo
	var albums []*examples.Album
	var stories []*examples.Story
	articles := make([]*examples.Article, 9)
	for i := range articles {
		articles[i] = &examples.Article{ID: fmt.Sprint("a", i)}
	}
	began := time.Now()
	for i := range filteredOf {
		photos = append(photos, &examples.Photo{ID: strconv.Itoa(i), Taken: began.Add(time.Duration(i) * time.Hour)})
		albums = append(albums, &examples.Album{ID: strconv.Itoa(i), Artist: "ann"})
		stories = append(stories, &examples.Story{ID: strconv.Itoa(i), Author: []string{"ann", "bob"}[i%2], Text: fmt.Sprint("text ", i)})
		a := articles[i%len(articles)]
		a.Tags = append(a.Tags, strconv.Itoa(i))
		check(m.Bulletins.Create(ctx, &examples.Bulletin{Text: strconv.Itoa(i)}))
	}
	check(m.Photos.CreateMulti(ctx, photos))
	check(m.Albums.CreateMulti(ctx, albums))
	check(m.Stories.CreateMulti(ctx, stories))
	check(m.Articles.CreateMulti(ctx, articles))
	check(m.Flush(ctx))

	var memos []*examples.Memo
	for i := range filteredOf {
		memos = append(memos, &examples.Memo{ID: strconv.Itoa(i), Made: began.Add(-time.Duration(i) * time.Hour)})
	}
	check(m.Memos.CreateMulti(ctx, memos))
	check(m.Flush(ctx))

	const most = 10 * filteredPage
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		check(err)
		return n
	}
	photo := func(p *examples.Photo) int { return number(p.ID) }
	bulletin := func(b *examples.Bulletin) int { return number(b.Text) }
	tag := func(v *ranking.Value[string]) int { return number(v.Value) }
	wantFilled(t, "Photo.Archive", m.Photos.Archive, most, photo)
	wantFilled(t, "Photo.Archive.Between", m.Photos.Archive.Between(began, began.Add(time.Hour*filteredOf)).Ascending(), most, photo)
	wantFilled(t, "Album.ByArtist", m.Albums.ByArtist.Of("ann"), most, func(a *examples.Album) int { return number(a.ID) })
	wantFilled(t, "Story.Newest", m.Stories.Newest, most, func(s *examples.Story) int { return number(s.ID) })
	wantFilled(t, "Story.NewestByAuthor", m.Stories.NewestByAuthor.Of("ann", "bob"), most, func(s *examples.Story) int { return number(s.ID) })
	wantFilled(t, "Memo.Newest with an archive", allMemos(m), most, func(m *examples.Memo) int { return number(m.ID) })
	wantFilled(t, "Bulletin.Sequence", m.Bulletins.Sequence, most, bulletin)
	wantFilled(t, "Bulletin.Before", m.Bulletins.Before(filteredOf+1), most, bulletin)
	wantFilled(t, "Article.ByTags.Values", m.Articles.ByTags.Values, most, tag)
	wantFilled(t, "Article.ByTags.Values.Words", words{m.Articles.ByTags.Values}, most, tag)
}

// words is the values of a list in order, as a listing.
type words struct{ *ranking.Values[string] }

func (w words) Page(ctx context.Context, cursor string, n int, keep ...func(*ranking.Value[string]) bool) (kvmodel.Listing[ranking.Value[string]], error) {
	return w.Words(ctx, cursor, n, keep...)
}
