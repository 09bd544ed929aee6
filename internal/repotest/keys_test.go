package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/internals/keys.md lists each class of keys as `name:PART:PART`.
func TestKeysDoc_ListsEveryClass(t *testing.T) {
	listed, declared := listedClasses(), 0
	for _, file := range goFiles() {
		if strings.HasSuffix(file, "_test.go") || within(file, "kvmodel/kvtest") || within(file, "internal/proof") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, read(file), parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || !namesNewClass(call.Fun) {
				return true
			}
			declared++
			class, err := classOf(call)
			if err != nil {
				t.Errorf("%s: %v", set.Position(call.Pos()), err)
			} else if !slices.Contains(listed, class) {
				t.Errorf("%s: docs/internals/keys.md does not list key class %q with %d parts", set.Position(call.Pos()), class.name, class.parts)
			}
			return true
		})
	}
	if declared == 0 {
		t.Error("the code declares no class of keys")
	}
}

type keyClass struct {
	name  string
	parts int
}

func listedClasses() []keyClass {
	var classes []keyClass
	for _, span := range regexp.MustCompile("`[a-z0-9]+(:[A-Z]+)+`").FindAllString(string(read("docs/internals/keys.md")), -1) {
		name, parts, _ := strings.Cut(strings.Trim(span, "`"), ":")
		classes = append(classes, keyClass{name, strings.Count(parts, ":") + 1})
	}
	return classes
}

func namesNewClass(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name == "NewClass"
	case *ast.SelectorExpr:
		return fun.Sel.Name == "NewClass"
	}
	return false
}

// The arguments must be literals.
func classOf(call *ast.CallExpr) (keyClass, error) {
	if len(call.Args) == 2 {
		name, isName := call.Args[0].(*ast.BasicLit)
		parts, isNumber := call.Args[1].(*ast.BasicLit)
		if isName && isNumber {
			text, err1 := strconv.Unquote(name.Value)
			n, err2 := strconv.Atoi(parts.Value)
			if err1 == nil && err2 == nil {
				return keyClass{text, n}, nil
			}
		}
	}
	return keyClass{}, fmt.Errorf("NewClass must be given a literal name and number, so that docs/internals/keys.md can be checked against them")
}
