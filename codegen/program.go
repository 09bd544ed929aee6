package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/emit"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
)

// Program writes dir/main.go, which must not exist: a program that inspects databases with the
// models of the package.
func (run Run) Program(dir string) error {
	_, packages, err := run.load()
	if err != nil {
		return err
	}
	packages = slices.DeleteFunc(packages, func(p *model.Package) bool { return len(p.Models) == 0 })
	if len(packages) != 1 {
		return fmt.Errorf("-cmd takes the models of one package, and %s has %d with models: name one", cmp.Or(strings.Join(run.Patterns, " "), "."), len(packages))
	}
	name, target, err := placeOf(packages[0], dir)
	if err != nil {
		return err
	}
	text, err := emit.Program(packages[0], name, target)
	if err != nil {
		return err
	}
	return output.Create(filepath.Join(dir, "main.go"), text)
}

// placeOf returns the name of a program in dir for p, and its argument for the go command at the
// root of the module.
func placeOf(p *model.Package, dir string) (name, target string, err error) {
	if p.Name == "main" {
		return "", "", errors.New("the models are in package main, which other programs cannot import: move them to another package")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if path == p.Dir {
		return "", "", fmt.Errorf("the models are in %s: choose another directory for the program, such as %s", dir, filepath.Join(dir, "cmd", "db"))
	}
	below, err := filepath.Rel(p.Module, path)
	if err != nil || !filepath.IsLocal(below) {
		return "", "", fmt.Errorf("%s is outside the module of the models, %s", dir, p.Module)
	}
	if below == "." {
		return filepath.Base(path), below, nil
	}
	return filepath.Base(path), "./" + filepath.ToSlash(below), nil
}
