package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// load returns the packages of patterns that hold models or files that kvgen
// wrote, sorted by import path, parsed and type-checked.
func load(r *reporter, patterns []string) ([]*source, error) {
	listed, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedModule,
		Dir:  r.dir,
		Fset: r.fset,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var found []*source
	for _, p := range listed {
		if s := read(r, p); s != nil {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	if err := r.err(); err != nil {
		return nil, err
	}
	c := newChecker(r.fset, found)
	for _, s := range found {
		s.scan(r)
		s.nameDrafts(r)
	}
	found = slices.DeleteFunc(found, func(s *source) bool { return len(s.drafts) == 0 && !s.generated })
	return found, c.check(found)
}

// read parses the package p; it returns nil if p has nothing for kvgen.
func read(r *reporter, p *packages.Package) *source {
	tests, _ := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
	if len(p.GoFiles)+len(p.IgnoredFiles)+len(tests) == 0 {
		for _, e := range p.Errors {
			r.in("", "cannot load %s: %s", p.PkgPath, oneLine(e.Msg))
		}
		return nil
	}
	s := &source{path: p.PkgPath, dir: p.Dir, aside: append(tests, p.IgnoredFiles...)}
	if p.Module != nil && p.Module.GoVersion != "" {
		s.goVersion = "go" + p.Module.GoVersion
	}
	texts := s.collect(r, p.GoFiles)
	if texts == nil {
		return nil
	}
	if p.Module != nil && !p.Module.Main {
		r.in("", "package %s belongs to the module %s: run kvgen there", p.PkgPath, p.Module.Path)
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		s.parse(r, path, texts[path])
	}
	return s
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// collect returns the texts of the files of s that people wrote, nil if nothing
// in its directory concerns kvgen.
func (s *source) collect(r *reporter, paths []string) map[string][]byte {
	s.generated = len(filesIn(s.dir)) > 0
	s.aside = slices.DeleteFunc(s.aside, func(path string) bool {
		text, err := os.ReadFile(path)
		return err != nil || filepath.Ext(path) != ".go" || !mentions(text)
	})
	concerned := len(s.aside) > 0 || s.generated
	texts := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			r.in(path, "%v", err)
		} else if !isOutput(text) {
			texts[path] = text
			concerned = concerned || mentions(text)
		}
	}
	if !concerned {
		return nil
	}
	return texts
}

// mentions reports whether there may be a tag in text.
func mentions(text []byte) bool { return bytes.Contains(text, []byte("kv:")) }

// parse adds the file at path to s.
func (s *source) parse(r *reporter, path string, text []byte) {
	file, err := parser.ParseFile(r.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		reportSyntax(r, path, err)
		return
	}
	if s.name == "" {
		s.name = file.Name.Name
	}
	if s.name != file.Name.Name {
		r.at(file.Name.Pos(), "package %s, but other files here say package %s", file.Name.Name, s.name)
	}
	s.files = append(s.files, &sourceFile{path, file})
}

// reportSyntax reports the first fault that the parser found in the file at path.
func reportSyntax(r *reporter, path string, err error) {
	var faults scanner.ErrorList
	if !errors.As(err, &faults) || len(faults) == 0 {
		r.in(path, "%v", err)
		return
	}
	r.report(faults[0].Pos, "%s", faults[0].Msg)
}
