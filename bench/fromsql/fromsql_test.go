// Package fromsql compares docs/from-sql.md with the behavior of its code.
package fromsql

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/ringtree/ringtree/bench/fromsql/after"
	"github.com/ringtree/ringtree/bench/fromsql/before"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const page = "../../docs/from-sql.md"

type row struct {
	gorm, ringtree []string
	trips          int
}

var (
	code   = regexp.MustCompile("`([^`]+)`")
	spaces = regexp.MustCompile(`\s+`)
)

// rows returns those of the tables that show code of both sides, by their first cells.
func rows(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	all := map[string]row{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			continue
		}
		if trips, err := strconv.Atoi(strings.TrimSpace(cells[4])); err == nil {
			name := strings.ReplaceAll(strings.TrimSpace(cells[1]), "`", "")
			all[name] = row{codeOf(cells[2]), codeOf(cells[3]), trips}
		}
	}
	return all
}

func codeOf(cell string) (all []string) {
	for _, found := range code.FindAllStringSubmatch(cell, -1) {
		all = append(all, found[1])
	}
	return all
}

// sources returns the code of each row in a file, without spaces.
func sources(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	must(t, err)
	all := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if pair, ok := node.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.BasicLit); ok {
				key, _ := strconv.Unquote(name.Value)
				body := text[set.Position(pair.Value.Pos()).Offset:set.Position(pair.Value.End()).Offset]
				all[key] = spaces.ReplaceAllString(string(body), "")
			}
		}
		return true
	})
	return all
}

func TestPage_ShowsTheCodeThatRuns(t *testing.T) {
	gorms, ringtrees := sources(t, "before/rows.go"), sources(t, "after/rows.go")
	page := rows(t)
	proof.NoDiff(t, gocmp.Diff(slices.Sorted(maps.Keys(ringtrees)), slices.Sorted(maps.Keys(page))), "rows")
	for name, r := range page {
		for _, side := range []struct {
			shown  []string
			source string
		}{{r.gorm, gorms[name]}, {r.ringtree, ringtrees[name]}} {
			if len(side.shown) == 0 {
				t.Errorf("%s: a cell shows no code", name)
			}
			for _, shown := range side.shown {
				proof.Contains(t, side.source, spaces.ReplaceAllString(shown, ""))
			}
		}
	}
}

func TestPage_ModelsAreThoseOfTheCode(t *testing.T) {
	text, err := os.ReadFile(page)
	must(t, err)
	models, err := os.ReadFile("after/models.go")
	must(t, err)
	_, block, _ := strings.Cut(string(text), "```go\n")
	block, _, _ = strings.Cut(block, "```\n")
	for part := range strings.SplitSeq(block, "\n\n") {
		if !bytes.Contains(models, []byte(strings.TrimSpace(part))) {
			t.Errorf("after/models.go does not have what the page shows:\n%s", part)
		}
	}
}

func TestPage_TripsAndAnswersAreThoseThatAreMeasured(t *testing.T) {
	page := rows(t)
	for name, do := range after.Reads {
		check(t, page, name, do, true)
	}
	for name, do := range after.Writes {
		check(t, page, name, do, false)
	}
}

// check runs a row on both sides. The nodes of a tree differ between databases, and concurrent work
// decides which of them a process remembers. So a change may take a trip less than the page says:
// of several the dearest counts.
func check(t *testing.T, page map[string]row, name string, do func(context.Context, *after.Models) (any, error), reads bool) {
	t.Helper()
	const most = 8
	trips := measure(t, name, do, reads)
	for tries := 1; trips < page[name].trips && tries < most; tries++ {
		trips = max(trips, measure(t, name, do, reads))
	}
	lucky := !reads && trips == page[name].trips-1
	if trips != page[name].trips && !lucky {
		t.Errorf("%s takes %d trips, and the page says %d", name, trips, page[name].trips)
	}
}

// measure runs a row on both sides and returns its trips. A process that reads has asked the same
// seconds ago, and something new has come since.
func measure(t *testing.T, name string, do func(context.Context, *after.Models) (any, error), reads bool) (trips int) {
	t.Helper()
	clock := new(tour.Clock)
	mem := stores.With{
		Outliving: stores.Outliving{Store: memkv.New(memkv.Options{Now: clock.Now})},
		Has:       kv.Powers{Unless: true, Ordered: true}, // as a Redis server
	}
	db, err := kvmodel.Open(mem, kvmodel.Clock(clock.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
	must(t, err)
	ctx := t.Context()
	m := after.New(db)
	must(t, after.Fill(ctx, m))
	rest := func(d time.Duration) {
		must(t, db.Flush(ctx))
		clock.Pass(d)
	}
	if reads { // A read asks for all boards anew.
		rest(2 * tour.Pause)
	}
	rest(tour.Pause)
	var got any
	if reads {
		got, err = do(ctx, m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, after.Another(ctx, m))
		rest(tour.Pause)
	}
	metered, meter := kvmodel.Metered(ctx)
	done, err := do(metered, m)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if !reads {
		got = done
	}
	trips = meter.Cost().Trips
	if want := answer(t, name); fmt.Sprint(got) != want {
		t.Errorf("%s: ringtree says %v, and GORM %v", name, got, want)
	}
	// Cascades may still be under way; the store is not closed.
	ended, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_ = db.Close(ended)
	return trips
}

func answer(t *testing.T, name string) string {
	t.Helper()
	db, err := gorm.Open(sqlite.Gorm("file:"+t.TempDir()+"/x.db?_pragma=foreign_keys(1)&_pragma=synchronous(0)&_pragma=journal_mode(off)"), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	defer pool.Close()
	must(t, before.Fill(db))
	got, err := before.Rows[name](db)
	if err != nil {
		t.Errorf("%s by GORM: %v", name, err)
	}
	return fmt.Sprint(got)
}

var must = proof.Must
