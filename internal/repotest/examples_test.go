package repotest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// faces are the packages that apps import.
var faces = []string{
	"kvmodel", "index", "timeline", "ranking", "templates", "guard",
	"kvmodel/kvopen", "kvmodel/kvsession", "kvmodel/kvtest", "inspect",
}

// withoutExample are the exported names that need none, with the reason.
var withoutExample = map[string]string{
	"code that kvgen has written calls it": `
		kvmodel.BoolKey kvmodel.By kvmodel.Codec kvmodel.CounterOf kvmodel.Gone kvmodel.IndexSpec
		kvmodel.IntKey kvmodel.Key2 kvmodel.Key3 kvmodel.Key4 kvmodel.KeyOf kvmodel.NewHistory
		kvmodel.NewRecords kvmodel.Schema kvmodel.StringKey kvmodel.UintKey
		index.Counted index.ForValues index.Hot index.ListOption index.NewCounter
		index.NewDerivedCount index.NewLists index.NewTotal index.NewUnique index.SequenceOf
		timeline.EventsSpec timeline.Layout timeline.NewEvents timeline.NewRing timeline.NewRings
		timeline.Shape timeline.Spec timeline.Text
		ranking.Collation ranking.NewBoard ranking.NewBoards ranking.NewValues ranking.Period
		ranking.Spec ranking.Text ranking.Ties`,
	"index classes of this module call it": `
		kvmodel.Counter kvmodel.CounterKey kvmodel.Derived kvmodel.Follower kvmodel.Members
		kvmodel.SureFollower kvmodel.Tally`,
}

func TestDocs_ExportedTypesAndFunctionsHaveExamples(t *testing.T) {
	excused := map[string]bool{}
	for _, names := range withoutExample {
		for name := range strings.FieldsSeq(names) {
			excused[name] = true
		}
	}
	for _, name := range bare(faces) {
		if !excused[name] {
			t.Errorf("%s has no example: write Example%s", name, name[strings.Index(name, ".")+1:])
		}
		delete(excused, name)
	}
	for name := range excused {
		t.Errorf("%s is no exported name without an example: take it out of withoutExample", name)
	}
}

// bare returns the exported types and functions of packages that have no example.
func bare(packages []string) (names []string) {
	for _, dir := range packages {
		p := documented(dir)
		add := func(name string, examples []*doc.Example) {
			if len(examples) == 0 {
				names = append(names, p.Name+"."+name)
			}
		}
		funcs := slices.Clone(p.Funcs)
		for _, typ := range p.Types {
			add(typ.Name, typ.Examples)
			funcs = append(funcs, typ.Funcs...)
		}
		for _, f := range funcs {
			add(f.Name, f.Examples)
		}
	}
	return names
}

// documented returns what go doc knows of the package in dir.
func documented(dir string) *doc.Package {
	fset := token.NewFileSet()
	var parsed []*ast.File
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".go" {
			continue
		}
		file := path.Join(dir, e.Name())
		f, err := parser.ParseFile(fset, file, read(file), parser.ParseComments)
		if err != nil {
			panic(err)
		}
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(fset, parsed, module+"/"+dir)
	if err != nil {
		panic(fmt.Errorf("%s: %w", dir, err))
	}
	return p
}
