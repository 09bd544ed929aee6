package ranking_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func viewed(ctx context.Context, views ...int64) (*kvmodel.DB, *wiki.Models) {
	db, m := wiki.InMemory()
	for i, n := range views {
		id := fmt.Sprint("page", i+1)
		check(m.Pages.Create(ctx, &wiki.Page{ID: id, Title: fmt.Sprint("Page ", i+1), Author: "ann"}))
		_, err := m.Pages.Views.Add(ctx, id, n)
		check(err)
	}
	check(db.Flush(ctx)) // The board follows within a second, or at once.
	return db, m
}

// The most viewed pages, the position of one, and its neighbors.
func ExampleBoard() {
	ctx := context.Background()
	db, m := viewed(ctx, 5, 9, 7)
	defer db.Close(ctx)
	top := m.Pages.TopViews

	page, err := top.Page(ctx, "", 2)
	check(err)
	for _, p := range page.Items {
		fmt.Println(p.Title, p.Views)
	}

	var standing ranking.Standing[int64]
	standing, err = top.Standing(ctx, "page3")
	check(err)
	fmt.Printf("page3 is %d of %d with %d views\n", standing.Rank, standing.Len, standing.Score)

	var places []ranking.Place[wiki.Page, int64]
	places, err = top.Around(ctx, "page3", 1)
	check(err)
	for _, place := range places {
		fmt.Println(place.Rank, place.Item.Title, place.Score)
	}
	// Output:
	// Page 2 9
	// Page 3 7
	// page3 is 2 of 3 with 7 views
	// 1 Page 2 9
	// 2 Page 3 7
	// 3 Page 1 5
}

// One board for each author.
func ExampleBoards() {
	ctx := context.Background()
	db, m := viewed(ctx, 5, 9)
	defer db.Close(ctx)

	var table ranking.Table[wiki.Page, int64]
	table, err := m.Pages.TopViewsByAuthor.Of("ann").Table(ctx, "", 1)
	check(err)
	first := table.Places[0]
	fmt.Println(first.Rank, "of", table.Len, "is", first.Item.Title, "and there are more:", table.Next != "")
	// Output: 1 of 2 is Page 2 and there are more: true
}

// The pages whose views are in a range.
func ExampleSpan() {
	ctx := context.Background()
	db, m := viewed(ctx, 5, 9, 7)
	defer db.Close(ctx)

	n, err := m.Pages.TopViews.Between(5, 8).Count(ctx)
	check(err)
	fmt.Println(n)
	// Output: 2
}

// The tags, the most frequent first.
func ExampleValues() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{Title: "Rings", Tags: []string{"keys", "time"}}))
	check(m.Pages.Create(ctx, &wiki.Page{Title: "Trees", Tags: []string{"keys"}}))
	check(db.Flush(ctx))

	page, err := m.Pages.ByTags.Values.Page(ctx, "", 10)
	check(err)
	for _, tag := range page.Items {
		fmt.Println(tag.Value, tag.Count)
	}
	// Output:
	// keys 2
	// time 1
}

// A tool checks a board, and draws its tree.
func ExampleReport() {
	ctx := context.Background()
	db, m := viewed(ctx, 5, 9, 7)
	defer db.Close(ctx)
	top := m.Pages.TopViews

	report, err := top.Verify(ctx, "page1", "page2")
	check(err)
	fmt.Println(report.Members, "members,", len(report.Missing), "missing,", len(report.Wrong), "wrong")

	var picture ranking.Picture
	picture, err = top.Picture(ctx, 100, "page1")
	check(err)
	fmt.Println(picture.Root.Count, "entries; page1 is in", picture.Leaves[0])

	health := func(s ranking.Stats) { fmt.Println(s.Lost, "nodes lost") }
	health(top.Stats())
	// Output:
	// 3 members, 0 missing, 0 wrong
	// 3 entries; page1 is in key0
	// 0 nodes lost
}

// With Every, the board follows each hit before the reply.
func ExampleBatch() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	top := ranking.NewBoard(m.Pages.Records, ranking.Spec[wiki.Page, int64]{
		Name: "TopNow", Of: ranking.Int[int64](), Counter: db.Tally("Page", "Views"), Batch: ranking.Every,
	})

	check(m.Pages.Create(ctx, &wiki.Page{ID: "ring", Title: "The ring"}))
	_, err := m.Pages.Views.Hit(ctx, "ring")
	check(err)
	first, err := top.At(ctx, 1, 1)
	check(err)
	fmt.Println(first[0].Item.Title, first[0].Score)
	// Output: The ring 1
}

// The first of each board: by a time, an unsigned integer, a float, and a price with two decimals.
func ExampleScoreOf() {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(best(ranking.Time(), map[string]time.Time{"letter": noon.Add(time.Hour), "call": noon}))
	fmt.Println(best(ranking.Uint[uint64](), map[string]uint64{"few": 3, "all": 1<<64 - 1}))
	fmt.Println(best(ranking.Float[float64](), map[string]float64{"e": 2.71828, "pi": 3.14159}))
	fmt.Println(best(ranking.Decimal[float64](2), map[string]float64{"tea": 3.20, "cake": 4.499}))
	// Output:
	// letter 2026-05-01 13:00:00 +0000 UTC
	// all 18446744073709551615
	// pi 3.14159
	// cake 4.5
}

type scored[S any] struct {
	ID    string
	Score S
}

// recordsOf does what kvgen writes for an app.
func recordsOf[S any](db *kvmodel.DB) *kvmodel.Records[scored[S], string] {
	return kvmodel.NewRecords(db, kvmodel.Schema[scored[S], string]{
		Name: "Scored", Version: 1, Key: kvmodel.StringKey[string](), Codec: asJSON[scored[S]]{},
		ID: func(v *scored[S]) string { return v.ID }, SetID: func(v *scored[S], id string) { v.ID = id },
	})
}

func best[S any](of ranking.ScoreOf[S], scores map[string]S) string {
	ctx := context.Background()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	check(err)
	defer db.Close(ctx)
	all := recordsOf[S](db)
	board := ranking.NewBoard(all, ranking.Spec[scored[S], S]{Name: "Best", Of: of, Score: func(v *scored[S]) S { return v.Score }})
	for id, score := range scores {
		check(all.Create(ctx, &scored[S]{id, score}))
	}
	first, err := board.At(ctx, 1, 1)
	check(err)
	return fmt.Sprint(first[0].Item.ID, " ", first[0].Score)
}
