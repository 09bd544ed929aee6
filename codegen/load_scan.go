package codegen

import (
	"go/ast"
	"slices"
)

// scan finds the drafts of s and reports tags that stand where kvgen does not
// look, so that none is passed over in silence.
func (s *source) scan(r *reporter) {
	for _, path := range s.aside {
		s.scanAside(r, path)
	}
	for _, f := range s.files {
		s.scanStructs(r, f)
	}
	for _, f := range s.files {
		s.scanMethods(r, f)
	}
}

// scanStructs finds the models among the structs of f.
func (s *source) scanStructs(r *reporter, f *sourceFile) {
	models := map[*ast.StructType]*ast.TypeSpec{}
	for _, spec := range typeSpecs(f.syntax) {
		if st, ok := spec.Type.(*ast.StructType); ok {
			models[st] = spec
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		tags := structTags(r, st)
		if !slices.ContainsFunc(tags, (*tagged).makesModel) {
			return true
		}
		if reason := notModel(models[st]); reason != "" {
			r.at(tags[0].text.pos(0), "%s", reason)
			return true
		}
		spec := models[st]
		s.drafts = append(s.drafts, &draft{name: spec.Name.Name, file: f, spec: spec, tags: tags})
		if line := constraintOf(f); line != "" {
			r.at(spec.Pos(), "model %s stands in a file of some builds only (%s), but kv.go wires the models of every build: move it to a file without constraint", spec.Name.Name, line)
		}
		return true
	})
}

// notModel says why the struct that spec declares cannot be a model, "" if it can.
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

// structTags returns what in st carries a kv tag, in source order.
func structTags(r *reporter, st *ast.StructType) []*tagged {
	var found []*tagged
	for _, field := range st.Fields.List {
		text, ok, err := fieldTag(field.Tag)
		if err != nil {
			reportTag(r, text, err)
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

// fieldTagged returns the field called name with what its tag says.
func fieldTagged(r *reporter, field *ast.Field, name string, text tagText) *tagged {
	t := &tagged{name: name, site: OnField, pos: field.Pos(), typ: field.Type, text: text}
	if name == "_" {
		t.site = OnModel
	} else if !ast.IsExported(name) {
		r.at(field.Pos(), "a kv tag on the unexported field %s: only exported fields are stored", name)
		t.faulty = true
		return t
	}
	t.parse(r)
	return t
}

// parse reads the tag's text.
func (t *tagged) parse(r *reporter) {
	clauses, err := ParseTag(t.text.text, t.site)
	t.clauses, t.faulty = clauses, err != nil
	reportTag(r, t.text, err)
}

// fieldNames returns the names that field declares; an embedded field has that of its type.
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

// scanMethods adds the tagged methods in f to their models.
func (s *source) scanMethods(r *reporter, f *sourceFile) {
	for _, decl := range f.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if c := proseTag(fn.Doc); c != nil {
			r.at(c.Slash, "write //kv: without a blank before kv, or it is only a comment")
		}
		for _, text := range methodTags(fn.Doc) {
			s.addMethod(r, fn, text)
		}
	}
	s.scanStray(r, f)
}

// addMethod adds the method fn with the tag text to its model.
func (s *source) addMethod(r *reporter, fn *ast.FuncDecl, text tagText) {
	d := s.draft(receiver(fn))
	switch {
	case d == nil:
		r.at(text.pos(0), "a //kv: comment on %s, which is no method of a model", fn.Name.Name)
		return
	case fn.Type.Params.NumFields() != 0 || fn.Type.Results.NumFields() != 1:
		r.at(text.pos(0), "an index method takes nothing and returns one value, the key or score; %s does not", fn.Name.Name)
		return
	}
	t := &tagged{name: fn.Name.Name, site: OnMethod, pos: fn.Name.Pos(), typ: fn.Type.Results.List[0].Type, text: text}
	t.parse(r)
	d.tags = append(d.tags, t)
}

// scanStray reports //kv: comments that stand on no method.
func (s *source) scanStray(r *reporter, f *sourceFile) {
	docs := map[*ast.CommentGroup]bool{}
	for _, decl := range f.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			docs[fn.Doc] = true
		}
	}
	for _, group := range f.syntax.Comments {
		if docs[group] {
			continue
		}
		for _, text := range methodTags(group) {
			r.at(text.pos(0), "a //kv: comment that is not directly above a method of a model")
		}
	}
}
