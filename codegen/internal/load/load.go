// Package load is the first step: it finds the packages with models, reads them without kvgen's
// output, parses tags, assigns names, and type-checks all that a model can depend on.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"golang.org/x/tools/go/packages"
)

// Sources returns the packages of patterns with models or generated files, by import path.
func Sources(r *problem.Reporter, patterns []string) ([]*Source, error) {
	listed, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedModule,
		Dir:  r.Dir,
		Fset: r.Fset,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var found []*Source
	for _, p := range listed {
		if s := read(r, p); s != nil {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *Source) int { return strings.Compare(a.Path, b.Path) })
	if err := r.Err(); err != nil {
		return nil, err
	}
	c := &checker{r.Fset, map[string]*Source{}, map[string]*types.Package{}, map[string]string{}}
	for _, s := range found {
		c.sources[s.Path] = s
		s.scan(r)
		s.nameDrafts(r)
	}
	found = slices.DeleteFunc(found, func(s *Source) bool { return len(s.Drafts) == 0 && !s.generated })
	return found, c.check(found)
}

// read returns nil if p has nothing for kvgen.
func read(r *problem.Reporter, p *packages.Package) *Source {
	tests, _ := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
	if len(p.GoFiles)+len(p.IgnoredFiles)+len(tests) == 0 {
		for _, e := range p.Errors {
			r.In("", "cannot load %s: %s", p.PkgPath, oneLine(e.Msg))
		}
		return nil
	}
	s := &Source{Path: p.PkgPath, Dir: p.Dir, aside: slices.Concat(tests, p.IgnoredFiles)}
	if p.Module != nil {
		s.Module = p.Module.Dir
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		s.goVersion = "go" + p.Module.GoVersion
	}
	texts := s.collect(r, p.GoFiles)
	if texts == nil {
		return nil
	}
	if p.Module != nil && !p.Module.Main {
		r.In("", "package %s belongs to the module %s: run kvgen there", p.PkgPath, p.Module.Path)
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		s.parse(r, path, texts[path])
	}
	for _, path := range tests {
		file, err := parser.ParseFile(r.Fset, path, nil, parser.SkipObjectResolution)
		if err == nil && file.Name.Name == s.Name {
			s.tests = append(s.tests, file)
		}
	}
	return s
}

// collect returns nil if no handwritten file concerns kvgen.
func (s *Source) collect(r *problem.Reporter, paths []string) map[string][]byte {
	s.generated = len(output.In(s.Dir)) > 0
	s.aside = slices.DeleteFunc(s.aside, func(path string) bool {
		text, err := os.ReadFile(path)
		return err != nil || filepath.Ext(path) != ".go" || !mentions(text)
	})
	concerned := len(s.aside) > 0 || s.generated
	texts := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			r.In(path, "%v", err)
		} else if !output.Is(text) {
			texts[path] = text
			concerned = concerned || mentions(text)
		}
	}
	if !concerned {
		return nil
	}
	return texts
}

func mentions(text []byte) bool { return bytes.Contains(text, []byte("kv:")) }

// parse reports the first fault of syntax.
func (s *Source) parse(r *problem.Reporter, path string, text []byte) {
	file, err := parser.ParseFile(r.Fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	var faults scanner.ErrorList
	if errors.As(err, &faults) {
		r.Report(faults[0].Pos, "%s", faults[0].Msg)
		return
	}
	if s.Name == "" {
		s.Name = file.Name.Name
	}
	if s.Name != file.Name.Name {
		r.At(file.Name.Pos(), "package %s, but other files here say package %s", file.Name.Name, s.Name)
	}
	s.Files = append(s.Files, &sourceFile{path, file})
}
