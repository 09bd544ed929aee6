// Package emit is the last step: it prints models and decides nothing. It also reports types that
// cannot be stored.
package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// Files returns kv.go, and a file beside each one with models. It reports types that cannot be
// stored.
func Files(r *problem.Reporter, p *model.Package) []output.File {
	if len(p.Models) == 0 {
		return nil
	}
	byFile := map[string][]*model.Model{}
	for _, m := range p.Models {
		byFile[m.File] = append(byFile[m.File], m)
	}
	names := newImports(p.Types, takenNames(p))
	names.locals = locals(p)
	for _, m := range p.Models {
		names.typeString(m.Type)
	}
	codecs := newCodecSet(&stored.Forms{Reporter: r, Pkg: p.Types, Writes: p.Has}, names)
	files := []output.File{modelsFile(p, names)}
	for _, path := range slices.Sorted(maps.Keys(byFile)) {
		slices.SortFunc(byFile[path], func(a, b *model.Model) int { return int(a.Pos - b.Pos) })
		w := &printer{names: names, codecs: codecs}
		for _, m := range byFile[path] {
			w.class(m)
		}
		files = append(files, w.file(strings.TrimSuffix(path, ".go")+"_kv.go", p.Name))
	}
	names.reportHidden(r)
	return files
}

func takenNames(p *model.Package) map[string]bool {
	taken := map[string]bool{"Models": true, "New": true}
	for _, name := range p.Declared {
		taken[name] = true
	}
	for _, m := range p.Models {
		taken[m.Collection], taken["New"+m.Collection] = true, true
		for _, k := range m.Keys {
			taken[k.Name] = true
		}
	}
	for _, local := range locals(p) {
		taken[local] = true
	}
	return taken
}

func locals(p *model.Package) []string {
	names := []string{"a", "b", "c", "d", "k", "m", "r", "v", "w", "id", "db", "enc", "dec", "name"}
	for _, m := range p.Models {
		names = append(names, variable(m))
	}
	return names
}

func modelsFile(p *model.Package, names *imports) output.File {
	w := &printer{names: names}
	kvmodel := w.names.runtime("kvmodel")
	w.printf("// Models are the models of this package in one database.\ntype Models struct {\n")
	for _, m := range p.Models {
		w.printf("%s *%s\n", m.Collection, m.Collection)
	}
	w.printf("}\n\n// New returns the models of this package in db.\nfunc New(db *%s.DB) *Models {\nreturn &Models{\n", kvmodel)
	for _, m := range p.Models {
		w.printf("%s: New%s(db),\n", m.Collection, m.Collection)
	}
	w.printf("}\n}\n\n// All returns every model, sorted by name, as package inspect takes them.\nfunc (m *Models) All() []%s.Model {\nreturn []%s.Model{\n", kvmodel, kvmodel)
	for _, m := range p.Models {
		w.printf("m.%s,\n", m.Collection)
	}
	w.printf("}\n}\n")
	return w.file(filepath.Join(p.Dir, "kv.go"), p.Name)
}

type printer struct {
	bytes.Buffer
	names  *imports
	codecs *codecSet
}

func (w *printer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

func (w *printer) file(path, pkg string) output.File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\npackage %s\n\n%s\n", output.Header, pkg, w.names.decl())
	b.Write(w.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return output.File{Path: path, Text: b.Bytes(), Fault: fmt.Errorf("generated code that does not parse, a bug in kvgen: %w", err)}
	}
	return output.File{Path: path, Text: text}
}

// Program returns a command that inspects databases with the models of p. dir is its directory in
// the module.
func Program(p *model.Package, name, dir string) ([]byte, error) {
	names := newImports(p.Types, map[string]bool{"main": true, "db": true})
	inspect, kvmodel := names.runtime("inspect"), names.runtime("kvmodel")
	models := names.add(p.Path, p.Name)
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Command %s looks into the app's database: go run %s help\npackage main\n\n%s\n", name, dir, names.decl())
	fmt.Fprintf(&b, "func main() {\n%s.Main(func(db *%s.DB) []%[2]s.Model { return %s.New(db).All() })\n}\n", inspect, kvmodel, models)
	return format.Source(b.Bytes())
}
