package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// An app has one database, opened when it starts: see package kvopen.
func open(opts ...kvmodel.Option) (ctx context.Context, m models, done func()) {
	return openStore(memkv.Options{Local: true}, opts...)
}

func openStore(o memkv.Options, opts ...kvmodel.Option) (ctx context.Context, m models, done func()) {
	db, err := kvmodel.Open(memkv.New(o), opts...)
	check(err)
	ctx = context.Background()
	return ctx, models{examples.New(db), db}, func() { check(db.Close(ctx)) }
}

// byMinutes is a clock that advances by a minute each time it is read.
func byMinutes() kvmodel.Option {
	var minutes atomic.Int64
	return kvmodel.Clock(func() time.Time { return time.Unix(60*minutes.Add(1), 0) })
}

type models struct {
	*examples.Models
	*kvmodel.DB
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func Example() {
	ctx, m, done := open()
	defer done()

	page := &examples.Page{Slug: "welcome", Title: "Welcome"}
	check(m.Pages.Create(ctx, page)) // gives it an id

	page, err := m.Pages.Get(ctx, page.ID)
	check(err)
	fmt.Println(page.Title)

	page, err = m.Pages.BySlug.Find(ctx, "welcome")
	check(err)

	page, err = m.Pages.Update(ctx, page.ID, func(p *examples.Page) error {
		p.Title += " back"
		return nil
	})
	check(err)
	fmt.Println(page.Title)

	check(m.Pages.Delete(ctx, page.ID))
	_, err = m.Pages.Get(ctx, page.ID)
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output:
	// Welcome
	// Welcome back
	// true
}

// A record whose id is made of others' ids is an edge: it exists or not, so no one votes twice.
func ExampleVotes_Create() {
	ctx, m, done := open()
	defer done()

	vote := func() {
		err := m.Votes.Create(ctx, &examples.Vote{User: "ann", Page: "welcome"})
		if errors.Is(err, kvmodel.ErrExists) {
			fmt.Println("you have voted already")
			return
		}
		check(err)
		fmt.Println("thank you")
	}
	vote()
	vote()

	// Which of these pages has Ann voted for? One trip.
	votes, err := m.Votes.GetMulti(ctx, []examples.VoteID{{"ann", "welcome"}, {"ann", "news"}})
	check(err)
	fmt.Println(votes[0] != nil, votes[1] != nil)
	// Output:
	// thank you
	// you have voted already
	// true false
}

// A sign-up form shows which value is taken, and what Validate returns.
func ExampleUsers_Create() {
	ctx, m, done := open()
	defer done()

	signUp := func(name, mail string) {
		err := m.Users.Create(ctx, &examples.User{Name: name, Mail: mail})
		taken, isTaken := errors.AsType[*kvmodel.TakenError](err)
		switch {
		case isTaken:
			fmt.Printf("the %s %s is taken\n", taken.Fields[0], taken.Value)
		case errors.Is(err, examples.ErrNoName): // from Validate
			fmt.Println(examples.ErrNoName)
		default:
			check(err)
			fmt.Println("welcome,", name)
		}
	}
	signUp("ann", "ann@example.com")
	signUp("ann", "other@example.com")
	signUp("bob", " Ann@Example.com")
	signUp("", "cid@example.com")
	// Output:
	// welcome, ann
	// the Name ann is taken
	// the Address ann@example.com is taken
	// a user needs a name
}

// A form carries the version that it shows. Put refuses it if another user has saved the page in
// between.
func ExamplePages_Put() {
	ctx, m, done := open()
	defer done()
	check(m.Pages.Create(ctx, &examples.Page{ID: "welcome", Title: "Welcome"}))

	anns, err := m.Pages.Get(ctx, "welcome")
	check(err)
	bobs, err := m.Pages.Get(ctx, "welcome")
	check(err)

	anns.Title = "Hello"
	fmt.Println("Ann:", m.Pages.Put(ctx, anns), "now at version", anns.Version)
	bobs.Title = "Good morning"
	err = m.Pages.Put(ctx, bobs)
	fmt.Println("Bob:", errors.Is(err, kvmodel.ErrConflict), err)
	// Output:
	// Ann: <nil> now at version 2
	// Bob: true Page "welcome": changed by someone else: it is at version 2, not 1
}

// A page in the trash can be read by its id, but is in no index: its address is free.
func ExamplePages_trash() {
	ctx, m, done := open()
	defer done()
	old := &examples.Page{Slug: "news", Title: "Old news"}
	check(m.Pages.Create(ctx, old))

	_, err := m.Pages.Update(ctx, old.ID, func(p *examples.Page) error {
		p.Trashed = time.Now()
		return nil
	})
	check(err)
	check(m.Pages.Create(ctx, &examples.Page{Slug: "news", Title: "Fresh news"}))

	found, err := m.Pages.BySlug.Find(ctx, "news")
	check(err)
	fmt.Println(found.Title)

	// To take it out of the trash would need the address.
	_, err = m.Pages.Update(ctx, old.ID, func(p *examples.Page) error {
		p.Trashed = time.Time{}
		return nil
	})
	fmt.Println(errors.Is(err, kvmodel.ErrExists))
	// Output:
	// Fresh news
	// true
}

func ExamplePages_Upsert() {
	ctx, m, done := open()
	defer done()

	for range 2 {
		page, err := m.Pages.Upsert(ctx, "log", func(p *examples.Page) error {
			p.Title += "."
			return nil
		})
		check(err)
		fmt.Println(page.ID, page.Title, page.Version)
	}
	// Output:
	// log . 1
	// log .. 2
}

// Work that follows a change, such as a mail, is done after the reply, and also after a crash. It
// may run twice.
func ExampleUsers_OnChange() {
	ctx, m, done := open()

	m.Users.OnChange(func(ctx context.Context, c kvmodel.Change[examples.User, string]) error {
		if c.Record == nil {
			fmt.Println("goodbye", c.ID)
		} else if c.Created {
			fmt.Println("mail to", c.Record.Mail)
		}
		return nil
	})
	check(m.Users.Create(ctx, &examples.User{ID: "1", Name: "ann", Mail: "ann@example.com"}))
	done() // waits for it
	// Output:
	// mail to ann@example.com
}

// Load fetches referenced records, each once, in one trip.
func Example_load() {
	ctx, m, done := open()
	defer done()
	check(m.Users.CreateMulti(ctx, []*examples.User{{ID: "1", Name: "ann"}, {ID: "2", Name: "bob"}}))

	pages := []*examples.Page{
		{Title: "Welcome", Author: "1"},
		{Title: "News", Author: "2"},
		{Title: "Log", Author: "1"},
		{Title: "Ruins", Author: "somebody who is gone"},
	}
	ctx, meter := kvmodel.Metered(ctx)
	authors, err := kvmodel.Load(ctx, m.Users.Records, pages, func(p *examples.Page) string { return p.Author })
	check(err)
	for _, p := range pages {
		if author := authors[p.Author]; author != nil {
			fmt.Println(p.Title, "by", author.Name)
		}
	}
	fmt.Println(meter.Cost().Trips, "trip")
	// Output:
	// Welcome by ann
	// News by bob
	// Log by ann
	// 1 trip
}

// A session expires at the time it names. A field tagged - is not stored.
func ExampleSessions_Create() {
	start, later := time.Now(), new(atomic.Int64)
	clock := func() time.Time { return start.Add(time.Duration(later.Load())) }
	ctx, m, done := openStore(memkv.Options{Now: clock}, kvmodel.Clock(clock))
	defer done()

	check(m.Sessions.Create(ctx, &examples.Session{Token: "t", User: "1", Until: start.Add(time.Hour), Secret: "s"}))
	session, err := m.Sessions.Get(ctx, "t")
	check(err)
	fmt.Printf("%s %q\n", session.User, session.Secret)

	later.Store(int64(61 * time.Minute))
	_, err = m.Sessions.Get(ctx, "t")
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output:
	// 1 ""
	// true
}

// A visit extends a session if half of its time is over. Its entry in the list of its user follows.
func ExampleSessions_Touch() {
	start, later := time.Now(), new(atomic.Int64)
	clock := func() time.Time { return start.Add(time.Duration(later.Load())) }
	ctx, m, done := openStore(memkv.Options{Now: clock}, kvmodel.Clock(clock))
	defer done()

	const idle = time.Hour
	visit := func(token string) (*examples.Session, error) {
		session, err := m.Sessions.Get(ctx, token)
		if err != nil {
			return nil, err
		}
		if session.Until.Sub(clock()) < idle/2 {
			err = m.Sessions.Touch(ctx, token, clock().Add(idle))
		}
		return session, err
	}
	check(m.Sessions.Create(ctx, &examples.Session{Token: "t", User: "ann", Until: start.Add(idle)}))
	for _, after := range []time.Duration{20 * time.Minute, 40 * time.Minute, 90 * time.Minute, 3 * time.Hour} {
		later.Store(int64(after))
		_, err := visit("t")
		n, errCount := m.Sessions.ByUser.Of("ann").Count(ctx)
		check(errCount)
		fmt.Println(after, err == nil, n)
	}
	// Output:
	// 20m0s true 1
	// 40m0s true 1
	// 1h30m0s true 1
	// 3h0m0s false 0
}
