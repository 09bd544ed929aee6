package ringtree_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestFiles_NameNoMachine(t *testing.T) {
	report(t, checkMachines(os.DirFS(".")))
}

func TestFiles_GeneratedOnesSaySo(t *testing.T) {
	report(t, checkGenerated(os.DirFS(".")))
}

func TestKeysDoc_ListsEveryClass(t *testing.T) {
	report(t, checkKeyClasses(os.DirFS(".")))
}

// A path on one person's machine, or the host of a package registry. Each
// expression is written so that it does not match itself.
var machines = regexp.MustCompile(
	`/(roo[t]|wor[k]|hom[e]/\w+|User[s]/\w+)/|/tmp/[\w.]+/|` +
		`(prox[y]|su[m])\.golang\.org|registr[y]\.npmjs|de[b]\.debian\.org|pyp[i]\.org`)

// checkMachines returns a complaint for each line that only means something on
// one machine.
func checkMachines(tree fs.FS) (complaints []string) {
	for _, file := range files(tree) {
		text := read(tree, file)
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if found := machines.Find(line); found != nil {
				complaints = append(complaints, fmt.Sprintf("%s:%d names a machine's path or a registry's host: %s", file, number, found))
			}
		}
	}
	return complaints
}

func TestFiles_LongTestsSaySo(t *testing.T) {
	report(t, checkLong(os.DirFS(".")))
}

// The names of tests that have more to do than make test lets them.
var long = regexp.MustCompile(`^Test(Sweep|Models|Mistakes|Matrix)_`)

// checkLong returns a complaint for each test that asks package proof how much to do,
// and that make prove does not find by its name.
func checkLong(tree fs.FS) (complaints []string) {
	for _, file := range goFiles(tree) {
		if !strings.HasSuffix(file, "_test.go") || within(file, "internal/proof") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(tree, file), parser.SkipObjectResolution)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		for _, decl := range parsed.Decls {
			test, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(test.Name.Name, "Test") && !long.MatchString(test.Name.Name) && asksHowMuch(test) {
				complaints = append(complaints, fmt.Sprintf("%s: %s uses proof, so its name must begin as %s says", file, test.Name.Name, long))
			}
		}
	}
	return complaints
}

// asksHowMuch reports whether test calls a function that does as much as
// RINGTREE_PROVE says.
func asksHowMuch(test *ast.FuncDecl) (asks bool) {
	ast.Inspect(test, func(node ast.Node) bool {
		if call, ok := node.(*ast.SelectorExpr); ok {
			of, ok := call.X.(*ast.Ident)
			asks = asks || ok && of.Name == "proof" && slices.Contains([]string{"Sweep", "Mistakes", "Explore", "Part"}, call.Sel.Name)
		}
		return true
	})
	return asks
}

// The standard form, by which tools recognize a generated file.
var generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// namedByEnt is where ent gives the names, of a peer that bench compares with.
const namedByEnt = "bench/compare/peers/entmodel"

// checkGenerated returns a complaint for each file that has the name of a
// generated file without its header, or the header without the name.
func checkGenerated(tree fs.FS) (complaints []string) {
	for _, file := range goFiles(tree) {
		if within(file, namedByEnt) {
			continue
		}
		base := path.Base(file)
		named := base == "kv.go" || strings.HasSuffix(base, "_kv.go") || strings.HasSuffix(base, "_templ.go")
		marked := generatedHeader.Match(beforePackage(read(tree, file)))
		switch {
		case named && !marked:
			complaints = append(complaints, file+" has the name of a generated file but not the header of one")
		case marked && !named:
			complaints = append(complaints, file+" says that it is generated, but is not named kv.go, *_kv.go or *_templ.go")
		}
	}
	return complaints
}

func beforePackage(text []byte) []byte {
	if end := bytes.Index(text, []byte("\npackage ")); end >= 0 {
		return text[:end+1]
	}
	return nil
}

// checkKeyClasses returns a complaint for each key class declared in the code
// that docs/keys.md does not list as `name:PART:PART`.
func checkKeyClasses(tree fs.FS) (complaints []string) {
	listed := listedClasses(tree)
	for _, file := range goFiles(tree) {
		if strings.HasSuffix(file, "_test.go") || within(file, "kvmodel/kvtest") || within(file, "internal/proof") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, read(tree, file), parser.SkipObjectResolution)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || !namesNewClass(call.Fun) {
				return true
			}
			place := set.Position(call.Pos())
			class, err := classOf(call)
			if err != nil {
				complaints = append(complaints, fmt.Sprintf("%s: %v", place, err))
			} else if !slices.Contains(listed, class) {
				complaints = append(complaints, fmt.Sprintf("%s: docs/keys.md does not list key class %q with %d parts", place, class.name, class.parts))
			}
			return true
		})
	}
	return complaints
}

type keyClass struct {
	name  string
	parts int
}

// listedClasses returns the classes in the code spans of docs/keys.md.
func listedClasses(tree fs.FS) []keyClass {
	var classes []keyClass
	for _, span := range regexp.MustCompile("`[a-z0-9]+(:[A-Z]+)+`").FindAllString(string(read(tree, "docs/keys.md")), -1) {
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

// classOf returns the class that a call of NewClass declares. The call alone must
// say what it is.
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
	return keyClass{}, fmt.Errorf("NewClass must be given a literal name and number, so that docs/keys.md can be checked against them")
}

func TestCheckMachines_NamesFileAndLine(t *testing.T) {
	tree := fstest.MapFS{
		"a.md":  {Data: []byte("fine\nsee /hom" + "e/jo/x\n")},
		"b.yml": {Data: []byte("url: https://prox" + "y.golang.org\n")},
		"c.bin": {Data: []byte("\x00/roo" + "t/\n")},
		"d.md":  {Data: []byte("framework/x, homework/, a route/home\n")},
	}
	want := []string{
		"a.md:2 names a machine's path or a registry's host: /hom" + "e/jo/",
		"b.yml:1 names a machine's path or a registry's host: prox" + "y.golang.org",
	}
	if diff := cmp.Diff(want, checkMachines(tree)); diff != "" {
		t.Errorf("complaints mismatch (-want +got):\n%s", diff)
	}
}

func TestCheckLong_NamesFileAndTest(t *testing.T) {
	tree := fstest.MapFS{
		"a_test.go": {Data: []byte("package a\n\nfunc TestSweep_Fine(t *testing.T) { proof.Sweep(t) }\n\nfunc TestOther_Short(t *testing.T) { Sweep(t) }\n")},
		"b_test.go": {Data: []byte("package b\n\nfunc TestOther_Long(t *testing.T) { f(func() { proof.Part(t) }) }\n")},
	}
	want := []string{"b_test.go: TestOther_Long uses proof, so its name must begin as ^Test(Sweep|Models|Mistakes|Matrix)_ says"}
	if diff := cmp.Diff(want, checkLong(tree)); diff != "" {
		t.Errorf("complaints mismatch (-want +got):\n%s", diff)
	}
}

func TestCheckGenerated_NameAndHeaderGoTogether(t *testing.T) {
	const header = "// Code generated by kvgen. DO NOT EDIT.\n\n"
	tree := fstest.MapFS{
		"a_kv.go":    {Data: []byte(header + "package a\n")},
		"b_kv.go":    {Data: []byte("package a\n")},
		"c.go":       {Data: []byte(header + "package a\n")},
		"d.go":       {Data: []byte("package a\n\n" + header)},
		"e_templ.go": {Data: []byte("// Code generated by hand.\n\npackage a\n")},
	}
	want := []string{
		"b_kv.go has the name of a generated file but not the header of one",
		"c.go says that it is generated, but is not named kv.go, *_kv.go or *_templ.go",
		"e_templ.go has the name of a generated file but not the header of one",
	}
	if diff := cmp.Diff(want, checkGenerated(tree)); diff != "" {
		t.Errorf("complaints mismatch (-want +got):\n%s", diff)
	}
}

func TestCheckKeyClasses_NamesPlaceAndClass(t *testing.T) {
	tree := fstest.MapFS{
		"docs/keys.md": {Data: []byte("| `r:MODEL:ID` | a record |\n| `u:MODEL:INDEX:VALUE` | a claim |\n")},
		"a.go":         {Data: []byte("package a\n\nvar r = kv.NewClass(\"r\", 2)\n")},
		"b.go":         {Data: []byte("package a\n\nvar u = NewClass(\"u\", 2)\n")},
		"c.go":         {Data: []byte("package a\n\nvar x = kv.NewClass(name, 2)\n")},
		"d_test.go":    {Data: []byte("package a\n\nvar x = kv.NewClass(\"x\", 2)\n")},
	}
	want := []string{
		`b.go:3:9: docs/keys.md does not list key class "u" with 2 parts`,
		"c.go:3:9: NewClass must be given a literal name and number, so that docs/keys.md can be checked against them",
	}
	if diff := cmp.Diff(want, checkKeyClasses(tree)); diff != "" {
		t.Errorf("complaints mismatch (-want +got):\n%s", diff)
	}
}
