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
	db := broken(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)

	var r inspect.Record
	r, err := in.Get(ctx, "Page", "rings", false)
	check(err)
	fmt.Println(r.Model, r.ID, r.State)
	i := slices.IndexFunc(r.Fields, func(f inspect.Field) bool { return f.Name == "Title" })
	fmt.Println(r.Fields[i].Text())
	i = slices.IndexFunc(r.Places, func(p inspect.Place) bool { return len(p.Wrong) > 0 })
	fmt.Println(r.Places[i].Index, r.Places[i].Value, "is wrong")

	var item inspect.Item
	item, err = in.Key(ctx, "u:Page:BySlug:home")
	check(err)
	fmt.Println(item.Exists, item.Owner)

	var page inspect.Page
	page, err = in.Page(ctx, "Page.ByAuthor", "ann", 10)
	check(err)
	fmt.Println(page.Kind, len(page.Rows))
	// Output:
	// Page rings live
	// "Rings"
	// BySlug rings is wrong
	// true Page.BySlug
	// list 2
}

// The state of the database, for a dashboard.
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

// A check every night, at a pace that visitors do not notice, and the repair of its faults.
func ExampleReport() {
	ctx := context.Background()
	db := broken(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)

	var report inspect.Report
	report, err := in.Check(ctx, inspect.CheckOptions{
		Pace:  inspect.Pace{Rate: 10_000},
		Found: func(f inspect.Fault) { fmt.Println(f.Model, f.Index, f.ID, "has a", f.Kind) },
	})
	check(err)
	fmt.Println(report.Well(), report.Counts)

	var repaired inspect.Repaired
	repaired, err = in.Repair(ctx, report.Faults, inspect.RepairOptions{
		Done: func(m inspect.Mended) { fmt.Println(m.ID+":", m.Did) },
	})
	check(err)
	fmt.Println(repaired.Mended, "mended,", len(repaired.Left), "left")
	// Output:
	// Page BySlug rings has a missing entry
	// false map[missing entry:1]
	// rings: enter the record again
	// 1 mended, 0 left
}

// The parts of a store with their sizes, and the values of an index with the most keys.
func ExampleShare() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)

	done := int64(0)
	shares, err := in.Sizes(ctx, inspect.Pace{Progress: func(s inspect.Step) { done = s.Done }})
	check(err)
	i := slices.IndexFunc(shares, func(s inspect.Share) bool { return s.Part == "records" })
	fmt.Println(shares[i].Model, shares[i].Keys, "records,", done > 2)

	authors, err := in.List(ctx, "Page.ByAuthor", 3, inspect.Pace{})
	check(err)
	fmt.Println(authors[0].Part)
	// Output:
	// Page 2 records, true
	// l:Page:ByAuthor:ann
}

// The data of models that the app no longer has.
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
	fmt.Println(leftovers[0].What, leftovers[0].Keys > 0)
	// Output: Page true
}

// A user wants to be forgotten.
func ExampleForgotten() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)
	in := inspect.New(db)

	traces, err := in.Traces(ctx, "Page", "home", inspect.Pace{})
	check(err)
	i := slices.IndexFunc(traces, func(t inspect.Trace) bool { return t.Owner == "Page.records" })
	fmt.Println(traces[i].Key, "has", traces[i].What)

	var forgotten inspect.Forgotten
	forgotten, err = in.Forget(ctx, "Page", "home", inspect.Pace{})
	check(err)
	fmt.Println(forgotten.Model, forgotten.ID, len(forgotten.Traces), "traces")
	// Output:
	// r:Page:home has its id
	// Page home 0 traces
}

// An export is verified, and imported into another database: of two records with one ID, the newer
// one stays.
func ExampleImportOptions() {
	ctx := context.Background()
	_, here := furnishedWiki(ctx)
	defer here.Close(ctx)
	there, m := wiki.InMemory()
	defer there.Close(ctx)
	check(m.Pages.Create(ctx, &wiki.Page{ID: "trees", Title: "Trees"}))

	differences, err := inspect.New(here).Diff(ctx, inspect.New(there), inspect.Pace{})
	check(err)
	i := slices.IndexFunc(differences.First, func(d inspect.Difference) bool { return d.What == "Page home" })
	fmt.Println(differences.First[i].What, differences.First[i].Says)

	var file bytes.Buffer
	_, err = inspect.New(here).Export(ctx, &file, inspect.Pace{})
	check(err)
	header, summary, err := inspect.VerifyExport(bytes.NewReader(file.Bytes()))
	check(err)
	fmt.Println(header.Models["Page"], summary.Records["Page"])

	_, err = inspect.New(there).Import(ctx, &file, inspect.ImportOptions{Merge: true})
	check(err)
	n, err := m.Pages.Count(ctx)
	check(err)
	fmt.Println(n)
	// Output:
	// Page home only here
	// 1 2
	// 3
}

// Once this release has stored all records, the code that reads earlier ones can go.
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

// An app that recovers from a loss by itself, and tells its health to a load balancer.
func ExampleRecover() {
	ctx := context.Background()
	_, db := furnishedWiki(ctx)
	defer db.Close(ctx)

	recovery := inspect.Recover(ctx, db, inspect.RecoverOptions{Accept: true})
	defer recovery.Stop()
	_, err := db.Writers(ctx)
	recovery.Notice(err) // With an ErrLost, it looks at once.
	health := func(r *inspect.Recovery) inspect.Health { return r.Health() }
	fmt.Println(health(recovery), inspect.Lost)
	// Output: ok lost
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
