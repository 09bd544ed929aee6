package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An import of kvmodel would burden the go.mod of apps that have kvgen as a tool, so the test reads
// its files.
func TestRecordMethods_AreThoseOfRecords(t *testing.T) {
	// one is embedded in a generated type
	want := []string{"Records", "History"}
	files, err := filepath.Glob("../../../kvmodel/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && isMethodOf(f, "Records") {
				want = append(want, f.Name.Name)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(recordMethods))); diff != "" {
		t.Errorf("names that indexes cannot have (-want +got):\n%s", diff)
	}
}

func isMethodOf(f *ast.FuncDecl, name string) bool {
	if f.Recv == nil {
		return false
	}
	pointer, ok := f.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	of, ok := pointer.X.(*ast.IndexListExpr)
	if !ok {
		return false
	}
	typ, ok := of.X.(*ast.Ident)
	return ok && typ.Name == name
}
