package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// A Source is the handwritten part of a package. It excludes generated code, which may be missing,
// stale or broken.
type Source struct {
	Name, Path, Dir string
	Module          string // the directory of its module
	goVersion       string
	Files           []*sourceFile // in the build, sorted by name
	tests           []*ast.File   // of the package; generated code must not take their names either
	aside           []string      // excluded from the build: tests and other systems' files
	generated       bool          // Dir has generated files

	Drafts []*Draft
	Types  *types.Package
	Faults []types.Error     // errors of the type checker
	Absent map[string]string // errors of packages that could not be loaded, by path
}

// Named returns the package's type called name, or nil.
func (s *Source) Named(name string) *types.Named {
	obj := s.Types.Scope().Lookup(name)
	if obj == nil {
		return nil
	}
	named, _ := types.Unalias(obj.Type()).(*types.Named)
	return named
}

// Declared returns the top-level names declared by s, including tests.
func (s *Source) Declared() map[string]token.Pos {
	found := map[string]token.Pos{}
	files := slices.Clone(s.tests)
	for _, f := range s.Files {
		files = append(files, f.Syntax)
	}
	for _, f := range files {
		for _, decl := range f.Decls {
			for _, id := range declaredBy(decl) {
				found[id.Name] = id.Pos()
			}
		}
	}
	return found
}

func declaredBy(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var ids []*ast.Ident
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				ids = append(ids, s.Name)
			case *ast.ValueSpec:
				ids = append(ids, s.Names...)
			}
		}
		return ids
	}
	return nil
}

// Methods returns the methods declared by s on the type called name.
func (s *Source) Methods(name string) map[string]token.Pos {
	found := map[string]token.Pos{}
	for _, f := range s.Files {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && receiver(fn) == name {
				found[fn.Name.Name] = fn.Name.Pos()
			}
		}
	}
	return found
}

// receiver returns the type name of the method fn, or "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	return embeddedName(fn.Recv.List[0].Type)
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

// ImportPath returns the path imported by spec.
func ImportPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

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

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// A Draft is a model as in its source, before types are known.
type Draft struct {
	Name  string // of the struct
	File  *sourceFile
	Spec  *ast.TypeSpec
	Tags  []*Tagged
	keys  []*KeyDecl
	Names names
}

// A sourceFile is one file of a source.
type sourceFile struct {
	Path   string
	Syntax *ast.File
}

// names are the names of one model.
type names struct {
	Model      string // in texts: Page
	Stored     string // in keys: Page, or the value of was=
	Collection string // the generated type: Pages
}

// A Tagged is a field or a method with a kv tag.
type Tagged struct {
	Name    string
	Site    tag.Site
	Pos     token.Pos
	typ     ast.Expr // of the field, or of the method's result
	Text    tag.Text
	Clauses []tag.Clause
	faulty  bool // the text has invalid clauses, too
}

// makesModel reports whether t makes its struct a model. A lone - or private does not: these are
// allowed in any struct within a record.
func (t *Tagged) makesModel() bool {
	text := strings.TrimSpace(t.Text.Text)
	return text != "-" && text != "private"
}

// A KeyDecl is a generated key type: the id of a model whose id has several fields, or the value of
// a group.
type KeyDecl struct {
	Name  string
	group group  // zero for an id
	About string // its doc comment
	Parts []*Tagged
}

// A group is the fields that form one index together: their common word and name.
type group struct{ word, name string }

// clause returns the clause of t with the word, and whether there is one.
func (t *Tagged) clause(word string) (tag.Clause, bool) {
	i := slices.IndexFunc(t.Clauses, func(c tag.Clause) bool { return c.Word == word })
	if i < 0 {
		return tag.Clause{}, false
	}
	return t.Clauses[i], true
}

// TagOf returns the first tag of d with the word, nil if there is none.
func (d *Draft) TagOf(word string) *Tagged {
	for _, t := range d.Tags {
		if _, ok := t.clause(word); ok {
			return t
		}
	}
	return nil
}

// Faulty reports whether a tag of d has a fault.
func (d *Draft) Faulty() bool {
	return slices.ContainsFunc(d.Tags, func(t *Tagged) bool { return t.faulty })
}

// groupOf returns the group named by c, zero if it names none.
func groupOf(c tag.Clause) group {
	switch c.Word {
	case "unique", "list", "group":
		if c.Value != "" {
			return group{c.Word, c.Value}
		}
	}
	return group{}
}

// Group returns the key type of a group of fields by its name, nil if there is none.
func (d *Draft) Group(name string) *KeyDecl {
	i := slices.IndexFunc(d.keys, func(k *KeyDecl) bool { return name != "" && k.group.name == name })
	if i < 0 {
		return nil
	}
	return d.keys[i]
}

// Groups returns the names of the groups of fields.
func (d *Draft) Groups() (names []string) {
	for _, k := range d.keys {
		if k.group.name != "" {
			names = append(names, k.group.name)
		}
	}
	return names
}

// KeyOf returns the key type of the group named by c, or of the id if c names none.
func (d *Draft) KeyOf(c tag.Clause) *KeyDecl {
	g := groupOf(c)
	i := slices.IndexFunc(d.keys, func(k *KeyDecl) bool { return k.group == g })
	return d.keys[i]
}
