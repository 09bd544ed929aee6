package examples_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// gallery makes photos p00, p01, ... each viewed once more than the one before.
func gallery(m models, n int) {
	ctx := context.Background()
	for i := range n {
		p := &examples.Photo{ID: fmt.Sprintf("p%02d", i), Category: []string{"sea", "town"}[i%2], Shown: true}
		check(m.Photos.Create(ctx, p))
		for range i {
			_, err := m.Photos.Views.Hit(ctx, p.ID) // one access to the store
			check(err)
		}
	}
	// Rankings follow within a second; Flush does not wait for that.
	check(m.Flush(ctx))
}

func seen(places []ranking.Place[examples.Photo, int64]) {
	for _, p := range places {
		fmt.Printf("%d. %s, seen %d times\n", p.Rank, p.Item.ID, p.Score)
	}
}

// The most viewed photos, and the next page.
func Example_top() {
	ctx, m, done := open()
	defer done()
	gallery(m, 30)

	page, err := m.Photos.TopViews.Page(ctx, "", 20)
	check(err)
	first, last := page.Items[0], page.Items[19]
	fmt.Println(len(page.Items), "photos, from", first.ID, "seen", first.Views, "times to", last.ID, "seen", last.Views, "times")

	page, err = m.Photos.TopViews.Page(ctx, page.Next, 20)
	check(err)
	fmt.Println(page.Items[0].ID, "comes next")
	// Output:
	// 20 photos, from p29 seen 29 times to p10 seen 10 times
	// p09 comes next
}

// A ranking that follows one in many plays, while each play is counted. It lags a little, and a
// play costs one access to the store.
func Example_sampled() {
	ctx, m, done := open()
	defer done()
	check(m.Clips.Create(ctx, &examples.Clip{ID: "clip"}))
	for range 2000 {
		_, err := m.Clips.Plays.Hit(ctx, "clip")
		check(err)
	}
	check(m.Flush(ctx))
	clip, err := m.Clips.Get(ctx, "clip")
	check(err)
	top, err := m.Clips.TopPlays.At(ctx, 1, 1)
	check(err)
	behind := clip.Plays - top[0].Score // some thirty plays, on average
	fmt.Println(clip.Plays, "plays; the ranking knows of most:", behind < 1000)
	// Output:
	// 2000 plays; the ranking knows of most: true
}

// The rank of a photo, its share of the others, and its neighbors: two or three trips among any
// number of photos.
func Example_yourRank() {
	ctx, m, done := open()
	defer done()
	gallery(m, 21)

	rank, err := m.Photos.TopViews.Rank(ctx, "p15")
	check(err)
	among, err := m.Photos.TopViews.Len(ctx)
	check(err)
	fmt.Println("number", rank, "of", among)

	share, err := m.Photos.TopViews.Percentile(ctx, "p15")
	check(err)
	fmt.Println("ahead of", share, "percent")

	around, err := m.Photos.TopViews.Around(ctx, "p15", 1)
	check(err)
	seen(around)

	// Nobody has seen it, so it has no rank.
	_, err = m.Photos.TopViews.Rank(ctx, "p00")
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound))
	// Output:
	// number 6 of 20
	// ahead of 70 percent
	// 5. p16, seen 16 times
	// 6. p15, seen 15 times
	// 7. p14, seen 14 times
	// true
}

// A catalog from A to Z, completions for a search box, and the place of a book.
func Example_fromAToZ() {
	ctx, m, done := open()
	defer done()
	for i, title := range []string{"The Trial", "Emma", "émigrés", "Embers", "Ulysses", "emma"} {
		check(m.Books.Create(ctx, &examples.Book{ID: fmt.Sprint(i), Title: title, Language: "en"}))
	}
	check(m.Flush(ctx))
	show := func(books kvmodel.Lister[examples.Book]) {
		page, err := books.Page(ctx, "", 20)
		check(err)
		var titles []string
		for _, b := range page.Items {
			titles = append(titles, b.Title)
		}
		fmt.Println(strings.Join(titles, ", "))
	}

	show(m.Books.TitleAZ)
	show(m.Books.TitleAZ.Prefix("em"))
	show(m.Books.TitleAZByLanguage.Of("en").Between("f", ""))
	n, err := m.Books.TitleAZ.Prefix("EM").Count(ctx)
	check(err)
	st, err := m.Books.TitleAZ.Standing(ctx, "0")
	check(err)
	fmt.Println(n, "with em;", st.Score, "is number", st.Rank, "of", st.Len)
	// Output:
	// Embers, émigrés, emma, Emma, The Trial, Ulysses
	// Embers, émigrés, emma, Emma
	// The Trial, Ulysses
	// 4 with em; The Trial is number 5 of 6
}

// Equal scores: show the newest first, or give all the same rank. RankOf returns the rank that a
// score would have, without a record.
func Example_equalScores() {
	clock := proof.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ctx, m, done := open(kvmodel.Clock(clock.Now))
	defer done()
	for i, id := range []string{"soup", "stew", "cake", "rolls", "salad"} {
		clock.Advance(time.Second)
		check(m.Recipes.Create(ctx, &examples.Recipe{ID: id, Stars: []int64{5, 4, 5, 5, 3}[i]}))
	}
	check(m.Flush(ctx))
	show := func(board *ranking.Board[examples.Recipe, string, int64]) {
		table, err := board.Table(ctx, "", 10)
		check(err)
		for _, p := range table.Places {
			fmt.Printf("%d. %d stars: %s\n", p.Rank, p.Score, p.Item.ID)
		}
	}

	show(m.Recipes.TopStars)
	rank, err := m.Recipes.TopStars.RankOf(ctx, 4)
	check(err)
	fmt.Println("the next with 4 stars will be number", rank)

	places, err := m.Recipes.Chart.At(ctx, 4, 10)
	check(err)
	for _, p := range places {
		fmt.Printf("%d stars are rank %d\n", p.Score, p.Rank)
	}
	rank, err = m.Recipes.Chart.RankOf(ctx, 1)
	check(err)
	fmt.Println("1 star would be rank", rank)
	// Output:
	// 1. 5 stars: rolls
	// 2. 5 stars: cake
	// 3. 5 stars: soup
	// 4. 4 stars: stew
	// 5. 3 stars: salad
	// the next with 4 stars will be number 4
	// 4 stars are rank 2
	// 3 stars are rank 3
	// 1 star would be rank 4
}

// The rankings of today and yesterday, for each category.
func Example_perDay() {
	clock := proof.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ctx, m, done := open(kvmodel.Clock(clock.Now))
	defer done()
	gallery(m, 4)

	clock.Advance(24 * time.Hour)
	_, err := m.Photos.Views.Hit(ctx, "p00")
	check(err)
	check(m.Flush(ctx))

	today, err := m.Photos.TopViewsByCategoryPerDay.Of("sea").At(ctx, 1, 10)
	check(err)
	seen(today)
	yesterday := m.Photos.TopViewsByCategoryPerDay.On(clock.Now().AddDate(0, 0, -1))
	for _, category := range []string{"sea", "town"} {
		places, err := yesterday.Of(category).At(ctx, 1, 10)
		check(err)
		fmt.Println("yesterday,", category)
		seen(places)
	}
	// Output:
	// 1. p00, seen 1 times
	// yesterday, sea
	// 1. p02, seen 2 times
	// yesterday, town
	// 1. p03, seen 3 times
	// 2. p01, seen 1 times
}

// Due records are taken from the front of a ranking by time.
func Example_dueQueue() {
	clock := proof.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ctx, m, done := open(kvmodel.Clock(clock.Now))
	defer done()
	for i := range 4 {
		check(m.Photos.Create(ctx, &examples.Photo{ID: fmt.Sprint("p", i), GoLive: clock.Now().Add(time.Duration(i) * time.Hour)}))
	}

	clock.Advance(90 * time.Minute)
	due, err := m.Photos.Schedule.Between(time.Time{}, clock.Now()).Page(ctx, "", 100)
	check(err)
	for _, p := range due.Items {
		// A shown photo is not Waiting, and so leaves the queue.
		_, err := m.Photos.Update(ctx, p.ID, func(p *examples.Photo) error { p.Shown = true; return nil })
		check(err)
		fmt.Println(p.ID, "goes live")
	}
	left, err := m.Photos.Schedule.Len(ctx)
	check(err)
	fmt.Println(left, "wait")
	// Output:
	// p0 goes live
	// p1 goes live
	// 2 wait
}

// A whole archive by its months, however long it is.
func Example_archive() {
	ctx, m, done := open()
	defer done()
	for i := range 10 {
		taken := time.Date(2026, 1, 1+9*i, 0, 0, 0, 0, time.UTC)
		check(m.Photos.Create(ctx, &examples.Photo{ID: taken.Format("Jan02"), Taken: taken, Shown: true}))
	}

	for month := time.January; month <= time.March; month++ {
		first := time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC)
		span := m.Photos.Archive.Between(first, first.AddDate(0, 1, 0))
		n, err := span.Count(ctx)
		check(err)
		page, err := span.Page(ctx, "", 2) // latest first
		check(err)
		fmt.Println(month, n, page.Items[0].ID, page.Items[1].ID)
	}
	oldest, err := m.Photos.Archive.Ascending().Page(ctx, "", 1)
	check(err)
	fmt.Println("it begins with", oldest.Items[0].ID)
	// Output:
	// January 4 Jan28 Jan19
	// February 3 Feb24 Feb15
	// March 3 Mar23 Mar14
	// it begins with Jan01
}

// The front page of a news site: a ranking by a method, which follows the record and its counters.
func Example_frontPage() {
	ctx, m, done := open()
	defer done()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		check(m.Photos.Create(ctx, &examples.Photo{ID: fmt.Sprint("day", i), Taken: day.AddDate(0, 0, i)}))
	}
	show := func() {
		check(m.Flush(ctx))
		page, err := m.Photos.Front.Page(ctx, "", 10)
		check(err)
		for i, p := range page.Items {
			fmt.Println(i+1, p.ID, "seen", p.Views, "times")
		}
	}
	show()
	_, err := m.Photos.Views.Add(ctx, "day0", 7)
	check(err)
	show()
	// Output:
	// 1 day2 seen 0 times
	// 2 day1 seen 0 times
	// 3 day0 seen 0 times
	// 1 day0 seen 7 times
	// 2 day2 seen 0 times
	// 3 day1 seen 0 times
}
