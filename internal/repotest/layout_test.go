package repotest

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A grant lists the permitted imports of a room, apart from its tests. A module in no grant needs a
// line in docs/decisions/0002-dependencies.md.
type grant struct{ rooms, modules []string }

var (
	indexes  = []string{"index", "timeline", "ranking", "ranking/collation"}
	backends = []string{"kvmodel/memkv", "kvmodel/boltkv", "kvmodel/memcachekv", "kvmodel/rediskv", "kvmodel/nearkv"}
	onServer = []string{"kvmodel/kv", "kvmodel/nearkv", "internal/storeurl", "internal/boot", "internal/contact"}
	shared   = []string{"internal/plug", "internal/memberlog", "internal/envelope", "internal/numbering", "internal/wire", "internal/frame", "internal/ahead", "internal/times", "internal/tally", "internal/work", "internal/lease", "internal/kept"}
	records  = slices.Concat([]string{"kvmodel", "kvmodel/kv", "kvmodel/codec"}, shared)
	grants   = map[string]grant{
		"example-app": {
			slices.Concat([]string{"inspect", "templates", "guard", "kvmodel/kvsession", "kvmodel/kvopen", "kvmodel/rediskv", "kvmodel/memcachekv", "kvmodel/kvopen/all", "kvmodel/kvfault"}, indexes, records),
			[]string{"github.com/a-h/templ", "github.com/gorilla/sessions", "github.com/vmihailenco/msgpack/v5", "github.com/yuin/goldmark", "golang.org/x/text"},
		},
		"examples": {slices.Concat(indexes, records, []string{"kvmodel/memkv"}), []string{"github.com/vmihailenco/msgpack/v5"}},
		"inspect": {
			slices.Concat([]string{"kvmodel/kvopen", "kvmodel/kvopen/all", "internal/release", "internal/durable", "templates"}, records),
			[]string{"github.com/a-h/templ", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/vmihailenco/msgpack/v5"},
		},
		"templates":         {nil, []string{"github.com/a-h/templ"}},
		"guard":             {[]string{"kvmodel/kv"}, []string{"golang.org/x/crypto/argon2", "golang.org/x/text"}},
		"index":             {records, nil},
		"timeline":          {records, nil},
		"ranking":           {records, nil},
		"ranking/collation": {nil, []string{"golang.org/x/text"}},
		"codegen":           {nil, []string{"github.com/a-h/templ", "golang.org/x/mod", "golang.org/x/text", "golang.org/x/tools"}},

		"kvmodel":            {slices.Concat([]string{"kvmodel/kv", "kvmodel/codec", "internal/release"}, shared), nil},
		"kvmodel/kv":         {nil, nil},
		"kvmodel/codec":      {nil, []string{"github.com/vmihailenco/msgpack/v5"}},
		"kvmodel/memkv":      {[]string{"kvmodel/kv", "internal/kept"}, nil},
		"kvmodel/boltkv":     {[]string{"kvmodel/kv", "kvmodel/codec", "internal/bloom", "internal/kept", "internal/wire", "internal/durable"}, []string{"go.etcd.io/bbolt"}},
		"kvmodel/memcachekv": {onServer, []string{"github.com/bradfitz/gomemcache"}},
		"kvmodel/rediskv":    {onServer, []string{"github.com/redis/rueidis"}},
		"kvmodel/nearkv":     {[]string{"kvmodel/kv", "internal/bloom", "internal/kept"}, nil},
		"kvmodel/kvopen":     {[]string{"kvmodel", "kvmodel/kv", "kvmodel/memkv", "kvmodel/boltkv", "internal/storeurl"}, nil},
		"kvmodel/kvopen/all": {[]string{"kvmodel/memcachekv", "kvmodel/rediskv"}, nil},
		"kvmodel/kvsession":  {[]string{"kvmodel/kv", "kvmodel/codec", "internal/wire", "internal/frame", "internal/durable"}, []string{"github.com/gorilla/sessions", "github.com/gorilla/securecookie"}},
		"kvmodel/kvfault":    {[]string{"kvmodel/kv"}, nil},
		"kvmodel/kvtest":     {[]string{"kvmodel/kv", "kvmodel/kvfault", "kvmodel/memkv", "kvmodel/nearkv", "internal/optest"}, []string{"github.com/google/go-cmp"}},

		"internal/plug":      {[]string{"internal/envelope", "internal/times", "internal/wire", "kvmodel/kv"}, nil},
		"internal/memberlog": {[]string{"internal/plug", "internal/kept", "internal/wire", "internal/frame", "internal/times", "kvmodel/kv", "kvmodel/codec"}, nil},
		"internal/envelope":  {[]string{"internal/wire", "internal/frame", "kvmodel/kv", "kvmodel/codec"}, nil},
		"internal/wire":      {[]string{"kvmodel/codec"}, nil},
		"internal/frame":     {[]string{"internal/wire", "kvmodel/codec"}, nil},
		"internal/ahead":     {[]string{"kvmodel/kv", "internal/kept"}, nil},
		"internal/boot":      {[]string{"kvmodel/kv", "internal/times"}, nil},
		"internal/contact":   {[]string{"kvmodel/kv"}, nil},
		"internal/bloom":     {nil, nil},
		"internal/kept":      {[]string{"kvmodel/kv"}, nil},
		"internal/storeurl":  {[]string{"kvmodel/kv", "kvmodel/nearkv"}, nil},
		"internal/release":   {nil, nil},
		"internal/times":     {nil, nil},
		"internal/durable":   {nil, nil},
		"internal/numbering": {[]string{"kvmodel/kv", "kvmodel/codec"}, nil},
		"internal/tally":     {[]string{"internal/times", "internal/wire", "internal/work", "kvmodel/kv"}, nil},
		"internal/lease":     {[]string{"kvmodel/kv"}, nil},
		"internal/work":      {[]string{"kvmodel/kv", "kvmodel/codec"}, nil},
		"internal/optest":    {[]string{"kvmodel/kv"}, nil},
		"internal/proof":     {[]string{"kvmodel/kv", "kvmodel/kvtest", "internal/optest"}, []string{"github.com/chromedp"}},
		"internal/repotest":  {nil, nil},
		"internal/whole": {
			slices.Concat(indexes, records, backends, []string{"inspect", "kvmodel/kvopen", "kvmodel/kvopen/all", "kvmodel/kvtest", "kvmodel/kvsession", "internal/proof"}),
			[]string{"github.com/gorilla/sessions", "github.com/vmihailenco/msgpack/v5", "go.etcd.io/bbolt"},
		},
	}
)

func TestLayout_ImportsRunDownhill(t *testing.T) {
	for _, file := range goFiles() {
		room := roomOf(path.Dir(file))
		granted, ok := grants[room]
		if strings.HasSuffix(file, "_test.go") || within(file, "bench") || within(file, "adapters") || file == "doc.go" {
			continue
		}
		if !ok {
			t.Errorf("%s is in no room: add its folder to the table of this test and to doc.go", file)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(file), parser.ImportsOnly)
		must(t, err)
		for _, spec := range parsed.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); !granted.allows(room, imported) {
				t.Errorf("%s imports %s, but room %q may import only %q of this module and the modules %q", file, imported, room, granted.rooms, granted.modules)
			}
		}
	}
}

func (g grant) allows(room, imported string) bool {
	if folder, ok := strings.CutPrefix(imported, module+"/"); ok {
		return roomOf(folder) == room || slices.Contains(g.rooms, roomOf(folder))
	}
	return !strings.Contains(strings.Split(imported, "/")[0], ".") || slices.ContainsFunc(g.modules, func(m string) bool { return within(imported, m) })
}

func roomOf(folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := grants[folder]; ok {
			return folder
		}
	}
	return "."
}

func TestLayout_TheMapInDocGoListsEachRoom(t *testing.T) {
	doc := string(read("doc.go"))
	for room := range grants {
		if above, name, nested := strings.Cut(room, "/"); !strings.Contains(doc, "//\t"+above+" ") || nested && !strings.Contains(doc, "//\t  "+name+" ") {
			t.Errorf("doc.go does not list %s", room)
		}
	}
}
