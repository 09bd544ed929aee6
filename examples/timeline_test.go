package examples_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

func titles(stories []*examples.Story) []string {
	var all []string
	for _, s := range stories {
		all = append(all, s.Title)
	}
	return all
}

// A page of the newest stories, the one after it and the way back.
func Example_newest() {
	ctx, m, done := open()
	defer done()
	for i := range 5 {
		check(m.Stories.Create(ctx, &examples.Story{Author: "ann", Title: fmt.Sprint("story ", i), Text: "..."}))
	}
	page, err := m.Stories.Newest.Page(ctx, "", 2)
	check(err)
	fmt.Println(titles(page.Items))

	next, err := m.Stories.Newest.Page(ctx, page.Next, 2)
	check(err)
	fmt.Println(titles(next.Items))

	// A change of the text brings a story to the top. Cursors stay where they are.
	_, err = m.Stories.Update(ctx, next.Items[1].ID, func(s *examples.Story) error { s.Text = "rewritten"; return nil })
	check(err)
	back, err := m.Stories.Newest.Page(ctx, next.Prev, 2)
	check(err)
	fmt.Println(titles(back.Items))
	top, err := m.Stories.Newest.Page(ctx, "", 2)
	check(err)
	fmt.Println(titles(top.Items))
	// Output:
	// [story 4 story 3]
	// [story 2 story 1]
	// [story 4 story 3]
	// [story 1 story 4]
}

// The page of an author, and one of several: a home feed composed by the reader. The clock only
// keeps two stories from falling into one millisecond here.
func Example_ofEach() {
	ctx, m, done := open(byMinutes())
	defer done()
	for i, author := range []string{"ann", "bob", "cid", "ann", "bob"} {
		check(m.Stories.Create(ctx, &examples.Story{Author: author, Title: fmt.Sprint(author, " ", i), Text: "..."}))
	}
	page, err := m.Stories.NewestByAuthor.Of("ann").Page(ctx, "", 10)
	check(err)
	fmt.Println(titles(page.Items))
	page, err = m.Stories.NewestByAuthor.Of("bob", "cid").Page(ctx, "", 10)
	check(err)
	fmt.Println(titles(page.Items))
	// Output:
	// [ann 3 ann 0]
	// [bob 4 cid 2 bob 1]
}

// The newest stories with a tag, and with one of several. A change of the tags moves a story only
// in the rings of the changed tags.
func Example_ofTags() {
	ctx, m, done := open(byMinutes())
	defer done()
	first := &examples.Story{Title: "green tea", Tags: []string{"tea", "china"}}
	check(m.Stories.Create(ctx, first))
	check(m.Stories.Create(ctx, &examples.Story{Title: "black tea", Tags: []string{"tea", "india"}}))
	_, err := m.Stories.Update(ctx, first.ID, func(s *examples.Story) error { s.Tags = []string{"tea", "japan"}; return nil })
	check(err)
	for _, tags := range [][]string{{"tea"}, {"china"}, {"japan"}, {"india", "japan"}} {
		page, err := m.Stories.NewestByTags.Of(tags...).Page(ctx, "", 10)
		check(err)
		fmt.Println(tags, titles(page.Items))
	}
	// Output:
	// [tea] [black tea green tea]
	// [china] []
	// [japan] [green tea]
	// [india japan] [green tea black tea]
}

// The number of new stories since a reader looked, and whether there are any: an ETag.
func Example_since() {
	ctx, m, done := open()
	defer done()
	check(m.Stories.Create(ctx, &examples.Story{Title: "old", Text: "..."}))
	looked, err := m.Stories.Newest.Head(ctx)
	check(err)

	again, err := m.Stories.Newest.Head(ctx)
	check(err)
	fmt.Println("nothing new:", again == looked)

	for i := range 3 {
		check(m.Stories.Create(ctx, &examples.Story{Title: fmt.Sprint("new ", i), Text: "..."}))
	}
	n, err := m.Stories.Newest.Since(ctx, looked)
	check(err)
	page, err := m.Stories.Newest.Page(ctx, looked, n)
	check(err)
	fmt.Println(n, "new:", titles(page.Items))
	// Output:
	// nothing new: true
	// 3 new: [new 2 new 1 new 0]
}

// Footprints: the visitors of my page, each once.
func Example_footprints() {
	ctx, m, done := open()
	defer done()
	looked := time.Now().Add(-time.Hour)
	for _, guest := range []string{"bob", "cid", "bob", "dan", "cid"} {
		check(m.Visits.Push(ctx, examples.Visit{Owner: "ann", Guest: guest, At: time.Now()}))
	}
	visits, err := m.Visits.Latest(ctx, "ann", 10)
	check(err)
	for _, v := range visits {
		fmt.Println(v.Guest)
	}
	n, err := m.Visits.Unread(ctx, "ann", looked)
	check(err)
	fmt.Println(n, "new")
	// Output:
	// cid
	// dan
	// bob
	// 3 new
}

// A home feed written with the story: OnChange pushes it to every follower, 500 in a trip, and
// again after a crash. Each story is in a feed once, so pushing it again does no harm.
func Example_homeFeed() {
	ctx, m, done := open()
	defer done()
	followers := map[string][]string{"ann": {"bob", "cid"}, "bob": {"cid"}}
	m.Stories.OnChange(func(ctx context.Context, c kvmodel.Change[examples.Story, string]) error {
		if !c.Created || c.Record == nil {
			return nil
		}
		var items []examples.FeedItem
		for _, reader := range followers[c.Record.Author] {
			items = append(items, examples.FeedItem{Reader: reader, Story: c.ID})
		}
		return m.FeedItems.Push(ctx, items...)
	})
	for _, author := range []string{"ann", "bob", "ann"} {
		check(m.Stories.Create(ctx, &examples.Story{Author: author, Title: "by " + author, Text: "..."}))
		check(m.Flush(ctx)) // only so that this example prints the same each time
	}

	feed, err := m.FeedItems.Latest(ctx, "cid", 10)
	check(err)
	stories, err := kvmodel.Load(ctx, m.Stories.Records, feed, func(item examples.FeedItem) string { return item.Story })
	check(err)
	for _, item := range feed {
		if story := stories[item.Story]; story != nil { // it may be deleted by now
			fmt.Println(story.Title)
		}
	}
	// Output:
	// by ann
	// by bob
	// by ann
}

// A ring forgets, and an archive continues it: here all bulletins by their numbers. For memos a
// ranking by time does it.
func Example_timelineEnd() {
	ctx, m, done := open()
	defer done()
	for i := range 9 {
		check(m.Bulletins.Create(ctx, &examples.Bulletin{Text: fmt.Sprint("notice ", i+1)}))
	}
	all := timeline.WithArchive(m.Bulletins.Newest,
		func(b *examples.Bulletin) int64 { return b.ID },
		func(id int64) kvmodel.Lister[examples.Bulletin] { return m.Bulletins.Before(id) },
	)
	cursor := ""
	for more := true; more; more = cursor != "" {
		page, err := all.Page(ctx, cursor, 3)
		check(err)
		var ids []int64
		for _, b := range page.Items {
			ids = append(ids, b.ID)
		}
		fmt.Println(ids)
		cursor = page.Next
	}
	// Output:
	// [9 8 7]
	// [6 5 4]
	// [3 2 1]
}

// A timeline spread over four rings, for very many writers, is read like any other.
func Example_shardedTimeline() {
	ctx, m, done := open(byMinutes())
	defer done()
	for i := range 6 {
		check(m.Replies.Create(ctx, &examples.Reply{Text: fmt.Sprint("reply ", i)}))
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := m.Replies.Newest.Page(ctx, cursor, 4)
		check(err)
		for _, reply := range page.Items {
			fmt.Println(reply.Text)
		}
		cursor = page.Next
	}
	// Output:
	// reply 5
	// reply 4
	// reply 3
	// reply 2
	// reply 1
	// reply 0
}

// The number at the bell, and the notices behind it.
func Example_notifications() {
	var minutes atomic.Int64
	ctx, m, done := open(kvmodel.Clock(func() time.Time { return time.Unix(60*minutes.Load(), 0) }))
	defer done()
	notify := func(text, about string) {
		minutes.Add(1)
		check(m.Notices.Push(ctx, examples.Notice{To: "ann", Text: text, About: about}))
	}
	notify("bob likes your story", "story 1")
	looked := time.Unix(60*minutes.Load(), 0) // a field of the user, in an app
	notify("cid follows you", "cid")
	notify("dan and bob like your story", "story 1")

	n, err := m.Notices.Unread(ctx, "ann", looked)
	check(err)
	fmt.Println(n, "unread")
	notices, err := m.Notices.Latest(ctx, "ann", 10)
	check(err)
	for _, notice := range notices {
		fmt.Println(notice.Text)
	}
	check(m.Notices.Clear(ctx, "ann"))
	notices, err = m.Notices.Latest(ctx, "ann", 10)
	check(err)
	fmt.Println(len(notices), "after all were cleared")
	// Output:
	// 2 unread
	// dan and bob like your story
	// cid follows you
	// 0 after all were cleared
}

// The last few of something large, each under a key of its own.
func Example_snapshots() {
	ctx, m, done := open()
	defer done()
	for i := range 8 {
		check(m.Snapshots.Push(ctx, examples.Snapshot{Document: "plan", Text: fmt.Sprint("version ", i)}))
	}
	snapshots, err := m.Snapshots.Latest(ctx, "plan", 10)
	check(err)
	for _, s := range snapshots {
		fmt.Println(s.Text)
	}
	// Output:
	// version 7
	// version 6
	// version 5
	// version 4
	// version 3
}

// An unchanged page is not sent again: the head of the ring is its ETag, and costs one trip.
func Example_etag() {
	_, m, done := open()
	defer done()
	check(m.Stories.Create(context.Background(), &examples.Story{Title: "first", Text: "..."}))
	serve := func(w http.ResponseWriter, r *http.Request) {
		head, err := m.Stories.Newest.Head(r.Context())
		check(err)
		tag := strconv.Quote(head)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		page, err := m.Stories.Newest.Page(r.Context(), "", 20)
		check(err)
		fmt.Fprint(w, titles(page.Items))
	}
	known := ""
	ask := func() {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", known)
		serve(w, r)
		fmt.Printf("%d %q\n", w.Code, w.Body)
		known = w.Header().Get("ETag")
	}
	ask()
	ask()
	check(m.Stories.Create(context.Background(), &examples.Story{Title: "second", Text: "..."}))
	ask()
	// Output:
	// 200 "[first]"
	// 304 ""
	// 200 "[second first]"
}
