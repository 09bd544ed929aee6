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
	"strings"

	"golang.org/x/tools/go/packages"
)

// check type-checks the packages, each after those it imports.
func (l *loader) check(found []*source) error {
	l.others, l.absent = map[string]*types.Package{}, map[string]string{}
	if err := l.importOthers(found); err != nil {
		return err
	}
	for _, s := range found {
		s.absent = l.absent
		l.typecheck(s)
	}
	return nil
}

// importOthers loads the packages that found imports, beside itself, from the
// compiler's export data.
func (l *loader) importOthers(found []*source) error {
	paths := map[string]bool{}
	for _, s := range found {
		for _, f := range s.files {
			for _, path := range imported(f.syntax) {
				paths[path] = l.sources[path] == nil && path != "C" && path != "unsafe"
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
		Fset: l.fset,
	}, wanted...)
	if err != nil {
		return fmt.Errorf("go list of imported packages: %w", err)
	}
	for _, p := range loaded {
		if p.Types != nil && p.Name != "" {
			l.others[p.PkgPath] = p.Types
		} else if len(p.Errors) > 0 {
			l.absent[p.PkgPath] = oneLine(p.Errors[0].Msg)
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

func importPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

// Import returns the package at path for the type checker.
func (l *loader) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if s := l.sources[path]; s != nil {
		l.typecheck(s)
		return s.types, nil
	}
	if p := l.others[path]; p != nil {
		return p, nil
	}
	return nil, errors.New(cmp.Or(l.absent[path], "it cannot be loaded"))
}

// typecheck gives s its types. Only what a model can depend on is looked at:
// types, constants and the signatures of methods, and the key types that kvgen
// will write, so that errors elsewhere in the package do not matter.
func (l *loader) typecheck(s *source) {
	if s.types != nil {
		return
	}
	s.types = types.NewPackage(s.path, s.name)
	config := types.Config{
		Importer:                 l,
		GoVersion:                s.goVersion,
		FakeImportC:              true,
		DisableUnusedImportCheck: true,
		Error: func(err error) {
			if fault, ok := err.(types.Error); ok {
				s.faults = append(s.faults, fault)
			}
		},
	}
	checker := types.NewChecker(&config, l.fset, s.types, nil)
	_ = checker.Files(s.trimmed()) // The faults that matter are in s.faults.
	s.promiseCodecs()
}

// named returns the type called name of the package, nil if it has none.
func (s *source) named(name string) *types.Named {
	obj := s.types.Scope().Lookup(name)
	if obj == nil {
		return nil
	}
	named, _ := types.Unalias(obj.Type()).(*types.Named)
	return named
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
