package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const module = "github.com/ringtree/ringtree"

var storeFigures = slices.Concat([]func(*bench) error{
	conformance,
	helperCosts,
	linkedModules,
	memcachedSpeed,
	redisSpeed,
	boltGets,
	boltWriters,
	boltKills,
	clusterKill,
}, oneFileFigures, shippingFigures)

// suite is in the names of the tests that run the suite. The set-up of the store
// follows it.
const suite = "KeepsTheContract"

// conformance runs the suite on every store, as the stores' own tests do, and
// counts its cases.
func conformance(b *bench) error {
	b.report("conformance: named cases", float64(len(kvtest.Cases())), atLeast(150))
	events, err := b.goCommand("test", "-json", "-count=1", "-run", suite,
		"./kvmodel/memkv", "./kvmodel/boltkv", "./kvmodel/memcachekv", "./kvmodel/rediskv")
	results, parseErr := caseResults(events)
	if parseErr != nil {
		return errors.Join(err, parseErr)
	}
	for _, setUp := range slices.Sorted(maps.Keys(results)) {
		passed := count(maps.Values(results[setUp]), func(ok bool) bool { return ok })
		b.report("conformance: cases passed, "+setUp, float64(passed), exactly(float64(len(results[setUp]))))
	}
	b.report("conformance: set-ups", float64(len(results)), atLeast(5))
	return err
}

// caseResults returns for each set-up, such as "rediskv OnACluster", whether
// each of the cases in it passed.
func caseResults(events []byte) (map[string]map[string]bool, error) {
	results := map[string]map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(events))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("go test -json printed %.100q: %w", lines.Text(), err)
		}
		top, name, isCase := strings.Cut(event.Test, "/")
		ended := event.Action == "pass" || event.Action == "fail" || event.Action == "skip"
		if !isCase || !ended {
			continue
		}
		_, where, _ := strings.Cut(top, suite)
		setUp := strings.TrimSpace(path.Base(event.Package) + " " + strings.Trim(where, "_"))
		if results[setUp] == nil {
			results[setUp] = map[string]bool{}
		}
		results[setUp][name] = event.Action == "pass"
	}
	for _, cases := range results {
		removeParents(cases)
	}
	return results, lines.Err()
}

// removeParents leaves out the tests that only hold others.
func removeParents(cases map[string]bool) {
	for name := range cases {
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			delete(cases, parent)
		}
	}
}

// helperCosts counts what the helpers on top of a store ask of it.
func helperCosts(b *bench) error {
	s := kvmodel.Count(memkv.New(memkv.Options{}))
	defer s.Close()
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("page:", i)
	}
	for _, h := range []struct {
		name  string
		trips float64
		work  func(context.Context, kvmodel.Store) error
	}{
		{"GetAll of 100 keys", 1, func(ctx context.Context, s kvmodel.Store) error {
			_, err := kv.GetAll(ctx, s, keys...)
			return err
		}},
		{"Next, the first of a key", 3, next},
		{"Next, any later one", 1, next},
	} {
		cost, err := b.cost(func(ctx context.Context) error { return h.work(ctx, s) })
		if err != nil {
			return err
		}
		b.report("trips: "+h.name, float64(cost.Trips), exactly(h.trips))
	}
	return nil
}

func next(ctx context.Context, s kvmodel.Store) error {
	_, err := kv.Next(ctx, s, "views", 0, 1)
	return err
}

const embeddedProgram = `package main

import (
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

var _ kvmodel.Store = (*boltkv.Store)(nil)

func main() {}
`

// linkedModules counts the modules of a program on the embedded store.
func linkedModules(b *bench) error {
	file := filepath.Join(b.dir, "embedded.go")
	if err := os.WriteFile(file, []byte(embeddedProgram), 0o644); err != nil {
		return err
	}
	out, err := b.goCommand("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", file)
	if err != nil {
		return err
	}
	modules := slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out)))))
	unwanted := count(slices.Values(modules), isUnwanted)
	b.report("modules linked with kvmodel and boltkv", float64(len(modules)), atMost(6))
	b.report("modules linked that are peers or for tests", float64(unwanted), exactly(0))
	return nil
}

// isUnwanted reports whether a module is one that only comparisons or tests use.
func isUnwanted(name string) bool {
	return slices.ContainsFunc([]string{"gorm", "pgx", "go-cmp", "porcupine", "go-internal", "testify", "chromedp"},
		func(part string) bool { return strings.Contains(name, part) })
}

// goCommand runs the go command in the root module with servers required, and
// returns what it printed, also if it failed.
func (b *bench) goCommand(args ...string) ([]byte, error) {
	root, err := exec.CommandContext(b.ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: where is the root module? run this in bench/", err)
	}
	cmd := exec.CommandContext(b.ctx, "go", args...)
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(os.Environ(), "RINGTREE_SERVERS=required")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, exit.Stderr)
	}
	return out, err
}
