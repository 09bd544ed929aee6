package load

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/stored"
	"golang.org/x/tools/go/packages"
)

// checker type-checks packages with models and imports their dependencies.
type checker struct {
	fset    *token.FileSet
	sources map[string]*Source
	others  map[string]*types.Package
	absent  map[string]string
}

// check type-checks each package after those it imports.
func (c *checker) check(found []*Source) error {
	if err := c.importOthers(found); err != nil {
		return err
	}
	for _, s := range found {
		s.Absent = c.absent
		c.typecheck(s)
	}
	return nil
}

func (c *checker) importOthers(found []*Source) error {
	wanted := map[string]bool{}
	for _, s := range found {
		for _, f := range s.trimmed() {
			for _, spec := range f.Imports {
				if path := ImportPath(spec); c.sources[path] == nil && path != "C" && path != "unsafe" {
					wanted[path] = true
				}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes,
		Dir:  found[0].Dir,
		Fset: c.fset,
	}, slices.Sorted(maps.Keys(wanted))...)
	if err != nil {
		return fmt.Errorf("go list of imported packages: %w", err)
	}
	for _, p := range loaded {
		if p.Types != nil && p.Name != "" {
			c.others[p.PkgPath] = p.Types
		} else if len(p.Errors) > 0 {
			c.absent[p.PkgPath] = oneLine(p.Errors[0].Msg)
		}
	}
	return nil
}

func (c *checker) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if s := c.sources[path]; s != nil {
		c.typecheck(s)
		return s.Types, nil
	}
	if p := c.others[path]; p != nil {
		return p, nil
	}
	return nil, errors.New(cmp.Or(c.absent[path], "it cannot be loaded"))
}

// typecheck checks only declarations that models use: types, constants, signatures of methods, and
// the coming key types.
func (c *checker) typecheck(s *Source) {
	if s.Types != nil {
		return
	}
	s.Types = types.NewPackage(s.Path, s.Name)
	config := types.Config{
		Importer:                 c,
		GoVersion:                s.goVersion,
		FakeImportC:              true,
		IgnoreFuncBodies:         true,
		DisableUnusedImportCheck: true,
		Error: func(err error) {
			if fault, ok := err.(types.Error); ok {
				s.Faults = append(s.Faults, fault)
			}
		},
	}
	checker := types.NewChecker(&config, c.fset, s.Types, nil)
	_ = checker.Files(s.trimmed())
	s.promiseCodecs()
}

// trimmed returns the files with these declarations alone, and without imports if they need none.
func (s *Source) trimmed() []*ast.File {
	var files []*ast.File
	for _, f := range s.Files {
		short := *f.Syntax
		short.Decls = slices.DeleteFunc(slices.Clone(short.Decls), irrelevant)
		for _, d := range s.Drafts {
			if d.File == f {
				short.Decls = append(short.Decls, d.keyDecls()...)
			}
		}
		if !slices.ContainsFunc(short.Decls, selects) {
			short.Imports, short.Decls = nil, slices.DeleteFunc(short.Decls, isImport)
		}
		files = append(files, &short)
	}
	return files
}

func selects(decl ast.Decl) (found bool) {
	ast.Inspect(decl, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			found = found || n.Name != nil && n.Name.Name == "."
		case *ast.SelectorExpr:
			found = true
		case *ast.BlockStmt:
			return false
		}
		return !found
	})
	return found
}

func isImport(decl ast.Decl) bool {
	d, ok := decl.(*ast.GenDecl)
	return ok && d.Tok == token.IMPORT
}

func irrelevant(decl ast.Decl) bool {
	switch d := decl.(type) {
	case *ast.GenDecl:
		return d.Tok == token.VAR
	case *ast.FuncDecl:
		return d.Recv == nil
	}
	return true
}

func (d *Draft) keyDecls() []ast.Decl {
	var decls []ast.Decl
	for _, k := range d.keys {
		fields := &ast.FieldList{Opening: d.Spec.Pos(), Closing: d.Spec.Pos()}
		for _, part := range k.Parts {
			fields.List = append(fields.List, &ast.Field{
				Names: []*ast.Ident{{Name: part.Name, NamePos: part.Pos}},
				Type:  part.typ,
			})
		}
		decls = append(decls, &ast.GenDecl{Tok: token.TYPE, TokPos: d.Spec.Pos(), Specs: []ast.Spec{&ast.TypeSpec{
			Name: &ast.Ident{Name: k.Name, NamePos: d.Spec.Pos()},
			Type: &ast.StructType{Struct: d.Spec.Pos(), Fields: fields},
		}}})
	}
	return decls
}

// codecMethods are generated for every model.
var codecMethods = []struct{ name, param string }{
	{"EncodeMsgpack", "Encoder"},
	{"DecodeMsgpack", "Decoder"},
}

// promiseCodecs declares the methods to be generated, so that other packages see the same types
// before and after.
func (s *Source) promiseCodecs() {
	msgpack := types.NewPackage(stored.MsgpackPath, "msgpack")
	for _, d := range s.Drafts {
		named := s.Named(d.Name)
		if named == nil {
			continue
		}
		for _, m := range codecMethods {
			coder := types.NewNamed(types.NewTypeName(token.NoPos, msgpack, m.param, nil), types.NewStruct(nil, nil), nil)
			named.AddMethod(types.NewFunc(token.NoPos, s.Types, m.name, types.NewSignatureType(
				types.NewParam(token.NoPos, s.Types, "", types.NewPointer(named)), nil, nil,
				types.NewTuple(types.NewParam(token.NoPos, msgpack, "", types.NewPointer(coder))),
				types.NewTuple(types.NewParam(token.NoPos, nil, "", types.Universe.Lookup("error").Type())), false)))
		}
	}
}
