package examples_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
)

func addAlbums(ctx context.Context, m models) {
	for _, a := range []examples.Album{
		{ID: "a1", Artist: "ella", Tags: []string{"jazz", "live"}, Shop: "quay", Shelf: 3, Title: "Ella in Berlin"},
		{ID: "a2", Artist: "ella", Tags: []string{"jazz"}, Shop: "quay", Shelf: 4, Title: "Ella and Louis"},
		{ID: "a3", Artist: "nina", Tags: []string{"jazz", "soul"}, Shop: "quay", Shelf: 3, Title: "Pastel Blues"},
	} {
		check(m.Albums.Create(ctx, &a))
	}
}

func titlesOf(albums []*examples.Album) []string {
	var all []string
	for _, a := range albums {
		all = append(all, a.Title)
	}
	slices.Sort(all) // A list has no order.
	return all
}

// Children are deleted with a record: after the reply to Delete, and after a crash.
func Example_deletedTogether() {
	ctx, m, done := open()
	defer done()
	page := &examples.Page{Slug: "tea", Title: "Tea"}
	check(m.Pages.Create(ctx, page))
	for _, user := range []string{"ann", "bob"} {
		check(m.Votes.Create(ctx, &examples.Vote{User: user, Page: page.ID}))
	}
	n, err := m.Votes.ByPage.Of(page.ID).Size(ctx)
	check(err)
	fmt.Println(n, "votes")

	check(m.Pages.Delete(ctx, page.ID))
	check(m.Flush(ctx)) // It waits for work after replies.
	n, err = m.Votes.ByPage.Of(page.ID).Size(ctx)
	check(err)
	fmt.Println(n, "votes")
	// Output:
	// 2 votes
	// 0 votes
}

func Example_list() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	page, err := m.Albums.ByArtist.Of("ella").Page(ctx, "", 20)
	check(err)
	fmt.Println(titlesOf(page.Items))

	// A page may leave out records.
	page, err = m.Albums.ByTags.Of("jazz").Page(ctx, "", 20, func(a *examples.Album) bool { return a.Artist != "ella" })
	check(err)
	fmt.Println(titlesOf(page.Items))

	_, err = m.Albums.Update(ctx, "a2", func(a *examples.Album) error {
		a.Tags = append(a.Tags, "live")
		return nil
	})
	check(err)
	n, err := m.Albums.ByTags.Of("live").Size(ctx)
	check(err)
	in, err := m.Albums.ByTags.Of("live").Contains(ctx, "a3")
	check(err)
	fmt.Println(n, "live;", "a3 is:", in)
	// Output:
	// [Ella and Louis Ella in Berlin]
	// [Pastel Blues]
	// 2 live; a3 is: false
}

// The tags of a blog: the most used first, for a cloud, and in order, for an index.
func Example_values() {
	ctx, m, done := open()
	defer done()
	for _, a := range []examples.Article{
		{ID: "tea", Tags: []string{"green", "travel"}},
		{ID: "coffee", Tags: []string{"travel"}},
		{ID: "water", Tags: []string{"green", "free", "travel"}},
	} {
		check(m.Articles.Create(ctx, &a))
	}
	tags := m.Articles.ByTags.Values

	cloud, err := tags.Page(ctx, "", 2)
	check(err)
	for _, tag := range cloud.Items {
		fmt.Println(tag.Value, tag.Count)
	}
	index, err := tags.Words(ctx, "", 10)
	check(err)
	for _, tag := range index.Items {
		fmt.Println(tag.Value)
	}

	// A tag without articles is no value.
	check(m.Articles.Delete(ctx, "water"))
	free, err := tags.Has(ctx, "free")
	check(err)
	n, err := tags.Count(ctx, "travel")
	check(err)
	fmt.Println("free:", free, "travel:", n)
	// Output:
	// travel 3
	// green 2
	// free
	// green
	// travel
	// free: false travel: 2
}

// A list over several fields has the records in which all of them are the same. A loop can go
// through all of it, by ids or by records.
func Example_listOfSeveralFields() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	shelf := m.Albums.ByShopShelf.Of(examples.ShopShelf{Shop: "quay", Shelf: 3})
	var ids []string
	for id, err := range shelf.IDs(ctx) {
		check(err)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	fmt.Println(ids)
	// Output: [a1 a3]
}

// An edge with lists on both sides answers two questions: which albums a user loves, and who loves
// an album. The album has the number of its hearts.
func Example_manyToMany() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	check(m.Hearts.Create(ctx, &examples.Heart{User: "ann", Album: "a1"}))
	check(m.Hearts.Create(ctx, &examples.Heart{User: "bob", Album: "a1"}))
	check(m.Hearts.Create(ctx, &examples.Heart{User: "ann", Album: "a3"}))
	err := m.Hearts.Create(ctx, &examples.Heart{User: "ann", Album: "a3"})
	fmt.Println("once more:", errors.Is(err, kvmodel.ErrExists))

	hearts, err := m.Hearts.ByUser.Of("ann").Page(ctx, "", 20)
	check(err)
	albums, err := kvmodel.Load(ctx, m.Albums.Records, hearts.Items, func(h *examples.Heart) string { return h.Album })
	check(err)
	for _, id := range []string{"a1", "a3"} {
		fmt.Println(albums[id].Title, albums[id].Hearts)
	}

	check(m.Hearts.Delete(ctx, examples.HeartID{User: "bob", Album: "a1"}))
	n, err := m.Albums.Hearts.Get(ctx, "a1")
	check(err)
	fmt.Println("without bob's:", n)
	// Output:
	// once more: true
	// Ella in Berlin 2
	// Pastel Blues 1
	// without bob's: 1
}

// A counter is stored beside the record: loading the record fills it in, and writing the record
// leaves it alone.
func Example_counter() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	for range 3 {
		_, err := m.Albums.Plays.Hit(ctx, "a2")
		check(err)
	}
	album, err := m.Albums.Get(ctx, "a2")
	check(err)
	fmt.Println(album.Title, album.Plays)
	// Output: Ella and Louis 3
}

// The number of records costs one trip.
func ExampleAlbums_Count() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	check(m.Albums.Delete(ctx, "a2"))
	n, err := m.Albums.Count(ctx)
	check(err)
	fmt.Println(n, "albums")
	// Output: 2 albums
}

// Numbers have an order and no gaps, with any number of concurrent creations.
func Example_sequence() {
	ctx, m, done := open()
	defer done()

	for _, text := range []string{"no sound", "too loud", "a scratch"} {
		ticket := &examples.Ticket{Text: text}
		check(m.Tickets.Create(ctx, ticket))
		fmt.Println(ticket.ID, ticket.Text)
	}
	n, err := m.Tickets.Sequence.Count(ctx)
	check(err)
	last, err := m.Tickets.Sequence.LastPage(ctx, 2)
	check(err)
	fmt.Println(n, "in all; before", last.Items[0].Text, "there are more:", last.Prev != "")
	// Output:
	// 1 no sound
	// 2 too loud
	// 3 a scratch
	// 3 in all; before too loud there are more: true
}

// Workers share a sequence. One that was stopped continues with a Range from its place.
func Example_sequenceInParts() {
	ctx, m, done := open()
	defer done()
	for range 10 {
		check(m.Tickets.Create(ctx, new(examples.Ticket)))
	}

	spans, err := m.Tickets.Sequence.Split(ctx, 3)
	check(err)
	for _, span := range spans {
		var numbers []int64
		for ticket, err := range m.Tickets.Sequence.Range(ctx, span.First, span.Last) {
			check(err)
			numbers = append(numbers, ticket.N)
		}
		fmt.Println(numbers)
	}
	// Output:
	// [1 2 3]
	// [4 5 6]
	// [7 8 9 10]
}

// The last bodies of a record are kept, and can be written again.
func Example_history() {
	ctx, m, done := open()
	defer done()
	addAlbums(ctx, m)

	_, err := m.Albums.Update(ctx, "a3", func(a *examples.Album) error {
		a.Title = "???"
		return nil
	})
	check(err)
	revisions, err := m.Albums.History.Of(ctx, "a3", 10)
	check(err)
	for _, r := range revisions {
		fmt.Println(r.Rev, r.Item.Title)
	}
	album, err := m.Albums.History.Restore(ctx, "a3", 1)
	check(err)
	fmt.Println("again:", album.Title)
	// Output:
	// 2 ???
	// 1 Pastel Blues
	// again: Pastel Blues
}

// The score of a talk is the sum of its votes, also after a user has changed one.
func Example_sum() {
	ctx, m, done := open()
	defer done()
	check(m.Talks.Create(ctx, &examples.Talk{ID: "trees"}))
	for user, value := range map[string]int64{"ann": 1, "bob": -1, "cy": -1} {
		check(m.Ballots.Create(ctx, &examples.Ballot{User: user, Talk: "trees", Value: value}))
	}
	show := func() {
		talk, err := m.Talks.Get(ctx, "trees")
		check(err)
		fmt.Println(talk.Votes, "votes,", talk.Against, "against, score", talk.Score)
	}
	show()
	check(m.Ballots.Put(ctx, &examples.Ballot{User: "bob", Talk: "trees", Value: 1}))
	show()
	check(m.Ballots.Delete(ctx, examples.BallotID{User: "cy", Talk: "trees"}))
	show()

	check(m.Flush(ctx))
	page, err := m.Talks.TopScore.Page(ctx, "", 10)
	check(err)
	user := "bob"
	mine := func(t *examples.Talk) examples.BallotID { return examples.BallotID{User: user, Talk: t.ID} }
	votes, err := kvmodel.Load(ctx, m.Ballots.Records, page.Items, mine)
	check(err)
	for _, t := range page.Items {
		if vote := votes[mine(t)]; vote != nil {
			fmt.Println(user, "gave", vote.Value)
		}
	}
	// Output:
	// 3 votes, 2 against, score -1
	// 3 votes, 1 against, score 1
	// 2 votes, 0 against, score 2
	// bob gave 1
}
