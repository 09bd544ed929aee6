package timeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// What was written last comes first.
func ExampleRing() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, text := range []string{"one", "two", "three"} {
		check(m.Pages.Create(ctx, &wiki.Page{Title: text, Text: text}))
	}

	page, err := m.Pages.Newest.Page(ctx, "", 2)
	check(err)
	for _, p := range page.Items {
		fmt.Println(p.Title)
	}
	// Output:
	// three
	// two
}

// One author's pages.
func ExampleRings() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, author := range []string{"ann", "bob", "eve"} {
		check(m.Pages.Create(ctx, &wiki.Page{Author: author, Title: "by " + author}))
	}

	page, err := m.Pages.NewestByAuthor.Of("eve").Page(ctx, "", 10)
	check(err)
	for _, p := range page.Items {
		fmt.Println(p.Title)
	}
	// Output: by eve
}

// Footprints: who has looked at a page, each guest once.
func ExampleEvents() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	at := time.Now()
	for i, guest := range []string{"bob", "eve", "bob"} {
		check(m.Visits.Push(ctx, wiki.Visit{Page: "home", Guest: guest, At: at.Add(time.Duration(i))}))
	}

	visits, err := m.Visits.Latest(ctx, "home", 10)
	check(err)
	for _, visit := range visits {
		fmt.Println(visit.Guest)
	}
	// Output:
	// bob
	// eve
}

// The ring has the four newest tickets; older ones come from their numbers.
func ExampleWithArchive() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for i := range 6 {
		check(m.Tickets.Create(ctx, &wiki.Ticket{Text: fmt.Sprint("number ", i+1)}))
	}

	all := timeline.WithArchive(m.Tickets.Newest,
		func(t *wiki.Ticket) int64 { return t.ID },
		func(id int64) kvmodel.Lister[wiki.Ticket] { return m.Tickets.Before(id) })
	page, err := all.Page(ctx, "", 10)
	check(err)
	fmt.Println(len(page.Items), page.Items[5].Text)
	// Output: 6 number 1
}

// Pictures show the keys of a ring as they are stored.
func ExamplePicture() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for i := range 3 {
		check(m.Tickets.Create(ctx, &wiki.Ticket{Text: fmt.Sprint("number ", i+1)}))
	}

	pictures, err := m.Tickets.Newest.Pictures(ctx, 100) // one for each shard
	check(err)
	fmt.Println(pictures[0].Head, "numbers,", len(pictures[0].Segments), "keys")
	// Output: 3 numbers, 3 keys
}

// A ticket that is changed moves to the top, and leaves an entry behind that is stale.
func ExampleSlot() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	ticket := &wiki.Ticket{Text: "no sound"}
	check(m.Tickets.Create(ctx, ticket))
	_, err := m.Tickets.Update(ctx, ticket.ID, func(t *wiki.Ticket) error { t.Text = "too loud"; return nil })
	check(err)

	pictures, err := m.Tickets.Newest.Pictures(ctx, 100)
	check(err)
	counts := map[timeline.Slot]int{}
	for _, segment := range pictures[0].Segments {
		for _, slot := range segment.Slots {
			counts[slot]++
		}
	}
	fmt.Println(counts[timeline.Filled], "filled,", counts[timeline.Stale], "stale")
	// Output: 1 filled, 1 stale
}
