package emit

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/codegen/internal/problem"
)

const module = "github.com/ringtree/ringtree/"

// imports gives each package imported by the generated files one unique name.
type imports struct {
	own    *types.Package
	taken  map[string]bool
	names  map[string]string
	plain  map[string]string // the packages' own names, by path
	needed map[string]bool
	locals []string
	hidden []types.Object // types of the package hidden by a variable
}

func newImports(own *types.Package, taken map[string]bool) *imports {
	return &imports{own: own, taken: maps.Clone(taken), names: map[string]string{}, plain: map[string]string{}, needed: map[string]bool{}}
}

func (im *imports) runtime(dir string) string { return im.add(module+dir, path.Base(dir)) }

func (im *imports) add(importPath, name string) string {
	im.needed[importPath] = true
	if known, ok := im.names[importPath]; ok {
		return known
	}
	im.plain[importPath] = name
	chosen := name
	for n := 2; im.taken[chosen] || token.IsKeyword(chosen); n++ {
		chosen = fmt.Sprintf("%s%d", name, n)
	}
	im.taken[chosen] = true
	im.names[importPath] = chosen
	return chosen
}

// spelled returns t as written at the top level.
func (im *imports) spelled(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == im.own.Path() {
			return ""
		}
		return im.add(p.Path(), p.Name())
	})
}

// typeString returns t as written where variables may hide it.
func (im *imports) typeString(t types.Type) string {
	text := im.spelled(t)
	for _, name := range im.locals {
		obj, isType := im.own.Scope().Lookup(name).(*types.TypeName)
		if isType && !slices.Contains(im.hidden, types.Object(obj)) && mentions(text, name) {
			im.hidden = append(im.hidden, obj)
		}
	}
	return text
}

func mentions(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '.' }), name)
}

func (im *imports) reportHidden(r *problem.Reporter) {
	for _, obj := range im.hidden {
		r.At(obj.Pos(), "kvgen writes %s for a variable, which hides this type: take another name", obj.Name())
	}
}

// decl returns the imports of the current file, and begins a new one.
func (im *imports) decl() string {
	defer clear(im.needed)
	var std, others []string
	for _, p := range slices.Sorted(maps.Keys(im.needed)) {
		line := fmt.Sprintf("%q", p)
		if im.names[p] != path.Base(p) || im.names[p] != im.plain[p] {
			line = im.names[p] + " " + line
		}
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	if all := append(std, others...); len(all) == 1 {
		return "import " + all[0] + "\n"
	}
	return "import (\n" + strings.Join(std, "\n") + "\n\n" + strings.Join(others, "\n") + "\n)\n"
}
