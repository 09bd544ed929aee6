package ringtree_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/ringtree/ringtree"

// A grant says what the code of a room may import besides the standard library
// and the room itself. A module that is not here is a new dependency: it needs
// a line in docs/decisions first.
type grant struct{ rooms, modules []string }

var (
	indexes  = []string{"index", "timeline", "ranking", "ranking/collation"}
	backends = []string{"kvmodel/memkv", "kvmodel/boltkv", "kvmodel/memcachekv", "kvmodel/rediskv", "kvmodel/nearkv"}
	onServer = []string{"kvmodel/kv", "kvmodel/nearkv", "internal/storeurl", "internal/boot", "internal/contact"}
	shared   = []string{"internal/plug", "internal/envelope", "internal/numbering", "internal/wire", "internal/ahead"}
	records  = append([]string{"kvmodel", "kvmodel/kv", "kvmodel/codec"}, shared...)

	grants = map[string]grant{
		".": {[]string{"internal/proof"}, []string{"golang.org/x/mod"}}, // tests alone: nothing else is there
		"example-app": {
			slices.Concat([]string{"inspect", "templates", "kvmodel/kvsession", "kvmodel/kvopen", "kvmodel/kvopen/all"}, indexes, records),
			[]string{"github.com/a-h/templ", "github.com/gorilla/sessions", "github.com/vmihailenco/msgpack/v5", "golang.org/x/crypto/argon2", "golang.org/x/text"},
		},
		"examples": {slices.Concat(indexes, records, []string{"kvmodel/memkv"}), []string{"github.com/vmihailenco/msgpack/v5"}},
		"inspect": {
			append([]string{"kvmodel/kvopen", "kvmodel/kvopen/all", "internal/release", "internal/durable", "templates"}, records...),
			[]string{"github.com/a-h/templ", "github.com/vmihailenco/msgpack/v5"},
		},
		"templates": {nil, []string{"github.com/a-h/templ"}},
		"index":     {records, nil},
		"timeline":  {records, nil},
		"ranking":   {records, nil},
		"kvmodel":   {append([]string{"kvmodel/kv", "kvmodel/codec", "internal/release"}, shared...), nil},

		"ranking/collation": {[]string{"internal/proof"}, []string{"golang.org/x/text"}}, // its tests have the room

		"internal/plug":      {[]string{"internal/envelope", "internal/wire", "kvmodel/kv"}, nil},
		"internal/envelope":  {[]string{"internal/wire", "kvmodel/kv", "kvmodel/codec"}, nil},
		"internal/wire":      {[]string{"kvmodel/codec"}, nil},
		"internal/ahead":     {[]string{"kvmodel/kv"}, nil},
		"internal/boot":      {[]string{"kvmodel/kv"}, nil},
		"internal/contact":   {[]string{"kvmodel/kv"}, nil},
		"internal/storeurl":  {[]string{"kvmodel/kv", "kvmodel/nearkv"}, nil},
		"internal/release":   {nil, nil},
		"internal/durable":   {nil, nil},
		"internal/numbering": {[]string{"kvmodel/kv", "kvmodel/codec"}, nil},

		"kvmodel/kv":         {nil, nil},
		"kvmodel/codec":      {nil, []string{"github.com/vmihailenco/msgpack/v5"}},
		"kvmodel/memkv":      {[]string{"kvmodel/kv"}, nil},
		"kvmodel/boltkv":     {[]string{"kvmodel/kv", "kvmodel/codec", "internal/wire", "internal/durable"}, []string{"go.etcd.io/bbolt"}},
		"kvmodel/memcachekv": {onServer, []string{"github.com/bradfitz/gomemcache"}},
		"kvmodel/rediskv":    {onServer, []string{"github.com/redis/rueidis"}},
		"kvmodel/nearkv":     {[]string{"kvmodel/kv"}, nil},
		"kvmodel/kvopen":     {[]string{"kvmodel", "kvmodel/kv", "kvmodel/memkv", "kvmodel/boltkv", "internal/storeurl"}, nil},
		"kvmodel/kvopen/all": {[]string{"kvmodel/memcachekv", "kvmodel/rediskv"}, nil},
		"kvmodel/kvsession":  {[]string{"kvmodel/kv", "kvmodel/codec", "internal/wire", "internal/durable"}, []string{"github.com/gorilla/sessions", "github.com/gorilla/securecookie"}},
		"kvmodel/kvtest": {
			[]string{"kvmodel/kv", "kvmodel/memkv", "kvmodel/nearkv", "internal/optest"},
			[]string{"github.com/google/go-cmp"},
		},

		"internal/optest": {[]string{"kvmodel/kv"}, nil},
		"internal/proof":  {[]string{"kvmodel/kv", "kvmodel/kvtest", "internal/optest"}, nil},
		"internal/whole": {
			slices.Concat(indexes, records, backends, []string{"inspect", "kvmodel/kvopen", "kvmodel/kvopen/all", "kvmodel/kvtest", "kvmodel/kvsession", "internal/proof"}),
			[]string{"github.com/gorilla/sessions", "github.com/vmihailenco/msgpack/v5", "go.etcd.io/bbolt"},
		},

		"codegen": {nil, []string{"github.com/a-h/templ", "golang.org/x/mod", "golang.org/x/text", "golang.org/x/tools"}},
	}

	// What every test may import besides.
	testModules = []string{
		"github.com/google/go-cmp",
		"github.com/anishathalye/porcupine",
		"github.com/rogpeppe/go-internal",
		"github.com/chromedp",
		"golang.org/x/text",
	}
)

func TestLayout_ImportsPointOneWay(t *testing.T) {
	report(t, checkImports(os.DirFS(".")))
}

func TestLayout_MapAndFoldersAgree(t *testing.T) {
	report(t, checkMap(os.DirFS(".")))
}

func report(t *testing.T, complaints []string) {
	t.Helper()
	for _, complaint := range complaints {
		t.Error(complaint)
	}
}

// checkImports returns a complaint for each import the rule forbids.
func checkImports(tree fs.FS) (complaints []string) {
	rooms := roomsOf(tree)
	for _, file := range goFiles(tree) {
		here := roomOf(path.Dir(file), rooms)
		if here == "bench" || here == "adapters" { // modules of their own
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(tree, file), parser.ImportsOnly)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if reason := forbidden(file, here, imported, rooms); reason != "" {
				complaints = append(complaints, fmt.Sprintf("%s must not import %s: %s", file, imported, reason))
			}
		}
	}
	return complaints
}

// forbidden says why file, which is in room here, must not import imported, or
// returns "".
func forbidden(file, here, imported string, rooms map[string]bool) string {
	isTest := strings.HasSuffix(file, "_test.go")
	granted := grants[here]
	seesStores := here == "kvmodel/kv" || slices.Contains(granted.rooms, "kvmodel/kv")
	if folder, ok := strings.CutPrefix(imported, module+"/"); ok {
		there := roomOf(folder, rooms)
		switch {
		case there == here || slices.Contains(granted.rooms, there):
			return ""
		case isTest && seesStores && (within(there, "kvmodel") || there == "internal/proof"):
			return ""
		case isTest && within(there, here):
			return "" // A room is tested with the rooms within.
		case isTest && (here == "kvmodel" || here == "inspect") && slices.Contains(indexes, there):
			return "" // The write path, and what looks into indexes, are tested with some.
		case path.Base(file) == "example_test.go" && seesStores && there == "examples":
			return "" // An example shows a room as an app has it, with models.
		}
		return fmt.Sprintf("room %q may import only %q of this module", here, granted.rooms)
	}
	modules := granted.modules
	if isTest {
		modules = append(slices.Clone(modules), testModules...)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || slices.ContainsFunc(modules, func(m string) bool { return within(imported, m) }) {
		return ""
	}
	return fmt.Sprintf("room %q may import only %q of other modules; a new one is a decision: see docs/decisions", here, modules)
}

// checkMap returns a complaint for each room of doc.go that is not there and
// not marked as coming, or the reverse, and for each folder that is in no room.
func checkMap(tree fs.FS) (complaints []string) {
	rooms := roomsOf(tree)
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		_, err := fs.Stat(tree, room)
		switch coming := rooms[room]; {
		case err != nil && !coming:
			complaints = append(complaints, fmt.Sprintf("doc.go lists %s, which does not exist and is not marked (coming)", room))
		case err == nil && coming:
			complaints = append(complaints, fmt.Sprintf("doc.go says that %s is coming, but it exists", room))
		}
	}
	folders := map[string]bool{}
	for _, file := range goFiles(tree) {
		folders[path.Dir(file)] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if !mapped(folder, rooms) {
			complaints = append(complaints, fmt.Sprintf("%s holds Go files but is not on the map in doc.go", folder))
		}
	}
	return complaints
}

// mapped reports whether the map accounts for folder. A room whose rooms are listed
// has no others but what is internal to it; elsewhere folders are the room's own
// affair.
func mapped(folder string, rooms map[string]bool) bool {
	room := roomOf(folder, rooms)
	if folder == "." || folder == room || within(folder, path.Join(room, "internal")) {
		return true
	}
	for other := range rooms {
		if other != room && within(other, room) {
			return false
		}
	}
	return room != "."
}

// roomsOf returns the rooms that doc.go lists, and whether each is yet to come.
func roomsOf(tree fs.FS) map[string]bool {
	doc, err := parser.ParseFile(token.NewFileSet(), "doc.go", read(tree, "doc.go"), parser.ParseComments)
	if err != nil {
		panic(err)
	}
	rooms := map[string]bool{}
	above := ""
	for line := range strings.Lines(doc.Doc.Text()) {
		entry, ok := strings.CutPrefix(line, "\t")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if strings.HasPrefix(entry, " ") {
			name = above + "/" + name
		} else {
			above = name
		}
		rooms[name] = strings.HasSuffix(strings.TrimSpace(entry), "(coming)")
	}
	return rooms
}

// roomOf returns the innermost room that folder is in, "." if it is in none.
func roomOf(folder string, rooms map[string]bool) string {
	for room := folder; room != "."; room = path.Dir(room) {
		if _, ok := rooms[room]; ok {
			return room
		}
	}
	return "."
}

// within reports whether name is root or beneath it.
func within(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

// goFiles returns the Go files of tree but for those the go command skips.
func goFiles(tree fs.FS) []string {
	var found []string
	for _, file := range files(tree) {
		skipped := slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool {
			return part == "testdata" || part[0] == '_' || part[0] == '.'
		})
		if strings.HasSuffix(file, ".go") && !skipped {
			found = append(found, file)
		}
	}
	return found
}

// files returns the files of tree but for what .gitignore leaves out.
func files(tree fs.FS) []string {
	ignored := []string{".git", "bin", "tmp", "example-app/data"}
	var found []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(ignored, name) && entry.IsDir():
			return fs.SkipDir
		case entry.Type().IsRegular() && name != ".git":
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return found
}

func read(tree fs.FS, file string) []byte {
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		panic(err)
	}
	return data
}

// The rule is only as good as what it catches: a small tree of the same shape,
// with one file that breaks it.

const sampleMap = `// Package ringtree is a sample.
//
//	example-app  the app
//	templates    components
//	index        lists
//	timeline     rings
//	internal/proof  proofs
//	kvmodel      records
//	  kv         the contract
//	  memkv      in memory
//	  boltkv     embedded
//	codegen      the generator (coming)
package ringtree
`

func sampleTree(extra map[string]string) fs.FS {
	tree := fstest.MapFS{"doc.go": {Data: []byte(sampleMap)}}
	for _, room := range []string{"example-app", "templates", "index", "timeline", "internal/proof", "kvmodel", "kvmodel/kv", "kvmodel/memkv", "kvmodel/boltkv"} {
		tree[room+"/x.go"] = &fstest.MapFile{Data: []byte("package x\n")}
	}
	for name, text := range extra {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

func TestCheckImports_NamesFileAndImport(t *testing.T) {
	own := func(folder string) string { return module + "/" + folder }
	for _, test := range []struct {
		file, imported string
		forbidden      bool
	}{
		{"index/list.go", own("kvmodel"), false},
		{"index/list.go", own("timeline"), true},
		{"index/list_test.go", own("timeline"), true},
		{"index/list.go", own("kvmodel/memkv"), true},
		{"index/list_test.go", own("kvmodel/memkv"), false},
		{"index/list.go", own("example-app/wiki"), true},
		{"index/list.go", "github.com/google/go-cmp/cmp", true},
		{"index/list_test.go", "github.com/google/go-cmp/cmp", false},
		{"index/list.go", "encoding/json", false},
		{"kvmodel/db.go", own("kvmodel/boltkv"), true},
		{"kvmodel/db_test.go", own("kvmodel/memkv"), false},
		{"kvmodel/db.go", own("index"), true},
		{"kvmodel/db.go", "github.com/vmihailenco/msgpack/v5", true},
		{"kvmodel/db.go", own("kvmodel/kv"), false},
		{"index/list.go", own("internal/proof"), true},
		{"index/list_test.go", own("internal/proof"), false},
		{"index/list_test.go", own("internal/proof/servers"), false},
		{"kvmodel/kv/store.go", own("internal/proof"), true},
		{"kvmodel/kv/store_test.go", own("internal/proof"), false},
		{"templates/pager_test.go", own("internal/proof"), true},
		{"kvmodel/kv/store.go", "context", false},
		{"kvmodel/kv/store.go", own("kvmodel"), true},
		{"kvmodel/kv/store.go", "github.com/google/go-cmp/cmp", true},
		{"kvmodel/memkv/mem.go", own("kvmodel/kv"), false},
		{"kvmodel/memkv/mem.go", own("kvmodel"), true},
		{"kvmodel/boltkv/bolt.go", own("kvmodel/memkv"), true},
		{"kvmodel/boltkv/bolt.go", "go.etcd.io/bbolt", false},
		{"kvmodel/memkv/mem.go", "go.etcd.io/bbolt", true},
		{"templates/pager.go", own("kvmodel"), true},
		{"templates/pager_test.go", own("kvmodel"), true},
		{"templates/pager.go", "github.com/a-h/templ", false},
		{"codegen/kvgen/main.go", own("codegen"), false},
		{"codegen/kvgen/main.go", own("kvmodel"), true},
		{"example-app/main.go", own("index"), false},
		{"example-app/main.go", own("kvmodel/boltkv"), true},
		{"example-app/main.go", "golang.org/x/toolsmith", true},
	} {
		tree := sampleTree(map[string]string{test.file: fmt.Sprintf("package x\n\nimport _ %q\n", test.imported)})
		got := checkImports(tree)
		if !test.forbidden && len(got) > 0 {
			t.Errorf("%s imports %s: it may, got %q", test.file, test.imported, got)
		}
		want := fmt.Sprintf("%s must not import %s: ", test.file, test.imported)
		if test.forbidden && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s imports %s: want one complaint that starts %q, got %q", test.file, test.imported, want, got)
		}
	}
}

func TestCheckMap_NamesWhatDiffers(t *testing.T) {
	for _, test := range []struct {
		name string
		tree fs.FS
		want []string
	}{
		{"as drawn", sampleTree(nil), nil},
		{"a room more", sampleTree(map[string]string{"util/x.go": "package util\n"}),
			[]string{"util holds Go files but is not on the map in doc.go"}},
		{"a room more under one whose rooms are listed", sampleTree(map[string]string{"kvmodel/sqlkv/x.go": "package sqlkv\n"}),
			[]string{"kvmodel/sqlkv holds Go files but is not on the map in doc.go"}},
		{"what is internal to a room whose rooms are listed", sampleTree(map[string]string{"kvmodel/internal/journal/x.go": "package journal\n"}), nil},
		{"a folder of a room without listed rooms", sampleTree(map[string]string{"example-app/web/x.go": "package web\n"}), nil},
		{"testdata", sampleTree(map[string]string{"other/testdata/x.go": "package x\n"}), nil},
		{"come already", sampleTree(map[string]string{"codegen/x.go": "package codegen\n"}),
			[]string{"doc.go says that codegen is coming, but it exists"}},
		{"gone", fstest.MapFS{"doc.go": {Data: []byte("// Package x is a sample.\n//\n//\tindex  lists\npackage x\n")}},
			[]string{"doc.go lists index, which does not exist and is not marked (coming)"}},
	} {
		if diff := cmp.Diff(test.want, checkMap(test.tree)); diff != "" {
			t.Errorf("%s: complaints mismatch (-want +got):\n%s", test.name, diff)
		}
	}
}
