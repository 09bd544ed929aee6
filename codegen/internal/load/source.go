package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// Source is the handwritten part of a package. Generated code may be missing, stale or broken.
type Source struct {
	Name, Path, Dir string
	Module          string
	goVersion       string
	Files           []*sourceFile // in the build, sorted by name
	tests           []*ast.File   // generated code must not take their names either
	aside           []string      // excluded from the build: tests and other systems' files
	generated       bool

	Drafts []*Draft
	Types  *types.Package
	Faults []types.Error
	Absent map[string]string // by path, of packages that could not be loaded
}

func (s *Source) Named(name string) *types.Named {
	obj := s.Types.Scope().Lookup(name)
	if obj == nil {
		return nil
	}
	named, _ := types.Unalias(obj.Type()).(*types.Named)
	return named
}

// Declared includes the names in tests.
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

func (s *Source) Methods(typ string) map[string]*ast.FuncDecl {
	found := map[string]*ast.FuncDecl{}
	for _, f := range s.Files {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && receiver(fn) == typ {
				found[fn.Name.Name] = fn
			}
		}
	}
	return found
}

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

func ImportPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

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

// Draft is a model in its source, before types are known.
type Draft struct {
	Name  string // of the struct
	File  *sourceFile
	Spec  *ast.TypeSpec
	Tags  []*Tagged
	keys  []*KeyDecl
	Names names
}

type sourceFile struct {
	Path   string
	Syntax *ast.File
}

type names struct {
	Model      string // in texts: Page
	Stored     string // in keys: Page, or the value of was=
	Collection string // the generated type: Pages
}

// Tagged is a field or a method with a kv tag.
type Tagged struct {
	Name    string
	Site    tag.Site
	Pos     token.Pos
	typ     ast.Expr // of the field, or of the method's result
	Text    tag.Text
	Clauses []tag.Clause
	faulty  bool // the text has invalid clauses, too
}

// makesModel is false for a lone - or private, which may stand in any struct within a record.
func (t *Tagged) makesModel() bool {
	text := strings.TrimSpace(t.Text.Text)
	return text != "-" && text != "private"
}

// KeyDecl is a key type to generate, for an id of several fields or a group.
type KeyDecl struct {
	Name  string
	group group  // zero for an id
	About string // its doc comment
	Parts []*Tagged
}

// group is the word and the name that form one index of several fields.
type group struct{ word, name string }

func (t *Tagged) clause(word string) (tag.Clause, bool) {
	i := slices.IndexFunc(t.Clauses, func(c tag.Clause) bool { return c.Word == word })
	if i < 0 {
		return tag.Clause{}, false
	}
	return t.Clauses[i], true
}

func (d *Draft) TagOf(word string) *Tagged {
	for _, t := range d.Tags {
		if _, ok := t.clause(word); ok {
			return t
		}
	}
	return nil
}

func (d *Draft) Faulty() bool {
	return slices.ContainsFunc(d.Tags, func(t *Tagged) bool { return t.faulty })
}

// groupOf returns zero if c names no group.
func groupOf(c tag.Clause) group {
	switch c.Word {
	case "unique", "list", "group":
		if c.Value != "" {
			return group{c.Word, c.Value}
		}
	}
	return group{}
}

func (d *Draft) Group(name string) *KeyDecl {
	i := slices.IndexFunc(d.keys, func(k *KeyDecl) bool { return name != "" && k.group.name == name })
	if i < 0 {
		return nil
	}
	return d.keys[i]
}

func (d *Draft) Groups() (names []string) {
	for _, k := range d.keys {
		if k.group.name != "" {
			names = append(names, k.group.name)
		}
	}
	return names
}

// KeyOf returns the key type of c's group, or else of the id.
func (d *Draft) KeyOf(c tag.Clause) *KeyDecl {
	g := groupOf(c)
	i := slices.IndexFunc(d.keys, func(k *KeyDecl) bool { return k.group == g })
	return d.keys[i]
}
