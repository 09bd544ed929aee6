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

var faces = []string{
	"kvmodel", "index", "timeline", "ranking", "templates", "guard",
	"kvmodel/kvopen", "kvmodel/kvsession", "kvmodel/kvtest", "inspect",
}

// withoutExample are the exported names that need none, with the reason.
var withoutExample = map[string]string{
	"code that kvgen has written calls it": `
		kvmodel.BoolKey kvmodel.By kvmodel.Codec kvmodel.CounterOf kvmodel.Gone kvmodel.IndexSpec
		kvmodel.IntKey kvmodel.Key2 kvmodel.Key3 kvmodel.Key4 kvmodel.KeyOf kvmodel.NewHistory
		kvmodel.NewRecords kvmodel.Schema kvmodel.StringKey
		index.Counted index.CountedIf index.Summed index.ForValues index.Hot index.ListOption index.NewCounter
		index.HeldFor index.NewDerivedCount index.NewLists index.NewTotal index.NewUnique index.SequenceOf
		index.UniqueOption
		timeline.EventsSpec timeline.Layout timeline.NewEvents timeline.NewRing timeline.NewRings
		timeline.Shape timeline.Spec timeline.Text
		ranking.Collation ranking.Counter ranking.NewBoards ranking.NewValues ranking.Period ranking.Text ranking.Ties`,
	"it is a part of what an example shows": `
		kvmodel.Branch kvmodel.IntentStats kvmodel.Option
		index.Segment timeline.Mark timeline.Segment ranking.Node ranking.Value
		inspect.Differences inspect.Header inspect.IndexStatus inspect.ModelStatus inspect.Row
		inspect.Summary`,
}

func TestDocs_ExportedTypesAndFunctionsAreInExamples(t *testing.T) {
	excused := map[string]bool{}
	for _, names := range withoutExample {
		for name := range strings.FieldsSeq(names) {
			excused[name] = true
		}
	}
	for _, name := range bare(faces) {
		if !excused[name] {
			t.Errorf("no example shows %s", name)
		}
		delete(excused, name)
	}
	for name := range excused {
		t.Errorf("%s is no exported name without an example: take it out of withoutExample", name)
	}
}

func bare(packages []string) (names []string) {
	for _, dir := range packages {
		p, examples := documented(dir)
		shown := map[string]bool{}
		for _, e := range examples {
			shown[e.Name] = true
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if from, ok := s.X.(*ast.Ident); ok && from.Name == p.Name {
						shown[s.Sel.Name] = true
					}
				}
				return true
			})
		}
		for _, name := range exported(p) {
			if !shown[name] {
				names = append(names, p.Name+"."+name)
			}
		}
	}
	return names
}

func exported(p *doc.Package) (names []string) {
	funcs := slices.Clone(p.Funcs)
	for _, typ := range p.Types {
		names = append(names, typ.Name)
		funcs = append(funcs, typ.Funcs...)
	}
	for _, f := range funcs {
		names = append(names, f.Name)
	}
	return names
}

func documented(dir string) (*doc.Package, []*doc.Example) {
	fset := token.NewFileSet()
	var parsed, tests []*ast.File
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
		if strings.HasSuffix(file, "_test.go") {
			tests = append(tests, f)
		}
	}
	p, err := doc.NewFromFiles(fset, parsed, module+"/"+dir)
	if err != nil {
		panic(fmt.Errorf("%s: %w", dir, err))
	}
	return p, doc.Examples(tests...)
}
