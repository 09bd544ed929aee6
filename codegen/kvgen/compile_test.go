package main

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// compiler type-checks the packages of scripts without a process for each.
type compiler struct {
	root string

	mu      sync.Mutex
	exports map[string]string // of the packages that scripts import
	imports types.Importer
}

// compiles fails unless the package in the script's directory compiles or, with !, has an error
// that matches its argument.
func (c *compiler) compiles(ts *testscript.TestScript, neg bool, args []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ts.Check(c.start())
	err := c.check(ts.MkAbs("."))
	switch {
	case !neg:
		ts.Check(err)
	case err == nil:
		ts.Fatalf("it compiles")
	case !regexp.MustCompile(args[0]).MatchString(err.Error()):
		ts.Fatalf("want an error that matches %s, got %v", args[0], err)
	}
}

// start finds the packages that scripts import: the library and its imports.
func (c *compiler) start() error {
	if c.exports != nil {
		return nil
	}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./kvmodel/...", "./index", "./ranking/...", "./timeline")
	list.Dir = c.root
	out, err := list.Output()
	if err != nil {
		return err
	}
	c.exports = map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.exports[path] = file
	}
	c.imports = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
	return nil
}

func (c *compiler) check(dir string) error {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err = (&types.Config{Importer: c.imports}).Check("example.com/app", fset, files, nil)
	return err
}
