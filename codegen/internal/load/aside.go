package load

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"io"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// scanAside reports models in a file that is not part of the package's build.
func (s *Source) scanAside(r *problem.Reporter, path string) {
	file, err := parser.ParseFile(r.Fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || strings.TrimSuffix(file.Name.Name, "_test") != s.Name && s.Name != "" {
		return
	}
	for _, spec := range typeSpecs(file) {
		st, ok := spec.Type.(*ast.StructType)
		if !ok || !isModel(st) {
			continue
		}
		if strings.HasSuffix(path, "_test.go") {
			r.At(spec.Pos(), "model %s stands in a test file; what kvgen writes is part of the package: move it to a file whose name does not end in _test.go", spec.Name.Name)
			continue
		}
		r.At(spec.Pos(), "model %s stands in a file that this build leaves out, but kv.go wires the models of every build: move it to a file without constraint", spec.Name.Name)
	}
}

// isModel reports whether a field of st has a well-formed kv tag that makes st a model.
func isModel(st *ast.StructType) bool {
	for _, field := range st.Fields.List {
		text, ok, _ := tag.OfField(field.Tag)
		if t := (Tagged{Text: text}); ok && t.makesModel() {
			return true
		}
	}
	return false
}

// constraintOf returns what limits f to some builds, "" if nothing does.
func constraintOf(f *sourceFile) string {
	for _, group := range f.Syntax.Comments {
		if group.Pos() > f.Syntax.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return c.Text
			}
		}
	}
	name := filepath.Base(f.Path)
	if !takenEverywhere(name) {
		return "its name " + name
	}
	return ""
}

// takenEverywhere reports whether a file called name is built whatever the system.
func takenEverywhere(name string) bool {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "none", "none"
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p")), nil
	}
	taken, err := nowhere.MatchFile("", name)
	return taken && err == nil
}
