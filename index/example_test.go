package index_test

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/index"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleUnique() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"}))

	page, err := m.Pages.BySlug.Find(ctx, "home")
	check(err)
	fmt.Println(page.Title)
	// Output: Welcome
}

func ExampleLists() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Title: "Rings", Tags: []string{"keys", "time"}}))

	for _, tag := range []string{"time", "space"} {
		page, err := m.Pages.ByTags.Of(tag).Page(ctx, "", 10)
		check(err)
		fmt.Println(tag, len(page.Items))
	}
	// Output:
	// time 1
	// space 0
}

// Both sides of an edge have a list.
func ExampleList() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, user := range []string{"ann", "bob"} {
		check(m.Likes.Create(ctx, &wiki.Like{User: user, Page: "home"}))
	}

	likes := m.Likes.ByPage.Of("home")
	n, err := likes.Count(ctx)
	check(err)
	is, err := likes.Contains(ctx, wiki.LikeID{User: "ann", Page: "home"})
	check(err)
	fmt.Println(n, is)
	// Output: 2 true
}

// Counting a view of a page takes one trip, and writes no record.
func ExampleCounter() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "home", Title: "Welcome"}))

	_, err := m.Pages.Views.Hit(ctx, "home")
	check(err)
	page, err := m.Pages.Get(ctx, "home")
	check(err)
	fmt.Println(page.Views)
	// Output: 1
}

// The number of likes of a page follows the likes.
func ExampleDerivedCount() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Likes.Create(ctx, &wiki.Like{User: "ann", Page: "home"}))
	check(m.Likes.Create(ctx, &wiki.Like{User: "bob", Page: "home"}))
	check(m.Likes.Delete(ctx, wiki.LikeID{User: "ann", Page: "home"}))

	n, err := m.Pages.Likes.Get(ctx, "home")
	check(err)
	fmt.Println(n)
	// Output: 1
}

func ExampleTotal() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.CreateMulti(ctx, []*wiki.Page{{Title: "Rings"}, {Title: "Keys"}}))

	n, err := m.Pages.Count(ctx)
	check(err)
	fmt.Println(n, "pages")
	// Output: 2 pages
}

// Tickets have numbers without gaps, and the last page shows the newest, in order.
func ExampleSequence() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, text := range []string{"no sound", "too loud", "a scratch"} {
		check(m.Tickets.Create(ctx, &wiki.Ticket{Text: text}))
	}

	page, err := m.Tickets.Sequence.LastPage(ctx, 2)
	check(err)
	for _, ticket := range page.Items {
		fmt.Println(ticket.ID, ticket.Text)
	}
	// Output:
	// 2 too loud
	// 3 a scratch
}

// Workers divide the numbers among them, and each goes through its span.
func ExampleSpan() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Tickets.CreateMulti(ctx, []*wiki.Ticket{{Text: "one"}, {Text: "two"}, {Text: "three"}, {Text: "four"}}))

	spans, err := m.Tickets.Sequence.Split(ctx, 2)
	check(err)
	for _, span := range spans {
		fmt.Println("a worker takes", span.First, "to", span.Last)
	}
	// Output:
	// a worker takes 1 to 2
	// a worker takes 3 to 4
}

func ExampleNumbered() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Tickets.Create(ctx, &wiki.Ticket{Text: "no sound"}))

	for ticket, err := range m.Tickets.Sequence.Range(ctx, 1, 1) {
		check(err)
		var _ index.Numbered[wiki.Ticket] = ticket
		fmt.Println(ticket.N, ticket.Value.Text)
	}
	// Output: 1 no sound
}

func ExamplePicture() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, title := range []string{"Rings", "Trees"} {
		check(m.Pages.Create(ctx, &wiki.Page{Title: title, Tags: []string{"keys"}}))
	}

	picture, err := m.Pages.ByTags.Of("keys").Picture(ctx, 100)
	check(err)
	fmt.Println(len(picture.Segments), "segment", picture.Words)
	// Output: 1 segment
}
