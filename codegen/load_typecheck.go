package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/packages"
)

// A checker type-checks packages with models. For that it imports others.
type checker struct {
	fset    *token.FileSet
	sources map[string]*source // by import path
	others  map[string]*types.Package
	absent  map[string]string // why a package could not be loaded
}

// newChecker returns a checker that knows sources and has loaded nothing yet.
func newChecker(fset *token.FileSet, sources []*source) *checker {
	c := &checker{fset, map[string]*source{}, map[string]*types.Package{}, map[string]string{}}
	for _, s := range sources {
		c.sources[s.path] = s
	}
	return c
}

// check type-checks the packages, each after those it imports.
func (c *checker) check(found []*source) error {
	if err := c.importOthers(found); err != nil {
		return err
	}
	for _, s := range found {
		s.absent = c.absent
		c.typecheck(s)
	}
	return nil
}

// importOthers loads the packages that found imports, beside itself, from the
// compiler's export data.
func (c *checker) importOthers(found []*source) error {
	paths := map[string]bool{}
	for _, s := range found {
		for _, f := range s.files {
			for _, path := range imported(f.syntax) {
				paths[path] = c.sources[path] == nil && path != "C" && path != "unsafe"
			}
		}
	}
	var wanted []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if paths[path] {
			wanted = append(wanted, path)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes,
		Dir:  found[0].dir,
		Fset: c.fset,
	}, wanted...)
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

func imported(f *ast.File) []string {
	var paths []string
	for _, spec := range f.Imports {
		paths = append(paths, importPath(spec))
	}
	return paths
}

// Import returns the package at path for the type checker.
func (c *checker) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if s := c.sources[path]; s != nil {
		c.typecheck(s)
		return s.types, nil
	}
	if p := c.others[path]; p != nil {
		return p, nil
	}
	return nil, errors.New(cmp.Or(c.absent[path], "it cannot be loaded"))
}

// typecheck gives s its types. Only what a model can depend on is looked at:
// types, constants and the signatures of methods, and the key types that kvgen
// will write, so that errors elsewhere in the package do not matter.
func (c *checker) typecheck(s *source) {
	if s.types != nil {
		return
	}
	s.types = types.NewPackage(s.path, s.name)
	config := types.Config{
		Importer:                 c,
		GoVersion:                s.goVersion,
		FakeImportC:              true,
		DisableUnusedImportCheck: true,
		Error: func(err error) {
			if fault, ok := err.(types.Error); ok {
				s.faults = append(s.faults, fault)
			}
		},
	}
	checker := types.NewChecker(&config, c.fset, s.types, nil)
	_ = checker.Files(s.trimmed()) // The faults that matter are in s.faults.
	s.promiseCodecs()
}

// trimmed returns the files of s with nothing in them but what a model can depend on.
func (s *source) trimmed() []*ast.File {
	var files []*ast.File
	for _, f := range s.files {
		short := *f.syntax
		short.Decls = nil
		for _, decl := range f.syntax.Decls {
			if d := trimmedDecl(decl); d != nil {
				short.Decls = append(short.Decls, d)
			}
		}
		for _, d := range s.drafts {
			if d.file == f {
				short.Decls = append(short.Decls, d.keyDecls()...)
			}
		}
		files = append(files, &short)
	}
	return files
}

// trimmedDecl returns what a model can depend on in decl, nil if nothing.
func trimmedDecl(decl ast.Decl) ast.Decl {
	switch d := decl.(type) {
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return d
		}
	case *ast.FuncDecl:
		if d.Recv != nil {
			method := *d
			method.Body = nil
			return &method
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

// codecMethods are the methods that kvgen writes for every model, with the
// types of their parameters in package msgpack.
var codecMethods = []struct{ name, param string }{
	{"EncodeMsgpack", "Encoder"},
	{"DecodeMsgpack", "Decoder"},
}

// promiseCodecs gives the models of s the methods that kvgen will write, so that
// other packages see them the same whether s has been generated or not.
func (s *source) promiseCodecs() {
	msgpack := types.NewPackage(msgpackPath, "msgpack")
	for _, d := range s.drafts {
		named := s.named(d.name)
		if named == nil {
			continue
		}
		for _, m := range codecMethods {
			coder := types.NewNamed(types.NewTypeName(token.NoPos, msgpack, m.param, nil), types.NewStruct(nil, nil), nil)
			named.AddMethod(types.NewFunc(token.NoPos, s.types, m.name, types.NewSignatureType(
				types.NewParam(token.NoPos, s.types, "", types.NewPointer(named)), nil, nil,
				types.NewTuple(types.NewParam(token.NoPos, msgpack, "", types.NewPointer(coder))),
				types.NewTuple(types.NewParam(token.NoPos, nil, "", types.Universe.Lookup("error").Type())), false)))
		}
	}
}
