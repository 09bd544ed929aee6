package costs_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/costs"
	"github.com/ringtree/ringtree/internal/proof"
)

const docs = "../../docs"

var update = flag.Bool("update", false, "write docs/costs.md again")

// It takes some seconds, so it is measured once.
var measured = sync.OnceValues(func() ([]costs.Table, error) { return costs.Measure(context.Background()) })

func tablesOf(t *testing.T) []costs.Table {
	t.Helper()
	tables, err := measured()
	must(t, err)
	return tables
}

func TestPage_IsCurrent(t *testing.T) {
	app, err := costs.MeasureApp(t.Context())
	must(t, err)
	file, tables := filepath.Join(docs, "costs.md"), tablesOf(t)
	if *update {
		must(t, os.WriteFile(file, costs.Page(tables, app), 0o644))
	}
	stored, err := os.ReadFile(file)
	must(t, err)
	lines := func(page []byte) []string { return strings.Split(string(page), "\n") }
	want := lines(stored)
	var rows []int // that differ from the page
	for i := range want {
		rows = append(rows, i)
	}
	var got []string
	for range 3 {
		got = lines(costs.Page(tables, app))
		if diff := gocmp.Diff(want, got); len(got) != len(want) {
			t.Fatalf("%s (-page +measured):\n%s", outdated, diff)
		}
		// On a busy machine a process may ask for more, which is rare in the same row.
		rows = slices.DeleteFunc(rows, func(i int) bool { return sameRow(want[i], got[i]) })
		if len(rows) == 0 {
			return
		}
		if tables, err = costs.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range rows {
		t.Errorf("%s:\npage     %s\nmeasured %s", outdated, want[i], got[i])
	}
}

const outdated = "docs/costs.md is not what is measured: make docs writes it again"

// sameRow reports whether two rows of a table agree. Figures that depend on the order of goroutines
// may differ a little: trips from six on by one, operations if there are many, and bytes by a
// factor of two.
func sameRow(a, b string) bool {
	x, y := strings.Split(a, "|"), strings.Split(b, "|")
	const trips, ops, bytes = 2, 5, 7 // the first cell of them, of ten
	if len(x) != 10 || len(y) != 10 {
		return a == b
	}
	return slices.Equal(x[:trips], y[:trips]) &&
		slices.EqualFunc(x[trips:ops], y[trips:ops], near(0, 17)) &&
		slices.EqualFunc(x[ops:bytes], y[ops:bytes], near(0, 2)) &&
		slices.EqualFunc(x[bytes:], y[bytes:], near(100, 100))
}

// near reports whether two cells are the same, or numbers that differ by at most least and so many
// percent of the smaller one.
func near(least, percent int) func(a, b string) bool {
	return func(a, b string) bool {
		m, errM := strconv.Atoi(strings.TrimSpace(a))
		n, errN := strconv.Atoi(strings.TrimSpace(b))
		low := min(m, n)
		return a == b || errM == nil && errN == nil && max(m, n)-low <= least+low*percent/100
	}
}

// A promise is a cell of a table in docs, or of kvgen -plan, with the trips of some rows: each
// number there is that of one of them, and the other way round.
type promise struct {
	of   string // of the page
	rows []string
}

// trips returns the trips of rows on servers, each once.
func trips(t *testing.T, rows []string) []int {
	t.Helper()
	return tripsOn(t, rows, costs.OnRedis, costs.OnMemcached)
}

func tripsOn(t *testing.T, rows []string, stores ...int) (all []int) {
	t.Helper()
	for _, name := range rows {
		found := false
		for _, table := range tablesOf(t) {
			for _, r := range table.Rows {
				if r.Name == name {
					found = true
					for _, on := range stores {
						all = append(all, r.Costs[on].Trips)
					}
				}
			}
		}
		if !found {
			t.Errorf("there is no row %q", name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var number = regexp.MustCompile(`\b\d+\b`)

func numbers(text string) (all []int) {
	for _, digits := range number.FindAllString(text, -1) {
		n, _ := strconv.Atoi(digits)
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// cell returns a cell of the table row in a page of docs that begins with first.
func cell(t *testing.T, page, first string, column int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, page))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| "+first+" |") && len(cells) > column {
			return cells[column]
		}
	}
	t.Errorf("docs/%s has no row %s", page, first)
	return ""
}

func TestDocs_TripsAreThoseThatAreMeasured(t *testing.T) {
	for _, page := range []struct {
		name   string
		column int // that has the trips
		cells  []promise
	}{
		{"data-classes.md", 3, []promise{
			{"`Get`", []string{"Get"}},
			{"`GetMulti`", []string{"GetMulti of 100"}},
			{"`Create`", []string{"Create", "Create, the id exists", "Create with a unique value that is taken"}},
			{"`Put`", []string{"Put, there is one", "Put, there is none"}},
			{"`Update`", []string{"Update", "Update of a unique value", "Update that moves it to another list"}},
			{"`Upsert`", []string{"Upsert, there is one", "Upsert, there is none"}},
			{"`Delete`", []string{"Delete", "Delete with a unique value", "Delete with a list", "Delete with a ranking"}},
			{"`BySlug.Find`", []string{"Find", "Find of a value that was found before"}},
			{"`BySlug.FindMulti`", []string{"FindMulti of 100"}},
			{"`Before(id)`", []string{"Before, a page of 20"}},
			{"`Visits.Push`", []string{"Push, append", "Push to 500 owners, append"}},
			{"`Visits.Latest`", []string{"Latest 10, append"}},
			{"`kvmodel.Load`", []string{"Load for 100 that refer to 10"}},
		}},
	} {
		for _, c := range page.cells {
			text := cell(t, page.name, c.of, page.column)
			proof.NoDiff(t, gocmp.Diff(trips(t, c.rows), numbers(text)), "docs/%s says%sof %s", page.name, text, c.of)
		}
	}
}

// kvgen -plan prints the comment of a collection, too.
func TestPlan_TripsAreThoseThatAreMeasured(t *testing.T) {
	generated, err := os.ReadFile("models_kv.go")
	must(t, err)
	for collection, verbs := range map[string]map[string][]string{
		"Plains": {
			"Get":    {"Get", "GetMulti of 100"},
			"Create": {"Create"},
			"Update": {"Update"},
			"Delete": {"Delete"},
		},
		"Kepts": {
			"Create": {"Create with a history"},
			"Update": {"Update with a history"},
			"Delete": {"Delete with a history"},
		},
		"Votes": {
			"Create": {"Create of an edge", "Create of an edge that exists"},
			"Delete": {"Delete of an edge"},
		},
		"Lents": {"Touch": {"Touch without an index"}},
		"Leaseds": {
			"Create": {"Create of a record that ends"},
			"Touch":  {"Touch"},
		},
		"AllSummed": {
			"Create": {"Create of a record that is counted"},
			"Update": {"Update of a record that is counted"},
			"Delete": {"Delete of a record that is counted"},
		},
		"Listeds": {
			"Create":     {"Create with a list"},
			"Update":     {"Update of what is in a list", "Update that moves it to another list"},
			"Delete":     {"Delete with a list"},
			"new Create": {"Create, the first in its list"},
			"new Update": {"Update that moves it to a list that is new"},
		},
		"Likes": {
			"Create":     {"Create of an edge that exists", "the same, not the first of the photo"},
			"Delete":     {"Delete of an edge that is counted"},
			"new Create": {"Create of an edge that is counted"},
		},
		"Ballots": {
			"Delete":     {"Delete of an edge that is counted and summed"},
			"new Create": {"Create of an edge that is counted and summed"},
		},
		"Nameds": {
			"Create": {"Create with a unique value"},
			"Update": {"Update of another field", "Update of a unique value"},
			"Delete": {"Delete with a unique value"},
		},
		"Valueds": {
			"Create":     {"Create with a value of those that are counted"},
			"Delete":     {"Delete with a value of those that are counted"},
			"new Create": {"Create with a value that is new"},
			"new Update": {"Update to a value that is new"},
			"a listing":  {"Values.Page, with something new", "Values.Page, as it was read last"},
		},
		"Posts": {
			"Create":     {"Create with a timeline of its author"},
			"new Create": {"Create with a timeline, the first of its author"},
		},
		"Stories": {
			"Create":     {"Create with timelines of three tags"},
			"Update":     {"Update that does not move it", "Update that gives it another tag"},
			"new Update": {"Update that gives it a tag that is new"},
		},
		"Notes": {
			"Create":    {"Create with a timeline"},
			"Delete":    {"Delete with a timeline"},
			"a listing": {"Page of 20, with something new", "Page of 20, as it was read last"},
		},
		"Priceds": {
			"Create":    {"Create with a ranking"},
			"Update":    {"Update of another field", "Update of the score"},
			"Delete":    {"Delete with a ranking"},
			"a listing": {"Page of 20, with something new", "Page of 20, as it was read last"},
		},
		"Goods": {
			"Create":     {"Create with a ranking of its category"},
			"Update":     {"Update of another field", "Update of the category"},
			"new Create": {"Create with a ranking, the first of its category"},
			"new Update": {"Update to a category that is new"},
		},
		"Tickets":   {"Create": {"Create with the next number"}},
		"Invoices":  {"Create": {"Create with the next number and a list"}},
		"Visits":    {"Push": {"Push, append", "Push to 500 owners, append"}, "Latest": {"Latest 10, append"}, "Clear": {"Clear, append"}},
		"AllPacked": {"Push": {"Push, packed", "Push to 500 owners, packed"}},
	} {
		plan := planOf(t, string(generated), collection)
		for verb, rows := range verbs {
			said, _, _ := strings.Cut(plan[verb], " for any ")
			for _, n := range tripsOn(t, rows, costs.OnMemcached) {
				if !slices.Contains(numbers(said), n) {
					t.Errorf("the plan of %s has %s%s; on memcached it takes %d trips", collection, verb, plan[verb], n)
				}
			}
			for _, n := range numbers(said) {
				if !slices.Contains(trips(t, rows), n) {
					t.Errorf("the plan of %s has %s%s; no store takes %d trips", collection, verb, plan[verb], n)
				}
			}
		}
	}
}

var planned = regexp.MustCompile(`(\pL[\pL ]*?)( \d[^;.,]*(?:, or \d+)?)`)

// planOf returns the cost of each verb by the comment of a collection. Of a clause that is about
// something new, the verbs begin with that word.
func planOf(t *testing.T, source, collection string) map[string]string {
	t.Helper()
	comment, _, _ := strings.Cut(source, "\ntype "+collection+" struct")
	at := strings.LastIndex(comment, "// Trips: ")
	if at < 0 {
		t.Fatalf("%s has no trips", collection)
	}
	line, _, _ := strings.Cut(comment[at+len("// Trips: "):], "\n")
	plan := map[string]string{}
	for clause := range strings.SplitSeq(line, "; ") {
		about := ""
		if strings.HasPrefix(clause, "with a new ") {
			about, clause = "new ", clause[strings.Index(clause, "Create"):]
		}
		for _, verb := range planned.FindAllStringSubmatch(clause, -1) {
			plan[about+verb[1]] = verb[2]
		}
	}
	return plan
}

var must = proof.Must
