package load

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func (s *Source) scan(r *problem.Reporter) {
	for _, path := range s.aside {
		s.scanAside(r, path)
	}
	for _, f := range s.Files {
		s.scanStructs(r, f)
	}
	for _, f := range s.Files {
		s.scanMethods(r, f)
	}
}

// scanAside reports models in a file that is not in the build.
func (s *Source) scanAside(r *problem.Reporter, path string) {
	file, err := parser.ParseFile(r.Fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || strings.TrimSuffix(file.Name.Name, "_test") != s.Name && s.Name != "" {
		return
	}
	for _, spec := range typeSpecs(file) {
		st, ok := spec.Type.(*ast.StructType)
		if !ok || !slices.ContainsFunc(structTags(&problem.Reporter{Fset: r.Fset}, st), (*Tagged).makesModel) {
			continue
		}
		if strings.HasSuffix(path, "_test.go") {
			r.At(spec.Pos(), "model %s stands in a test file; what kvgen writes is part of the package: move it to a file whose name does not end in _test.go", spec.Name.Name)
			continue
		}
		r.At(spec.Pos(), "model %s stands in a file that this build leaves out, but kv.go wires the models of every build: move it to a file without build constraints", spec.Name.Name)
	}
}

func (s *Source) scanStructs(r *problem.Reporter, f *sourceFile) {
	models := map[*ast.StructType]*ast.TypeSpec{}
	for _, spec := range typeSpecs(f.Syntax) {
		if st, ok := spec.Type.(*ast.StructType); ok {
			models[st] = spec
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		tags := structTags(r, st)
		if !slices.ContainsFunc(tags, (*Tagged).makesModel) {
			return true
		}
		if reason := notModel(models[st]); reason != "" {
			r.At(tags[0].Text.Pos(0), "%s", reason)
			return true
		}
		spec := models[st]
		s.Drafts = append(s.Drafts, &Draft{Name: spec.Name.Name, File: f, Spec: spec, Tags: tags})
		if line := constraintOf(f); line != "" {
			r.At(spec.Pos(), "model %s stands in a file of some builds only (%s), but kv.go wires the models of every build: move it to a file without build constraints", spec.Name.Name, line)
		}
		return true
	})
}

// notModel says why spec cannot be a model, or "".
func notModel(spec *ast.TypeSpec) string {
	switch {
	case spec == nil:
		return "a kv tag in a struct that is no model: a model is a struct type declared at the top of a file"
	case spec.Assign.IsValid():
		return "a kv tag in an alias: a model is a defined type; drop the = sign"
	case spec.TypeParams != nil:
		return "a kv tag in a generic type: a model has no type parameters"
	}
	return ""
}

func structTags(r *problem.Reporter, st *ast.StructType) []*Tagged {
	var found []*Tagged
	for _, field := range st.Fields.List {
		text, ok, fault := tag.OfField(field.Tag)
		if fault != nil {
			text.Report(r, fault)
		}
		if !ok {
			continue
		}
		for _, name := range fieldNames(field) {
			found = append(found, fieldTagged(r, field, name, text))
		}
	}
	return found
}

func fieldTagged(r *problem.Reporter, field *ast.Field, name string, text tag.Text) *Tagged {
	t := &Tagged{Name: name, Site: tag.OnField, Pos: field.Pos(), typ: field.Type, Text: text}
	if name == "_" {
		t.Site = tag.OnModel
	} else if !ast.IsExported(name) {
		r.At(field.Pos(), "a kv tag on the unexported field %s: only exported fields are stored", name)
		t.faulty = true
		return t
	}
	t.parse(r)
	return t
}

func (t *Tagged) parse(r *problem.Reporter) {
	clauses, faults := tag.Parse(t.Text.Text, t.Site)
	t.Clauses, t.faulty = clauses, len(faults) > 0
	t.Text.Report(r, faults...)
}

func fieldNames(field *ast.Field) []string {
	if len(field.Names) == 0 {
		return []string{embeddedName(field.Type)}
	}
	var names []string
	for _, n := range field.Names {
		names = append(names, n.Name)
	}
	return names
}

func (s *Source) scanMethods(r *problem.Reporter, f *sourceFile) {
	docs := map[*ast.CommentGroup]bool{}
	for _, decl := range f.Syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		docs[fn.Doc] = true
		if c := tag.InProse(fn.Doc); c != nil {
			r.At(c.Slash, "write //kv: without a space before kv; otherwise it is only a comment")
		}
		for _, text := range tag.OfMethod(fn.Doc) {
			s.addMethod(r, fn, text)
		}
	}
	for _, group := range f.Syntax.Comments {
		if docs[group] {
			continue
		}
		for _, text := range tag.OfMethod(group) {
			r.At(text.Pos(0), "a //kv: comment that is not directly above a method of a model")
		}
	}
}

func (s *Source) addMethod(r *problem.Reporter, fn *ast.FuncDecl, text tag.Text) {
	i := slices.IndexFunc(s.Drafts, func(d *Draft) bool { return d.Name == receiver(fn) })
	switch {
	case i < 0:
		r.At(text.Pos(0), "a //kv: comment on %s, which is not a method of a model", fn.Name.Name)
		return
	case fn.Type.Params.NumFields() != 0 || fn.Type.Results.NumFields() != 1:
		r.At(text.Pos(0), "an index method takes nothing and returns one value, the key or score; %s does not", fn.Name.Name)
		return
	}
	t := &Tagged{Name: fn.Name.Name, Site: tag.OnMethod, Pos: fn.Name.Pos(), typ: fn.Type.Results.List[0].Type, Text: text}
	t.parse(r)
	s.Drafts[i].Tags = append(s.Drafts[i].Tags, t)
}

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

func takenEverywhere(name string) bool {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "none", "none"
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p")), nil
	}
	taken, err := nowhere.MatchFile("", name)
	return taken && err == nil
}
