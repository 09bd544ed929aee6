package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An app opens its database once, at start-up. Package kvopen opens one by URL.
func ExampleOpen() {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	check(err)
	m := wiki.New(db) // all models of a package
	fmt.Println(m.Pages.ModelName())
	check(db.Close(context.Background()))
	// Output: Page
}

// Close finishes the pending work after replies, until its context ends.
func ExampleDB() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	// Independent reads share their trips.
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))
	check(m.Pages.Create(ctx, &wiki.Page{ID: "home", Slug: "home", Title: "Welcome"}))
	var user *wiki.User
	var page *wiki.Page
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
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	page := &wiki.Page{Slug: "home", Title: "Welcome"}
	check(m.Pages.Create(ctx, page)) // gives it an id
	page, err := m.Pages.Update(ctx, page.ID, func(p *wiki.Page) error {
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

// A page can show the cost of its requests, and a test can limit it.
func ExampleMetered() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "home", Title: "Welcome"}))

	ctx, meter := kvmodel.Metered(ctx)
	_, err := m.Pages.Get(ctx, "home")
	check(err)
	fmt.Println(meter.Cost().Trips)
	// Output: 1
}

// The authors of all pages in a listing are loaded in one trip, each once.
func ExampleLoad() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))
	pages := []*wiki.Page{{Title: "Rings", Author: "ann"}, {Title: "Keys", Author: "ann"}, {Title: "Lost", Author: "bob"}}

	authors, err := kvmodel.Load(ctx, m.Users.Records, pages, func(p *wiki.Page) string { return p.Author })
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

// A program that moves data here can be stopped, and run again from the beginning.
func ExampleLoadOptions() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	rows := func(yield func(*wiki.User, error) bool) { // from another database
		for i := range 2500 {
			id := fmt.Sprint("u", i)
			if !yield(&wiki.User{ID: id, Name: id}, nil) {
				return
			}
		}
	}
	n, err := m.Users.Load(ctx, rows, kvmodel.LoadOptions{
		PerSecond: 1_000_000, // leaves room for others
		Progress:  func(n int) { fmt.Println(n, "are done") },
		Failed:    func(i int, err error) { fmt.Println("row", i, err) },
	})
	fmt.Println(n, err)
	// Output:
	// 1000 are done
	// 2000 are done
	// 2500 are done
	// 2500 <nil>
}

// An id in a form makes the form safe to send twice: the second Create returns ErrExists.
func ExampleNewID() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	id := kvmodel.NewID(time.Now()) // a hidden field of the form
	for range 2 {
		err := m.Pages.Create(ctx, &wiki.Page{ID: id, Title: "News"})
		fmt.Println(errors.Is(err, kvmodel.ErrExists))
	}
	// Output:
	// false
	// true
}

// A visitor may change the id in a form.
func ExampleIsID() {
	fmt.Println(kvmodel.IsID(kvmodel.NewID(time.Now())), kvmodel.IsID("../edit"))
	// Output: true false
}

// A handler needs one line to turn any error into a status.
func ExampleHTTPStatus() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	_, err := m.Pages.Get(ctx, "none")
	fmt.Println(kvmodel.HTTPStatus(err), kvmodel.HTTPStatus(nil))
	// Output: 404 200
}

// Of many records created together, each can fail on its own.
func ExampleItems() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Title: "Welcome", Slug: "home"}))

	pages := []*wiki.Page{{ID: "a", Title: "Rings"}, {ID: "b", Title: "Keys", Slug: "home"}, {ID: "c"}}
	err := m.Pages.CreateMulti(ctx, pages)
	for i, err := range kvmodel.Items(err) {
		fmt.Println(pages[i].ID, kvmodel.HTTPStatus(err))
	}
	// Output:
	// b 409
	// c 422
}

func ExampleItemError() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)

	err := m.Pages.CreateMulti(ctx, []*wiki.Page{{Title: "Rings"}, {Slug: "no-title"}})
	if item, ok := errors.AsType[*kvmodel.ItemError](err); ok {
		fmt.Println("page", item.Index, "is refused:", kvmodel.ProblemsOf(item)["title"])
	}
	// Output: page 1 is refused: A page needs a title.
}

// A form shows the owner of the taken name.
func ExampleTakenError() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))

	err := m.Users.Create(ctx, &wiki.User{ID: "eve", Name: "Ann"})
	if taken, ok := errors.AsType[*kvmodel.TakenError](err); ok {
		fmt.Println(taken.Fields, taken.Value, "is taken by", taken.ID)
	}
	// Output: [Name] Ann is taken by ann
}

// Validate collects the problems of a record, for a form to show next to its fields.
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

// A taken unique value is a problem of its field, too.
func ExampleProblemsOf() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"}))

	err := m.Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"})
	for field := range kvmodel.ProblemsOf(err) {
		fmt.Println(field)
	}
	// Output: slug
}

// Code that shows a list works with any: a timeline, a ranking, a list of a value.
func ExampleLister() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Author: "ann", Title: "Rings", Text: "They turn."}))

	fmt.Println(count(ctx, m.Pages.ByAuthor.Of("ann")), count(ctx, m.Pages.Newest), count(ctx, m.Pages.TitleAZ))
	// Output: 1 1 1
}

func count[T any](ctx context.Context, list kvmodel.Lister[T]) int {
	l, err := list.Page(ctx, "", 10)
	check(err)
	return len(l.Items)
}

// The cursors of a listing go into the links to the adjacent pages.
func ExampleListing() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, title := range []string{"one", "two", "three"} {
		check(m.Pages.Create(ctx, &wiki.Page{Author: "ann", Title: title}))
	}

	var page kvmodel.Listing[wiki.Page]
	page, err := m.Pages.NewestByAuthor.Of("ann").Page(ctx, "", 2)
	check(err)
	fmt.Println(len(page.Items), page.Prev == "", page.Next != "")
	page, err = m.Pages.NewestByAuthor.Of("ann").Page(ctx, page.Next, 2)
	check(err)
	fmt.Println(len(page.Items), page.Prev != "", page.Next == "")
	// Output:
	// 2 true true
	// 1 true true
}

// Readers can go to a page by its number, as in "Page 2 of 2".
func ExampleNumbered() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for i := range 3 {
		check(m.Pages.Create(ctx, &wiki.Page{Title: fmt.Sprint("page ", i)}))
	}

	var page kvmodel.Numbered[wiki.Page]
	page, err := m.Pages.TitleAZ.Numbered(ctx, 2, 2)
	check(err)
	fmt.Printf("page %d of %d, %d pages in all\n", page.Page, page.Pages, page.Total)
	// Output: page 2 of 2, 3 pages in all
}

// An index of your own, such as one for search, follows the records after the reply.
func ExampleChange() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	m.Pages.OnChange(func(ctx context.Context, c kvmodel.Change[wiki.Page, string]) error {
		if c.Record == nil {
			fmt.Println("remove", c.ID)
			return nil
		}
		fmt.Println("index", c.ID, c.Record.Title)
		return nil
	})

	check(m.Pages.Create(ctx, &wiki.Page{ID: "home", Slug: "home", Title: "Welcome"}))
	check(db.Flush(ctx)) // Wait for work after replies.
	check(m.Pages.Delete(ctx, "home"))
	check(db.Flush(ctx))
	// Output:
	// index home Welcome
	// remove home
}

func ExampleHistory() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "a", Title: "Blue"}))
	_, err := m.Pages.Update(ctx, "a", func(p *wiki.Page) error { p.Title = "Bleu"; return nil })
	check(err)

	page, err := m.Pages.History.Restore(ctx, "a", 1)
	check(err)
	fmt.Println(page.Title)
	// Output: Blue
}

func ExampleRevision() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "a", Title: "Blue"}))
	check(m.Pages.Delete(ctx, "a"))

	revisions, err := m.Pages.History.Of(ctx, "a", 10)
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

// A stopped job continues from its last position.
func ExampleWalk() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))

	place := "" // An app stores it somewhere.
	err := m.Users.Each(ctx, kvmodel.Walk{
		From:   place,
		Rate:   500, // per second, so that the app does not wait
		Report: func(to string, _, _ int64) { place = to },
	}, func(u *wiki.User) error {
		fmt.Println("a letter to", u.Name)
		return nil
	})
	check(err)
	// Output: a letter to Ann
}

// A metrics page shows the waiting work, and the work that failed after a reply.
func ExampleStats() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"}))
	check(db.Flush(ctx))

	stats := db.Stats()
	fmt.Println(stats.Waiting, stats.Failed, stats.Unbuilt)
	// Output: 0 0 []
}

// A report must not change the data it reads.
func ExampleReadOnly() {
	ctx := context.Background()
	db, m := wiki.InMemory(kvmodel.ReadOnly())
	defer db.Close(ctx)

	err := m.Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"})
	fmt.Println(errors.Is(err, kvmodel.ErrReadOnly))
	// Output: true
}

// A test sets the clock.
func ExampleClock() {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	db, m := wiki.InMemory(kvmodel.Clock(func() time.Time { return now }))
	defer db.Close(ctx)

	page := &wiki.Page{Slug: "home", Title: "Welcome"}
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
		err = wiki.New(db).Pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome"})
		fmt.Println(tenant, err)
		check(db.Flush(ctx))
	}
	// Output:
	// acme <nil>
	// bolts <nil>
}

// Counting a view need not wait for the disk.
func ExampleRelaxed() {
	ctx := context.Background()
	_, m := wiki.InMemory()
	page := &wiki.Page{Slug: "home", Title: "Welcome"}
	check(m.Pages.Create(ctx, page))
	views, err := m.Pages.Views.Hit(kvmodel.Relaxed(ctx), page.ID)
	fmt.Println(views, err)
	// Output: 1 <nil>
}

// Hooks see every verb. The adapters for OpenTelemetry and Prometheus are made of them.
func ExampleHooks() {
	ctx := context.Background()
	db, m := wiki.InMemory(kvmodel.Observe(kvmodel.Hooks{
		Verb: func(ctx context.Context, w kv.Work) (context.Context, func()) {
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

// Tools accept all models of a package, without their types.
func ExampleModel() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, model := range m.All() {
		fmt.Print(model.ModelName(), " ")
	}
	// Output: Like Page Ticket User Visit
}

// A change of several records that always completes: if its process dies midway, another one
// finishes it.
func ExampleNewIntent() {
	type rename struct{ ID, Name string }
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	renames := kvmodel.NewIntent(db, "rename", func(ctx context.Context, r rename) error {
		_, err := m.Users.Update(ctx, r.ID, func(u *wiki.User) error { u.Name = r.Name; return nil })
		if err != nil {
			return err
		}
		_, err = m.Pages.Update(ctx, "about-"+r.ID, func(p *wiki.Page) error { p.Title = r.Name; return nil })
		return err
	})

	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))
	check(m.Pages.Create(ctx, &wiki.Page{ID: "about-ann", Title: "Ann"}))
	check(renames.Do(ctx, rename{ID: "ann", Name: "Anna"}))
	page, err := m.Pages.Get(ctx, "about-ann")
	check(err)
	fmt.Println(page.Title)
	// Output: Anna
}

// An intent that cannot be carried out is refused, and nothing is left to do.
func ExampleIntent() {
	type move struct{ From, To string }
	errSame := errors.New("from and to are the same")
	ctx := context.Background()
	db, _ := wiki.InMemory()
	defer db.Close(ctx)
	moves := kvmodel.NewIntent(db, "move", func(_ context.Context, m move) error {
		if m.From == m.To {
			return kvmodel.Refused(errSame)
		}
		return nil
	})

	err := moves.Do(ctx, move{From: "ann", To: "ann"})
	fmt.Println(errors.Is(err, errSame), errors.Is(err, kvmodel.ErrUnclear))
	// Output: true false
}

// Underway returns the intents of all processes that have begun and not ended.
func ExampleUnderway() {
	ctx := context.Background()
	db, _ := wiki.InMemory(kvmodel.Log(slog.New(slog.DiscardHandler)))
	var away atomic.Bool
	away.Store(true)
	mails := kvmodel.NewIntent(db, "mail", func(context.Context, struct{ To string }) error {
		if away.Load() {
			return errors.New("the mail server is away")
		}
		return nil
	})
	_ = mails.Do(ctx, struct{ To string }{"ann"}) // The rest continues after the reply.

	all, err := db.Underway(ctx)
	check(err)
	for _, intent := range all {
		fmt.Println(intent.Name, intent.Args["To"], intent.Own)
	}
	away.Store(false)
	check(db.Close(ctx))
	// Output: mail ann true
}

// Builds of indexes report their progress. The first release with a new index builds it.
func ExampleBuild() {
	ctx := context.Background()
	db, m := wiki.InMemory(kvmodel.Log(slog.New(slog.DiscardHandler)), kvmodel.Observe(kvmodel.Hooks{
		Build: func(b kvmodel.Build) { fmt.Println(b.Model, b.Done, "of", b.Total) },
	}))
	defer db.Close(ctx)
	check(m.Users.CreateMulti(ctx, []*wiki.User{{Name: "Ann"}, {Name: "Bob"}}))

	check(m.Users.Rebuild(ctx))
	// Output: User 2 of 2
}

// A tool that builds an index over unique values reports the records in conflict.
func ExampleDuplicatesError() {
	report := func(err error) {
		if duplicates, ok := errors.AsType[*kvmodel.DuplicatesError](err); ok {
			for _, taken := range duplicates.Records {
				fmt.Println("change", duplicates.Model, taken.By)
			}
		}
	}
	report(&kvmodel.DuplicatesError{Model: "User", Records: []*kvmodel.TakenError{
		{Model: "User", Index: "ByName", Value: "Ann", ID: "ann", By: "eve"},
	}})
	// Output: change User eve
}

// The repair commands take the key of a damaged item.
func ExampleCorruptError() {
	ctx := context.Background()
	store := memkv.New(memkv.Options{})
	db, err := kvmodel.Open(store)
	check(err)
	m := wiki.New(db)
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))
	check(db.Flush(ctx))
	check(store.Do(ctx, []kv.Op{{Kind: kv.Set, Key: "r:User:ann", Value: []byte("?")}})) // a tool gone wrong

	another, err := kvmodel.Open(store, kvmodel.ReadOnly()) // It has not read the record yet.
	check(err)
	_, err = wiki.New(another).Users.Get(ctx, "ann")
	if corrupt, ok := errors.AsType[*kvmodel.CorruptError](err); ok {
		fmt.Println(corrupt.Keys)
	}
	// Output: [r:User:ann]
}

// Requests to a store on servers that are sometimes restarted are repeated.
func ExampleRetries() {
	ctx := context.Background()
	store := kvtest.Faulty(memkv.New(memkv.Options{}), 1, kvtest.Unsent) // Its first op fails.
	db, err := kvmodel.Open(store, kvmodel.Retries(3, time.Millisecond))
	check(err)
	defer db.Close(ctx)

	_, err = wiki.New(db).Pages.Get(ctx, "home")
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output: true
}

// A store shared by several processes knows them.
func ExampleWriter() {
	ctx := context.Background()
	db, err := kvmodel.Open(struct{ kv.Store }{memkv.New(memkv.Options{})}, kvmodel.Release("2026-05-01"))
	check(err)
	defer db.Close(ctx)
	check(wiki.New(db).Users.Create(ctx, &wiki.User{Name: "Ann"}))

	writers, err := db.Writers(ctx)
	check(err)
	for _, w := range writers {
		fmt.Println(w.Own, w.Release)
	}
	// Output: true 2026-05-01
}

// A test counts the trips that a handler makes.
func ExampleTrip() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	trips := 0
	stop := db.OnTrip(func(_ context.Context, t kv.Trip) { trips++ })
	defer stop()

	_, err := m.Users.GetMulti(ctx, []string{"ann", "bob"})
	check(err)
	fmt.Println(trips)
	// Output: 1
}

// The cursors of your own listing are opaque, too, and belong only to it.
func ExampleCursor() {
	cursor := plug.Cursor("Search", []byte("20"))
	position, err := plug.ParseCursor("Search", cursor)
	fmt.Println(string(position), err)
	// Output: 20 <nil>
}

// A search engine used by the app is a listing like the others.
func ExampleCheckPage() {
	search := func(n int) error {
		if err := plug.CheckPage("Search", n); err != nil {
			return err
		}
		return nil // and ask it
	}
	fmt.Println(kvmodel.HTTPStatus(search(10)), kvmodel.HTTPStatus(search(100_000)))
	// Output: 200 422
}

func ExampleCheckNumber() {
	fmt.Println(plug.CheckNumber("Search", 1, 10))
	fmt.Println(kvmodel.HTTPStatus(plug.CheckNumber("Search", 0, 10)))
	// Output:
	// <nil>
	// 422
}

// The deletion of a page with many comments goes on after the reply.
func ExampleCascade() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "home", Title: "Welcome"}))
	for i := range 3 {
		check(m.Likes.Create(ctx, &wiki.Like{User: fmt.Sprint("user ", i), Page: "home"}))
	}

	check(m.Pages.Delete(ctx, "home"))
	for _, c := range db.Stats().Cascades {
		fmt.Println(c.Model, c.ID, "has left", c.Deleted)
	}
	check(db.Flush(ctx))
	n, err := m.Likes.ByPage.Of("home").Count(ctx)
	check(err)
	fmt.Println(n)
	// Output: 0
}

// The pages of a wiki are one list, and its contents show them as a tree.
func ExampleTree() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	for _, id := range []string{"rings", "boards", "rings/size", "rings/size/limits"} {
		check(m.Pages.Create(ctx, &wiki.Page{ID: id, Title: "About " + id}))
	}

	var pages []*wiki.Page
	for p, err := range m.Pages.All(ctx) {
		check(err)
		pages = append(pages, p)
	}
	parent := func(p *wiki.Page) string { return path.Dir(p.ID) } // no page is called "."
	byTitle := func(a, b *wiki.Page) int { return strings.Compare(a.Title, b.Title) }
	for _, branch := range kvmodel.Tree(m.Pages.Records, pages, parent, byTitle) {
		fmt.Println(strings.Repeat("  ", branch.Depth) + branch.Item.Title)
	}
	// Output:
	// About boards
	// About rings
	//   About rings/size
	//     About rings/size/limits
}
