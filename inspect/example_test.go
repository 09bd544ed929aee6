package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// furnishedWiki returns a store with two pages of a wiki, and the wiki.
func furnishedWiki(ctx context.Context) (*memkv.Store, *kvmodel.DB) {
	store := memkv.New(memkv.Options{})
	db, err := kvmodel.Open(store)
	check(err)
	pages := wiki.New(db).Pages
	check(pages.Create(ctx, &wiki.Page{ID: "home", Slug: "home", Title: "Welcome", Author: "ann", Tags: []string{"start"}}))
	check(pages.Create(ctx, &wiki.Page{ID: "rings", Slug: "rings", Title: "Rings", Author: "ann"}))
	check(db.Flush(ctx))
	return store, db
}

// broken is a wiki in which no one finds the page rings by its address any more.
func broken(ctx context.Context) *kvmodel.DB {
	store, db := furnishedWiki(ctx)
	_, err := kv.One(ctx, store, kv.OpDelete("u:Page:BySlug:rings"))
	check(err)
	return db
}

// A tool looks at an app's database without the app's types.
func ExampleInspector() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)

	record, err := in.Get(ctx, "Page", "home", false)
	check(err)
	fmt.Println(record.Model, record.ID, record.State)
	// Output: Page home live
}

// How the database is, for a dashboard.
func ExampleStatus() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	var status inspect.Status
	status, err := inspect.New(db).Status(ctx)
	check(err)
	fmt.Println(len(status.Models), "models,", len(status.Warnings), "warnings")
	// Output: 4 models, 0 warnings
}

// A check every night, with its faults in a log.
func ExampleReport() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)

	var report inspect.Report
	report, err := inspect.New(db).Check(ctx, inspect.CheckOptions{})
	check(err)
	fmt.Println(report.Well(), report.Counts)
	// Output: false map[missing entry:1]
}

// A check of one index, at a pace that visitors do not notice.
func ExampleCheckOptions() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)

	report, err := inspect.New(db).Check(ctx, inspect.CheckOptions{
		Pace:  inspect.Pace{Rate: 10_000},
		What:  "Page.BySlug",
		Found: func(f inspect.Fault) { fmt.Println(f.Model, f.Index, f.ID, "has a", f.Kind) },
	})
	check(err)
	fmt.Println(report.Records, "records")
	// Output:
	// Page BySlug rings has a missing entry
	// 2 records
}

// What a check has found is mended one by one.
func ExampleRepaired() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)
	report, err := in.Check(ctx, inspect.CheckOptions{})
	check(err)

	var repaired inspect.Repaired
	repaired, err = in.Repair(ctx, report.Faults, inspect.RepairOptions{})
	check(err)
	fmt.Println(repaired.Mended, "mended,", len(repaired.Left), "left")
	// Output: 1 mended, 0 left
}

// What would be done?
func ExampleRepairOptions() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)
	report, err := in.Check(ctx, inspect.CheckOptions{})
	check(err)

	_, err = in.Repair(ctx, report.Faults, inspect.RepairOptions{
		Dry:  true,
		Done: func(m inspect.Mended) { fmt.Println(m.ID+":", m.Did) },
	})
	check(err)
	// Output: rings: enter the record again
}

// What was stopped goes on where it was.
func ExampleStep() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	place := ""
	_, err := inspect.New(db).Sizes(ctx, inspect.Pace{Progress: func(s inspect.Step) { place = s.To }})
	check(err)
	_ = place // From of the next call
	fmt.Println(err)
	// Output: <nil>
}

// A record of any model.
func ExampleRecord() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	var r inspect.Record
	r, err := inspect.New(db).Get(ctx, "Page", "home", false)
	check(err)
	fmt.Println(r.ID, r.State, len(r.Places) > 0)
	// Output: home live true
}

func ExampleField() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	record, err := inspect.New(db).Get(ctx, "Page", "home", false)
	check(err)
	for _, field := range record.Fields {
		if field.Name == "Title" || field.Name == "Tags" {
			fmt.Println(field.Name, field.Text())
		}
	}
	// Output:
	// Title "Welcome"
	// Tags ["start"]
}

// Where a record stands in the indexes, and whether it should.
func ExamplePlace() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)

	record, err := inspect.New(db).Get(ctx, "Page", "rings", false)
	check(err)
	for _, place := range record.Places {
		if len(place.Wrong) > 0 {
			fmt.Println(place.Index, place.Value, "is wrong")
		}
	}
	// Output: BySlug rings is wrong
}

// What one key holds.
func ExampleItem() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	var item inspect.Item
	item, err := inspect.New(db).Key(ctx, "u:Page:BySlug:home")
	check(err)
	fmt.Println(item.Exists, item.Owner)
	// Output: true Page.BySlug
}

// The first of an index.
func ExamplePage() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	var page inspect.Page
	page, err := inspect.New(db).Page(ctx, "Page.ByAuthor", "ann", 10)
	check(err)
	fmt.Println(page.Kind, len(page.Rows))
	// Output: list 2
}

// What takes the most room.
func ExampleShare() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	shares, err := inspect.New(db).Sizes(ctx, inspect.Pace{})
	check(err)
	for _, s := range shares {
		if s.Part == "records" {
			fmt.Println(s.Model, s.Keys, "records")
		}
	}
	// Output: Page 2 records
}

// The values of an index with the most keys.
func ExampleInspector_List() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	authors, err := inspect.New(db).List(ctx, "Page.ByAuthor", 3, inspect.Pace{})
	check(err)
	for _, author := range authors {
		fmt.Println(author.Part, author.Keys > 0)
	}
	// Output: l:Page:ByAuthor:ann true
}

// What a release that is gone has left behind.
func ExampleLeftover() {
	ctx := context.Background()
	store, old := furnishedWiki(ctx)
	defer old.Close(ctx)
	db, err := kvmodel.Open(store)
	check(err)
	wiki.NewUsers(db) // There are no pages any more.

	var leftovers []inspect.Leftover
	leftovers, err = inspect.New(db).Leftovers(ctx, inspect.Pace{})
	check(err)
	for _, l := range leftovers {
		fmt.Println(l.What, l.Keys > 0)
	}
	// Output:
	// Page true
	// Page.ByTags.Values true
	// Page.TitleAZ.words true
	// Page.TopViews true
	// Page.TopViewsByAuthor true
}

// A user wants to be forgotten.
func ExampleForgotten() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	var forgotten inspect.Forgotten
	forgotten, err := inspect.New(db).Forget(ctx, "Page", "home", inspect.Pace{})
	check(err)
	fmt.Println(forgotten.Model, forgotten.ID, len(forgotten.Traces), "traces")
	// Output: Page home 0 traces
}

// Where something that is to be forgotten stands.
func ExampleTrace() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	traces, err := inspect.New(db).Traces(ctx, "Page", "home", inspect.Pace{})
	check(err)
	i := slices.IndexFunc(traces, func(t inspect.Trace) bool { return t.Owner == "Page.records" })
	fmt.Println(traces[i].Key, "has", traces[i].What)
	// Output: r:Page:home has its id
}

// exported returns an export of a wiki.
func exported(ctx context.Context) *bytes.Buffer {
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)
	var file bytes.Buffer
	_, err := inspect.New(db).Export(ctx, &file, inspect.Pace{})
	check(err)
	return &file
}

// An export is checked before the store it is from is given up.
func ExampleVerifyExport() {
	file := exported(context.Background())

	header, summary, err := inspect.VerifyExport(file)
	check(err)
	fmt.Println(header.Models["Page"], summary.Records["Page"])
	// Output: 1 2
}

// Two databases become one; of two records with one id the newer one stays.
func ExampleImportOptions() {
	ctx := context.Background()
	file := exported(ctx)
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "trees", Title: "Trees"}))

	_, err := inspect.New(db).Import(ctx, file, inspect.ImportOptions{Merge: true})
	check(err)
	n, err := m.Pages.Count(ctx)
	check(err)
	fmt.Println(n)
	// Output: 3
}

func ExampleDifference() {
	ctx := context.Background()
	_, here := furnishedWiki(ctx)
	defer here.Close(ctx)
	there, _ := wiki.InMemory()
	defer there.Close(ctx)

	differences, err := inspect.New(here).Diff(ctx, inspect.New(there), inspect.Pace{})
	check(err)
	first := differences.First[0]
	fmt.Println(first.What, first.Says)
	// Output: Page home only here
}

// Once all records are stored by this release, what reads those of earlier ones can go.
func ExampleResaveOptions() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	n, err := inspect.New(db).Resave(ctx, "Page", inspect.ResaveOptions{Dry: true})
	fmt.Println(n, err)
	// Output: 0 <nil>
}

// A table for a spreadsheet.
func ExampleTableOptions() {
	ctx := context.Background()
	db, m := wiki.InMemory()
	defer db.Close(ctx)
	check(m.Users.Create(ctx, &wiki.User{ID: "ann", Name: "Ann"}))

	_, err := inspect.New(db).Table(ctx, os.Stdout, "User", inspect.TableOptions{CSV: true})
	check(err)
	// Output:
	// ID,Name
	// ann,Ann
}

// The web face of a database, for signed-in operators.
func ExampleHandler() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)
	pages, err := inspect.Handler(inspect.New(db), inspect.HandlerOptions{
		Guard: func(*http.Request) error { return nil }, // An app asks who it is.
		Base:  "/inspect",
	})
	check(err)

	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequest("GET", "/inspect/", nil))
	fmt.Println(answer.Code)
	// Output: 200
}

// The verbs of the command, on the store of the app's configuration.
func ExampleRun() {
	ctx := context.Background()
	store, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	code := inspect.Run(ctx, inspect.Config{
		Name: "db", Args: []string{"get", "Page", "none"}, URL: "mem:", Stdout: io.Discard,
		Models: func(db *kvmodel.DB) []kvmodel.Model { return wiki.New(db).All() },
		Open:   func(context.Context, string) (kv.Store, error) { return store, nil },
	})
	fmt.Println(code)
	// Output: 1
}

// The whole main.go of a command. "kvgen -cmd" writes it.
func ExampleMain() {
	main := func() {
		inspect.Main(func(db *kvmodel.DB) []kvmodel.Model { return wiki.New(db).All() })
	}
	_ = main
}

// An app that comes back by itself after a loss, where an operator need not see it first.
func ExampleRecover() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	defer inspect.Recover(ctx, db, inspect.RecoverOptions{Accept: true}).Stop()
}

// What a load balancer asks the app for.
func ExampleRecovery() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	recovery := inspect.Recover(ctx, db, inspect.RecoverOptions{})
	defer recovery.Stop()
	_, err := db.Writers(ctx)
	recovery.Notice(err) // With an ErrLost, it looks at once.
	fmt.Println(recovery.Health())
	// Output: ok
}

func ExampleHealth() {
	fmt.Println(inspect.Well, inspect.Lost, inspect.Rebuilding)
	// Output: ok lost rebuilding
}

// Fields keep their order in JSON.
func ExampleFields() {
	data, err := json.Marshal(inspect.Fields{{Name: "Title", Value: "Tides"}, {Name: "Tags", Value: []any{"sea"}}})
	check(err)
	fmt.Println(string(data))
	// Output: {"Title":"Tides","Tags":["sea"]}
}

// An app that has its file open carries out what the command is told.
func ExampleServe() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "wiki")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.db")
	db, err := kvopen.Open(ctx, "bolt:"+path)
	check(err)
	defer db.Close(ctx)
	wiki.New(db)

	defer inspect.Serve(ctx, db, path)()
	_, err = os.Stat(path + ".sock")
	fmt.Println(err)
	// Output: <nil>
}
