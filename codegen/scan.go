package codegen

import (
	"errors"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A draft is a model as its source says it, before types are known.
type draft struct {
	name  string // of the struct
	file  *sourceFile
	spec  *ast.TypeSpec
	tags  []*tagged
	keys  []*keyDecl
	names names
}

// A tagged is a field or a method that carries a kv tag.
type tagged struct {
	name    string
	site    Site
	pos     token.Pos
	typ     ast.Expr // of the field, or of the method's result
	text    tagText
	clauses []Clause
	faulty  bool // there is more in the text than the clauses
}

// A keyDecl is a key type that kvgen writes: the id of a model whose id has
// several fields, or the value of a group.
type keyDecl struct {
	name  string
	group group  // the zero one of an id
	about string // its doc comment
	parts []*tagged
}

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
	s.nameDrafts(r)
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

// typeSpecs returns the types declared at the top of f.
func typeSpecs(f *ast.File) []*ast.TypeSpec {
	var specs []*ast.TypeSpec
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			specs = append(specs, spec.(*ast.TypeSpec))
		}
	}
	return specs
}

// structTags returns what in st carries a kv tag, in source order.
func structTags(r *reporter, st *ast.StructType) []*tagged {
	var found []*tagged
	for _, field := range st.Fields.List {
		text, ok, err := fieldTag(field.Tag)
		if err != nil {
			r.tag(text, err)
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

// makesModel reports whether t makes a model of its struct. A - does not: it may
// stand in any struct that is part of a record.
func (t *tagged) makesModel() bool { return strings.TrimSpace(t.text.text) != "-" }

// parse reads the tag's text.
func (t *tagged) parse(r *reporter) {
	clauses, err := ParseTag(t.text.text, t.site)
	t.clauses, t.faulty = clauses, err != nil
	r.tag(t.text, err)
}

// tag reports the faults in text that err joins.
func (r *reporter) tag(text tagText, err error) {
	var fault *TagError
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range list.Unwrap() {
			r.tag(text, one)
		}
	} else if errors.As(err, &fault) {
		r.at(text.pos(fault.Offset), "%s", fault.Message)
	}
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

func embeddedName(typ ast.Expr) string {
	switch t := typ.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return embeddedName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return embeddedName(t.X)
	case *ast.IndexListExpr:
		return embeddedName(t.X)
	}
	return "_"
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

// receiver returns the name of the type that fn is a method of, "" of a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	return embeddedName(fn.Recv.List[0].Type)
}

// draft returns the model called name, nil if there is none.
func (s *source) draft(name string) *draft {
	for _, d := range s.drafts {
		if d.name == name {
			return d
		}
	}
	return nil
}

// keyDecls returns the declarations of the key types of d, for the type checker.
func (d *draft) keyDecls() []ast.Decl {
	var decls []ast.Decl
	for _, k := range d.keys {
		fields := &ast.FieldList{Opening: d.spec.Pos(), Closing: d.spec.Pos()}
		for _, part := range k.parts {
			fields.List = append(fields.List, &ast.Field{
				Names: []*ast.Ident{{Name: part.name, NamePos: part.pos}},
				Type:  part.typ,
			})
		}
		decls = append(decls, &ast.GenDecl{Tok: token.TYPE, TokPos: d.spec.Pos(), Specs: []ast.Spec{&ast.TypeSpec{
			Name: &ast.Ident{Name: k.name, NamePos: d.spec.Pos()},
			Type: &ast.StructType{Struct: d.spec.Pos(), Fields: fields},
		}}})
	}
	return decls
}
