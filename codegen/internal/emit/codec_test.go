package emit

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

var update = flag.Bool("update", false, "write the codecs of the sample")

const (
	sampleDir  = "../../../kvmodel/codec/internal/sample"
	samplePath = "github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

func TestCodecSet_Emit_SampleIsCurrent(t *testing.T) {
	pkg := newPackage(t, samplePath, readFile(t, "sample.go"), readFile(t, "evolve.go"))
	models := []string{"Page", "Kitchen", "Pantry", "OldNote", "NewNote"}
	set := pkg.set(models...)
	compareFile(t, "sample_kv.go", pkg.generate(t, set, models[:3]...))
	compareFile(t, "evolve_kv.go", pkg.generate(t, set, models[3:]...))
}

func compareFile(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(sampleDir, name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, readFile(t, name)); diff != "" {
		t.Errorf("%s is stale: run go test ./codegen/internal/emit -run SampleIsCurrent -update (-want +got)\n%s", name, diff)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sampleDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCodecSet_Emit_SameBytesEveryTime(t *testing.T) {
	pkg := newPackage(t, samplePath, readFile(t, "sample.go"))
	first := pkg.generate(t, pkg.set("Page", "Kitchen"), "Page", "Kitchen")
	for range 3 {
		if diff := cmp.Diff(first, pkg.generate(t, pkg.set("Page", "Kitchen"), "Page", "Kitchen")); diff != "" {
			t.Fatalf("another run differs (-first +later)\n%s", diff)
		}
	}
}

func TestCodecSet_Emit_WhatCannotBeStoredIsAnErrorAtItsField(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"chan":             {"type M struct {\n\tC chan int\n}", "m.go:4:2: chan int cannot be stored: leave the field out with `kv:\"-\"`"},
		"func":             {"type M struct {\n\tF func()\n}", "m.go:4:2: func() cannot be stored: leave the field out with `kv:\"-\"`"},
		"interface":        {"type M struct {\n\tA any\n}", "m.go:4:2: any cannot be stored: use a concrete type, or leave the field out with `kv:\"-\"`"},
		"error":            {"type M struct {\n\tE error\n}", "m.go:4:2: error cannot be stored: use a concrete type, or leave the field out with `kv:\"-\"`"},
		"complex":          {"type M struct {\n\tC complex128\n}", "m.go:4:2: complex128 cannot be stored: give it EncodeMsgpack and DecodeMsgpack, or leave the field out with `kv:\"-\"`"},
		"uintptr":          {"type M struct {\n\tU uintptr\n}", "m.go:4:2: uintptr cannot be stored: give it EncodeMsgpack and DecodeMsgpack, or leave the field out with `kv:\"-\"`"},
		"in a slice":       {"type M struct {\n\tC []map[string]chan int\n}", "m.go:4:2: chan int cannot be stored: leave the field out with `kv:\"-\"`"},
		"in a helper":      {"type M struct {\n\tH H\n}\ntype H struct {\n\tC chan int\n}", "m.go:7:2: chan int cannot be stored: leave the field out with `kv:\"-\"`"},
		"map key":          {"type M struct {\n\tB map[bool]int\n}", "m.go:4:2: map[bool]int: the keys of a stored map are strings or integers"},
		"float key":        {"type M struct {\n\tB map[float64]int\n}", "m.go:4:2: map[float64]int: the keys of a stored map are strings or integers"},
		"pointer twice":    {"type M struct {\n\tP **int\n}", "m.go:4:2: **int: a stored nil could be the pointer or what it points to; use *int"},
		"pointer to slice": {"type M struct {\n\tP *[]int\n}", "m.go:4:2: *[]int: a stored nil could be the pointer or what it points to; use []int"},
		"pointer to own":   {"import \"net\"\ntype M struct {\n\tP *net.IP\n}", "m.go:5:2: *net.IP: a stored nil could be the pointer or what it points to; use net.IP"},
		"opaque struct":    {"import \"sync\"\ntype M struct {\n\tMu sync.Mutex\n}", "m.go:5:2: sync.Mutex has no exported fields and no marshaling of its own: nothing of it would be stored"},
		"embedded opaque":  {"import \"sync\"\ntype M struct {\n\tsync.Mutex\n\tA int\n}", "m.go:5:7: sync.Mutex has no exported fields and no marshaling of its own: nothing of it would be stored"},
		"two of a name":    {"type M struct {\n\tA int\n\tB int `msgpack:\"A\"`\n}", "m.go:5:2: two fields of M are stored as \"A\": rename one with `msgpack:\"other name\"`"},
		"embedded twice":   {"type M struct {\n\tID int\n\tB\n}\ntype B struct {\n\tID int\n}", "m.go:8:2: two fields of M are stored as \"ID\": rename one with `msgpack:\"other name\"`"},
		"as array":         {"type M struct {\n\t_msgpack struct{} `msgpack:\",as_array\"`\n\tA int\n}", "m.go:4:2: M is stored as an array (as_array): an array does not survive a change of fields; remove the option"},
		"intern":           {"type M struct {\n\tA string `msgpack:\",intern\"`\n}", "m.go:4:2: field A: the msgpack option intern has no stored form here: remove it"},
		"hidden pointer":   {"type M struct {\n\t*base\n\tA int\n}\ntype base struct{ B int }", "m.go:4:3: M embeds a pointer to an unexported type, which would not be stored: name the field or export the type"},
		"unknown type":     {"type M struct {\n\tA Missing\n}", "m.go:4:2: the type of this field is unknown: does the package compile?"},
		"generic":          {"type M[T any] struct {\n\tA T\n}", "m.go:3:6: M has type parameters: a model is a type of its own"},
		"two errors":       {"type M struct {\n\tC chan int\n\tD func()\n}", "m.go:4:2: chan int cannot be stored: leave the field out with `kv:\"-\"`\nm.go:5:2: func() cannot be stored: leave the field out with `kv:\"-\"`"},
		"half marshaller":  {"type M struct {\n\tA T\n}\ntype T struct{ c chan int }\nfunc (T) MarshalText() ([]byte, error) { return nil, nil }", "m.go:4:2: T has no exported fields and no marshaling of its own: nothing of it would be stored"},
		"out of reach":     {"import \"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo\"\ntype M struct {\n\tA geo.Point\n}", "m.go:5:2: geo.Point is out of reach of this package: leave the field out with `kv:\"-\"`, or copy it into a type of your own"},
	} {
		t.Run(name, func(t *testing.T) {
			pkg := newPackage(t, "example.com/m", "package m\n\n"+test.src)
			set := pkg.set("M")
			set.emit(pkg.named("M"))
			if diff := cmp.Diff(test.want, fmt.Sprint(set.Err())); diff != "" {
				t.Errorf("errors mismatch (-want +got)\n%s", diff)
			}
		})
	}
}

func TestCodecSet_Emit_GeneratedCodeCompiles(t *testing.T) {
	for name, src := range map[string]string{
		"no fields":           "type M struct{}",
		"only skipped":        "type M struct {\n\tA chan int `kv:\"-\"`\n\tB func() `msgpack:\"-\"`\n\tc chan int\n}",
		"names in use":        "type M struct{ A N }\ntype N struct{ B int }\nfunc writeN() {}\nfunc nFields() {}\nvar codec, msgpack, mCodec int",
		"names alike":         "import gs \"go/scanner\"\nimport ts \"text/scanner\"\ntype M struct {\n\tA gs.Error\n\tB map[string][]ts.Position\n}",
		"receiver e":          "type Event struct{ E E }\ntype E struct{ V, W, R int }",
		"keyword":             "type Type struct{ Func Range }\ntype Range struct{ Map map[string]Range }",
		"unexported model":    "type page struct{ ID string; next *page }",
		"initials":            "type URL struct{ HTTP HTTPRoute }\ntype HTTPRoute struct{ ID int }",
		"embedded marshaller": "import \"time\"\ntype M struct{ S S }\ntype S struct {\n\ttime.Time\n\tNote string\n}",
		"generic pair":        "type M struct{ P Pair[string, []Pair[int, *int]] }\ntype Pair[A, B any] struct {\n\tA A\n\tB B\n}",
		"aliases":             "type M struct{ A A; B []A; C Ints }\ntype A = struct{ X int }\ntype Ints = []int",
		"nested anonymous":    "type M struct{ A []struct{ B map[string]struct{ C *struct{ D int } } } }",
		"times":               "import \"time\"\ntype At time.Time\ntype M struct{ A []time.Time; B []At; C *At; D map[string]At; E [2]At; F time.Month }",
		"own nils":            "import \"net\"\ntype M struct{ A net.IP; B []net.IP; C map[string]net.IP; D [2]net.IP }",
		"named pointer":       "type P *int\ntype L []L\ntype M struct{ P P; L L; Q []P }",
	} {
		t.Run(name, func(t *testing.T) {
			pkg := newPackage(t, "example.com/m", "package m\n\n"+src)
			model := pkg.firstStruct()
			pkg.generateAndCheck(t, pkg.set(model), model)
		})
	}
}

func TestCodecSet_Emit_HelperOfTwoModelsIsWrittenOnce(t *testing.T) {
	pkg := newPackage(t, "example.com/m", "package m\n\ntype A struct{ N N }\ntype B struct{ N *N }\ntype N struct{ X int }")
	set := pkg.set("A", "B")
	code := pkg.generateAndCheck(t, set, "A") + pkg.generate(t, set, "B")
	if got := strings.Count(code, "func writeN("); got != 1 {
		t.Errorf("want writeN written once, got %d times", got)
	}
}

func TestCodecSet_Emit_SkippedFieldIsInNeitherDirection(t *testing.T) {
	pkg := newPackage(t, "example.com/m", "package m\n\ntype M struct {\n\tA int\n\tHits int64 `kv:\"counter,batch=every\"`\n\tSub N\n}\ntype N struct {\n\tB int\n\tHits int64 `kv:\"counter\"`\n}")
	if code := pkg.generateAndCheck(t, pkg.set("M"), "M"); strings.Contains(code, "Hits") {
		t.Errorf("the counter is in the codec:\n%s", code)
	}
}

func TestCodecSet_Emit_PackagesOfOneNameGetTwoNames(t *testing.T) {
	pkg := newPackage(t, "example.com/m", "package m\n\nimport gs \"go/scanner\"\nimport ts \"text/scanner\"\n\ntype M struct {\n\tA gs.Error\n\tB ts.Position\n}")
	code := pkg.generateAndCheck(t, pkg.set("M"), "M")
	for _, want := range []string{`"go/scanner"`, `scanner2 "text/scanner"`} {
		if !strings.Contains(code, want) {
			t.Errorf("want %s in\n%s", want, code)
		}
	}
}

func TestCodecSet_Emit_EmbeddedMarshallerDoesNotSpeakForTheWhole(t *testing.T) {
	pkg := newPackage(t, "example.com/m", "package m\n\nimport \"time\"\n\ntype M struct{ S S }\ntype S struct {\n\ttime.Time\n\tNote string\n}")
	code := pkg.generateAndCheck(t, pkg.set("M"), "M")
	for _, want := range []string{`codec.WriteTime(w.Name("Time"), &v.Time)`, `codec.WriteString(w.Name("Note"), &v.Note)`} {
		if !strings.Contains(code, want) {
			t.Errorf("want %s in\n%s", want, code)
		}
	}
}

type testPackage struct {
	*types.Package
	fset  *token.FileSet
	files []*ast.File
}

func newPackage(t *testing.T, path string, sources ...string) *testPackage {
	t.Helper()
	p := &testPackage{fset: token.NewFileSet()}
	for i, src := range sources {
		name := "m.go"
		if i > 0 {
			name = fmt.Sprintf("m%d.go", i)
		}
		file, err := parser.ParseFile(p.fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	conf := types.Config{Importer: exported(), Error: func(error) {}}
	p.Package, _ = conf.Check(path, p.fset, p.files, nil)
	return p
}

var exported = sync.OnceValue(func() types.Importer {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", samplePath+"/...", "go/scanner", "net", "text/scanner")
	out, err := list.Output()
	if err != nil {
		panic(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
})

func (p *testPackage) named(name string) *types.Named {
	return p.Scope().Lookup(name).Type().(*types.Named)
}

func (p *testPackage) firstStruct() string {
	for _, decl := range p.files[0].Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
			if spec := gen.Specs[0].(*ast.TypeSpec); isStruct(spec) {
				return spec.Name.Name
			}
		}
	}
	return ""
}

func isStruct(spec *ast.TypeSpec) bool {
	_, ok := spec.Type.(*ast.StructType)
	return ok && !spec.Assign.IsValid()
}

func (p *testPackage) set(models ...string) *codecSet {
	taken := map[string]bool{"w": true, "r": true, "v": true, "enc": true, "dec": true, "name": true}
	for _, name := range p.Scope().Names() {
		taken[name] = true
	}
	writes := func(name *types.TypeName) bool {
		return name.Pkg() == p.Package && slices.Contains(models, name.Name())
	}
	return newCodecSet(&stored.Forms{Reporter: &problem.Reporter{Fset: p.fset}, Pkg: p.Package, Writes: writes}, newImports(p.Package, taken))
}

func (p *testPackage) generate(t *testing.T, set *codecSet, models ...string) string {
	t.Helper()
	var body bytes.Buffer
	for _, name := range models {
		body.Write(set.emit(p.named(name)))
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	src := fmt.Sprintf("// Code generated by kvgen. DO NOT EDIT.\n\npackage %s\n\n%s\n\n%s", p.Name(), set.imports.decl(), body.Bytes())
	formatted, err := format.Source([]byte(src))
	if err != nil {
		t.Fatalf("generated code does not parse: %v\n%s", err, src)
	}
	return string(formatted)
}

// generateAndCheck also type-checks the result beside the package.
func (p *testPackage) generateAndCheck(t *testing.T, set *codecSet, models ...string) string {
	t.Helper()
	code := p.generate(t, set, models...)
	file, err := parser.ParseFile(p.fset, "m_kv.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: exported()}
	if _, err := conf.Check(p.Path(), p.fset, append(p.files, file), nil); err != nil {
		t.Errorf("generated code does not compile: %v\n%s", err, code)
	}
	return code
}
