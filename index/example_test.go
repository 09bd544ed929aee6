package index_test

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

// opened returns the models of package examples in a database in memory.
func opened() (*kvmodel.DB, *examples.Models) {
	db, err := kvopen.Open(context.Background(), "mem:")
	check(err)
	return db, examples.New(db)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleUnique() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &examples.Page{Slug: "home", Title: "Welcome"}))

	page, err := m.Pages.BySlug.Find(ctx, "home")
	check(err)
	fmt.Println(page.Title)
	// Output: Welcome
}

func ExampleLists() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.Create(ctx, &examples.Album{Title: "Blue", Tags: []string{"jazz", "live"}}))

	for _, tag := range []string{"live", "rock"} {
		page, err := m.Albums.ByTags.Of(tag).Page(ctx, "", 10)
		check(err)
		fmt.Println(tag, len(page.Items))
	}
	// Output:
	// live 1
	// rock 0
}

// Both sides of an edge have a list.
func ExampleList() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, user := range []string{"ann", "bob"} {
		check(m.Hearts.Create(ctx, &examples.Heart{User: user, Album: "blue"}))
	}

	hearts := m.Hearts.ByAlbum.Of("blue")
	n, err := hearts.Count(ctx)
	check(err)
	loves, err := hearts.Contains(ctx, examples.HeartID{User: "ann", Album: "blue"})
	check(err)
	fmt.Println(n, loves)
	// Output: 2 true
}

// A view of a page is one trip, and writes no record.
func ExampleCounter() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.Create(ctx, &examples.Album{ID: "blue"}))

	_, err := m.Albums.Plays.Hit(ctx, "blue")
	check(err)
	album, err := m.Albums.Get(ctx, "blue")
	check(err)
	fmt.Println(album.Plays)
	// Output: 1
}

// How many hearts an album has follows the hearts.
func ExampleDerivedCount() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Hearts.Create(ctx, &examples.Heart{User: "ann", Album: "blue"}))
	check(m.Hearts.Create(ctx, &examples.Heart{User: "bob", Album: "blue"}))
	check(m.Hearts.Delete(ctx, examples.HeartID{User: "ann", Album: "blue"}))

	n, err := m.Albums.Hearts.Get(ctx, "blue")
	check(err)
	fmt.Println(n)
	// Output: 1
}

func ExampleTotal() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.CreateMulti(ctx, []*examples.Album{{Title: "Blue"}, {Title: "Kind"}}))

	n, err := m.Albums.Count(ctx)
	check(err)
	fmt.Println(n, "albums")
	// Output: 2 albums
}

// Tickets have numbers without a gap, and the last page shows the newest, in order.
func ExampleSequence() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, text := range []string{"no sound", "too loud", "a scratch"} {
		check(m.Tickets.Create(ctx, &examples.Ticket{Text: text}))
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

// Workers share the numbers among them, and each goes through its span.
func ExampleSpan() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Tickets.CreateMulti(ctx, []*examples.Ticket{{Text: "one"}, {Text: "two"}, {Text: "three"}, {Text: "four"}}))

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
	db, m := opened()
	defer db.Close(ctx)
	check(m.Tickets.Create(ctx, &examples.Ticket{Text: "no sound"}))

	for ticket, err := range m.Tickets.Sequence.Range(ctx, 1, 1) {
		check(err)
		var _ index.Numbered[examples.Ticket] = ticket
		fmt.Println(ticket.N, ticket.Value.Text)
	}
	// Output: 1 no sound
}

// Who is blocked by whom needs no record: a set of ids for each user does.
func ExampleSets() {
	ctx := context.Background()
	db, _ := opened()
	defer db.Close(ctx)
	blocked := index.NewSets(db, "blocked", kvmodel.StringKey[string](), kvmodel.StringKey[string]())

	check(blocked.Of("ann").Add(ctx, "bob", "eve"))
	check(blocked.Of("ann").Remove(ctx, "bob"))
	is, err := blocked.Of("ann").Contains(ctx, "eve")
	check(err)
	fmt.Println(is)
	// Output: true
}

func ExampleSet() {
	ctx := context.Background()
	db, _ := opened()
	defer db.Close(ctx)
	readers := index.NewSets(db, "readers", kvmodel.StringKey[string](), kvmodel.StringKey[string]()).Of("home")

	check(readers.Add(ctx, "ann", "bob", "ann"))
	n, err := readers.Count(ctx)
	check(err)
	fmt.Println(n, "have read it")
	// Output: 2 have read it
}

func ExampleMembers() {
	ctx := context.Background()
	db, _ := opened()
	defer db.Close(ctx)
	readers := index.NewSets(db, "readers", kvmodel.StringKey[string](), kvmodel.StringKey[string]()).Of("home")
	check(readers.Add(ctx, "ann", "bob", "eve"))

	var page index.Members[string]
	page, err := readers.Page(ctx, "", 2)
	check(err)
	fmt.Println(len(page.IDs), "and there are more:", page.Next != "")
	// Output: 2 and there are more: true
}
