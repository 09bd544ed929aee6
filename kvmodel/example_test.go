package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// opened returns the models of package examples in a database in memory.
func opened(opts ...kvopen.Option) (*kvmodel.DB, *examples.Models) {
	db, err := kvopen.Open(context.Background(), "mem:", opts...)
	check(err)
	return db, examples.New(db)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An app opens its database once, when it starts. Package kvopen does so by a URL.
func ExampleOpen() {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	check(err)
	m := examples.New(db) // all data classes of a package
	fmt.Println(m.Pages.ModelName())
	check(db.Close(context.Background()))
	// Output: Page
}

// Close does what is left to do after replies, as long as its context lasts.
func ExampleDB() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	// Reads that do not need each other share their trips.
	check(m.Users.Create(ctx, &examples.User{ID: "ann", Name: "Ann"}))
	check(m.Pages.Create(ctx, &examples.Page{ID: "home", Slug: "home", Title: "Welcome"}))
	var user *examples.User
	var page *examples.Page
	check(db.SideBySide(ctx,
		func(ctx context.Context) (err error) { user, err = m.Users.Get(ctx, "ann"); return err },
		func(ctx context.Context) (err error) { page, err = m.Pages.BySlug.Find(ctx, "home"); return err },
	))
	fmt.Println(user.Name, "reads", page.Title)
	// Output: Ann reads Welcome
}

// Records has the verbs of every data class.
func ExampleRecords() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	page := &examples.Page{Slug: "home", Title: "Welcome"}
	check(m.Pages.Create(ctx, page)) // gives it an id
	page, err := m.Pages.Update(ctx, page.ID, func(p *examples.Page) error {
		p.Title += " back"
		return nil
	})
	check(err)
	fmt.Println(page.Title, page.Version)
	check(m.Pages.Delete(ctx, page.ID))
	_, err = m.Pages.Get(ctx, page.ID)
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output:
	// Welcome back 2
	// true
}

// A page can show what it has asked of the store, and a test can hold it to a number.
func ExampleMetered() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &examples.Page{ID: "home", Slug: "home"}))

	ctx, meter := kvmodel.Metered(ctx)
	_, err := m.Pages.Get(ctx, "home")
	check(err)
	fmt.Println(meter.Cost().Trips)
	// Output: 1
}

// A cost also says how many keys were asked for.
func ExampleCost() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	ctx, meter := kvmodel.Metered(ctx)
	_, err := m.Pages.GetMulti(ctx, []string{"a", "b", "c"})
	check(err)
	cost := meter.Cost()
	fmt.Println(cost.Trips, "trip")
	// Output: 1 trip
}

// The authors of all pages of a listing are loaded in one trip, each once.
func ExampleLoad() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &examples.User{ID: "ann", Name: "Ann"}))
	pages := []*examples.Page{{Title: "Rings", Author: "ann"}, {Title: "Keys", Author: "ann"}, {Title: "Lost", Author: "bob"}}

	authors, err := kvmodel.Load(ctx, m.Users.Records, pages, func(p *examples.Page) string { return p.Author })
	check(err)
	for _, p := range pages {
		if author := authors[p.Author]; author != nil {
			fmt.Println(p.Title, "by", author.Name)
		}
	}
	// Output:
	// Rings by Ann
	// Keys by Ann
}

// An id in a form makes the form safe to send twice: the second Create returns ErrExists.
func ExampleNewID() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	id := kvmodel.NewID(time.Now()) // a hidden field of the form
	for range 2 {
		err := m.Pages.Create(ctx, &examples.Page{ID: id, Slug: "news"})
		fmt.Println(errors.Is(err, kvmodel.ErrExists))
	}
	// Output:
	// false
	// true
}

// A handler needs one line to turn any error into a status.
func ExampleHTTPStatus() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	_, err := m.Pages.Get(ctx, "none")
	fmt.Println(kvmodel.HTTPStatus(err), kvmodel.HTTPStatus(nil))
	// Output: 404 200
}

// Of many records that are made at once, each can fail for itself.
func ExampleItems() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &examples.User{ID: "ann", Name: "Ann"}))

	users := []*examples.User{{ID: "bob", Name: "Bob"}, {ID: "eve", Name: "Ann"}, {ID: "zoe"}}
	err := m.Users.CreateMulti(ctx, users)
	for i, err := range kvmodel.Items(err) {
		fmt.Println(users[i].ID, kvmodel.HTTPStatus(err))
	}
	// Output:
	// eve 409
	// zoe 422
}

func ExampleItemError() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)

	err := m.Users.CreateMulti(ctx, []*examples.User{{ID: "bob", Name: "Bob"}, {ID: "zoe"}})
	if item, ok := errors.AsType[*kvmodel.ItemError](err); ok {
		fmt.Println("the user at", item.Index, "has no name:", errors.Is(item, examples.ErrNoName))
	}
	// Output: the user at 1 has no name: true
}

// A form shows who has the name already.
func ExampleTakenError() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &examples.User{ID: "ann", Name: "Ann"}))

	err := m.Users.Create(ctx, &examples.User{ID: "eve", Name: "Ann"})
	if taken, ok := errors.AsType[*kvmodel.TakenError](err); ok {
		fmt.Println(taken.Fields, taken.Value, "is taken by", taken.Owner)
	}
	// Output: [Name] Ann is taken by ann
}

// Validate collects what is wrong, for a form to show beside its fields.
func ExampleProblems() {
	validate := func(title string) error {
		problems := kvmodel.Problems{}
		if title == "" {
			problems.Add("Title", "A page needs a title.")
		}
		return problems.Err()
	}
	err := validate("")
	fmt.Println(kvmodel.HTTPStatus(err), kvmodel.ProblemsOf(err)["title"])
	// Output: 422 A page needs a title.
}

// A unique value that is taken is a problem of its field, too.
func ExampleProblemsOf() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &examples.Page{Slug: "home"}))

	err := m.Pages.Create(ctx, &examples.Page{Slug: "home"})
	for field := range kvmodel.ProblemsOf(err) {
		fmt.Println(field)
	}
	// Output: slug
}

// What shows a list works with any: a timeline, a ranking, a list of a value.
func ExampleLister() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.Create(ctx, &examples.Album{Artist: "nina", Title: "Blue"}))
	check(m.Stories.Create(ctx, &examples.Story{Author: "ann", Title: "Rings", Text: "They turn."}))

	fmt.Println(count(ctx, m.Albums.ByArtist.Of("nina")), count(ctx, m.Stories.NewestByAuthor.Of("ann")))
	// Output: 1 1
}

func count[T any](ctx context.Context, list kvmodel.Lister[T]) int {
	l, err := list.Page(ctx, "", 10)
	check(err)
	return len(l.Items)
}

// The cursors of a listing go into the links to the pages around it.
func ExampleListing() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, title := range []string{"one", "two", "three"} {
		check(m.Stories.Create(ctx, &examples.Story{Author: "ann", Title: title}))
	}

	var page kvmodel.Listing[examples.Story]
	page, err := m.Stories.NewestByAuthor.Of("ann").Page(ctx, "", 2)
	check(err)
	fmt.Println(len(page.Items), page.Prev == "", page.Next != "")
	page, err = m.Stories.NewestByAuthor.Of("ann").Page(ctx, page.Next, 2)
	check(err)
	fmt.Println(len(page.Items), page.Prev != "", page.Next == "")
	// Output:
	// 2 true true
	// 1 true true
}

// "Page 2 of 2", for readers who want to go to a page by its number.
func ExampleNumbered() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for i := range 3 {
		check(m.Recipes.Create(ctx, &examples.Recipe{ID: fmt.Sprint(i), Stars: int64(i)}))
	}

	var page kvmodel.Numbered[examples.Recipe]
	page, err := m.Recipes.TopStars.Numbered(ctx, 2, 2)
	check(err)
	fmt.Printf("page %d of %d, %d recipes in all\n", page.Page, page.Pages, page.Total)
	// Output: page 2 of 2, 3 recipes in all
}

// An index of your own, such as one for search, follows the records after the reply.
func ExampleChange() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	m.Pages.OnChange(func(ctx context.Context, c kvmodel.Change[examples.Page, string]) error {
		if c.Record == nil {
			fmt.Println("remove", c.ID)
			return nil
		}
		fmt.Println("index", c.ID, c.Record.Title)
		return nil
	})

	check(m.Pages.Create(ctx, &examples.Page{ID: "home", Slug: "home", Title: "Welcome"}))
	check(db.Flush(ctx)) // Wait for what comes after the reply.
	check(m.Pages.Delete(ctx, "home"))
	check(db.Flush(ctx))
	// Output:
	// index home Welcome
	// remove home
}

func ExampleHistory() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.Create(ctx, &examples.Album{ID: "a", Title: "Blue"}))
	_, err := m.Albums.Update(ctx, "a", func(a *examples.Album) error { a.Title = "Bleu"; return nil })
	check(err)

	album, err := m.Albums.History.Restore(ctx, "a", 1)
	check(err)
	fmt.Println(album.Title)
	// Output: Blue
}

func ExampleRevision() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Albums.Create(ctx, &examples.Album{ID: "a", Title: "Blue"}))
	check(m.Albums.Delete(ctx, "a"))

	revisions, err := m.Albums.History.Of(ctx, "a", 10)
	check(err)
	for _, r := range revisions {
		if r.Item == nil {
			fmt.Println(r.Rev, "deleted")
			continue
		}
		fmt.Println(r.Rev, r.Item.Title)
	}
	// Output:
	// 2 deleted
	// 1 Blue
}

// A job that was stopped goes on where it was.
func ExampleWalk() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &examples.User{ID: "ann", Name: "Ann"}))

	place := "" // An app keeps it somewhere.
	err := m.Users.Each(ctx, kvmodel.Walk{
		From:   place,
		Rate:   500, // in a second, so that the app does not wait
		Report: func(w kvmodel.Walked) { place = w.To },
	}, func(u *examples.User) error {
		fmt.Println("a letter to", u.Name)
		return nil
	})
	check(err)
	// Output: a letter to Ann
}

func ExampleWalked() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for i := range 3 {
		check(m.Recipes.Create(ctx, &examples.Recipe{ID: fmt.Sprint(i)}))
	}

	var last kvmodel.Walked
	walk := kvmodel.Walk{Report: func(w kvmodel.Walked) { last = w }}
	check(m.Recipes.Each(ctx, walk, func(*examples.Recipe) error { return nil }))
	fmt.Println(last.Done, "done,", last.Left, "left")
	// Output: 3 done, 0 left
}

// A metrics page shows what waits, and what failed after a reply.
func ExampleStats() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &examples.Page{Slug: "home"}))
	check(db.Flush(ctx))

	stats := db.Stats()
	fmt.Println(stats.Waiting, stats.Failed, stats.Unbuilt)
	// Output: 0 0 []
}

// A report must not change what it reads.
func ExampleReadOnly() {
	ctx := context.Background()
	db, m := opened(kvmodel.ReadOnly())
	defer db.Close(ctx)

	err := m.Pages.Create(ctx, &examples.Page{Slug: "home"})
	fmt.Println(errors.Is(err, kvmodel.ErrReadOnly))
	// Output: true
}

// A test sets the clock.
func ExampleClock() {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	db, m := opened(kvmodel.Clock(func() time.Time { return now }))
	defer db.Close(ctx)

	page := &examples.Page{Slug: "home"}
	check(m.Pages.Create(ctx, page))
	fmt.Println(page.Created.Format(time.DateOnly))
	// Output: 2026-05-01
}

// Two customers share a store, and neither sees the other's records.
func ExampleTenant() {
	ctx := context.Background()
	store := memkv.New(memkv.Options{})
	for _, tenant := range []string{"acme", "bolts"} {
		db, err := kvmodel.Open(store, kvmodel.Tenant(tenant))
		check(err)
		err = examples.New(db).Pages.Create(ctx, &examples.Page{Slug: "home"})
		fmt.Println(tenant, err)
		check(db.Flush(ctx))
	}
	// Output:
	// acme <nil>
	// bolts <nil>
}

// Hooks see every verb. The adapters for OpenTelemetry and Prometheus are made of them.
func ExampleHooks() {
	ctx := context.Background()
	db, m := opened(kvmodel.Observe(kvmodel.Hooks{
		Verb: func(ctx context.Context, w kvmodel.Work) (context.Context, func()) {
			if w.Model == "Page" {
				fmt.Println(w.Model, w.Verb)
			}
			return ctx, func() {}
		},
	}))
	defer db.Close(ctx)
	_, err := m.Pages.Get(ctx, "home")
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output:
	// Page Get
	// true
}

// Tools take all models of a package, without their types.
func ExampleModel() {
	ctx := context.Background()
	db, m := opened()
	defer db.Close(ctx)
	for _, model := range m.All()[:2] {
		fmt.Println(model.ModelName(), model.Rebuild(ctx))
	}
	// Output:
	// Account <nil>
	// Album <nil>
}
