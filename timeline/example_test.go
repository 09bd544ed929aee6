package timeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/timeline"
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

// What was written last comes first.
func ExampleRing() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, text := range []string{"one", "two", "three"} {
		check(m.Stories.Create(ctx, &examples.Story{Text: text}))
	}

	page, err := m.Stories.Newest.Page(ctx, "", 2)
	check(err)
	for _, story := range page.Items {
		fmt.Println(story.Text)
	}
	// Output:
	// three
	// two
}

// One author's stories.
func ExampleRings() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, author := range []string{"ann", "bob", "eve"} {
		check(m.Stories.Create(ctx, &examples.Story{Author: author, Title: "by " + author}))
	}

	page, err := m.Stories.NewestByAuthor.Of("eve").Page(ctx, "", 10)
	check(err)
	for _, story := range page.Items {
		fmt.Println(story.Title)
	}
	// Output: by eve
}

// Footprints: who has looked at a page, each guest once.
func ExampleEvents() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	at := time.Now()
	for i, guest := range []string{"bob", "eve", "bob"} {
		check(m.Visits.Push(ctx, examples.Visit{Owner: "ann", Guest: guest, At: at.Add(time.Duration(i))}))
	}

	visits, err := m.Visits.Latest(ctx, "ann", 10)
	check(err)
	for _, visit := range visits {
		fmt.Println(visit.Guest)
	}
	// Output:
	// bob
	// eve
}

// The ring has the four newest bulletins; older ones come from their numbers.
func ExampleWithArchive() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for i := range 6 {
		check(m.Bulletins.Create(ctx, &examples.Bulletin{Text: fmt.Sprint("number ", i+1)}))
	}

	all := timeline.WithArchive(m.Bulletins.Newest,
		func(b *examples.Bulletin) int64 { return b.ID },
		func(id int64) kvmodel.Lister[examples.Bulletin] { return m.Bulletins.Before(id) })
	page, err := all.Page(ctx, "", 10)
	check(err)
	fmt.Println(len(page.Items), page.Items[5].Text)
	// Output: 6 number 1
}
