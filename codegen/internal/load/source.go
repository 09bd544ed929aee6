package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A Source is the handwritten part of a package. It leaves out what kvgen wrote,
// which may be missing, stale or broken.
type Source struct {
	Name, Path, Dir string
	goVersion       string
	Files           []*sourceFile // of the build, sorted by name
	aside           []string      // left out of the build: tests and other systems' files
	generated       bool          // kvgen has written files in Dir

	Drafts []*Draft
	Types  *types.Package
	Faults []types.Error     // what the type checker says of the package
	Absent map[string]string // why packages could not be loaded, by path
}

// Named returns the type called name of the package, nil if it has none.
func (s *Source) Named(name string) *types.Named {
	obj := s.Types.Scope().Lookup(name)
	if obj == nil {
		return nil
	}
	named, _ := types.Unalias(obj.Type()).(*types.Named)
	return named
}

// draft returns the model called name, nil if there is none.
func (s *Source) draft(name string) *Draft {
	for _, d := range s.Drafts {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Declared returns the names that s declares at the top of the package.
func (s *Source) Declared() map[string]token.Pos {
	found := map[string]token.Pos{}
	for _, f := range s.Files {
		for _, decl := range f.Syntax.Decls {
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

// Methods returns the methods that s declares on the type called name.
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

// receiver returns the name of the type that fn is a method of, "" of a function.
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

// ImportPath returns the path that spec imports.
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
