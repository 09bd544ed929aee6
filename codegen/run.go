package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/check"
	"github.com/ringtree/ringtree/codegen/internal/emit"
	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/resolve"
	"github.com/ringtree/ringtree/codegen/internal/site"
)

type Run struct {
	Dir      string   // "": the working directory of the process
	Patterns []string // of packages, as for the go command; none: the one in Dir
	Accept   bool
}

// Generate updates the generated files and the lock files. If there is a problem, it writes
// nothing.
func (run Run) Generate() error {
	changes, err := run.changes()
	if err != nil {
		return err
	}
	return output.Write(changes)
}

// Check returns a line for every file that Generate would write or remove.
func (run Run) Check() (lines string, err error) {
	changes, err := run.changes()
	for _, c := range changes {
		lines += c.String() + "\n"
	}
	return lines, err
}

// Plan returns the models of the packages, and the cost in trips of each way to access them.
func (run Run) Plan() (string, error) {
	_, packages, err := run.load()
	if err != nil {
		return "", err
	}
	var plans []string
	for _, p := range packages {
		plans = append(plans, emit.Plan(p))
	}
	return strings.Join(plans, "\n"), nil
}

func (run Run) load() (*problem.Reporter, []*model.Package, error) {
	dir, err := filepath.Abs(run.Dir)
	if err != nil {
		return nil, nil, err
	}
	patterns := run.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	r := &problem.Reporter{Fset: token.NewFileSet(), Dir: dir}
	sources, err := load.Sources(r, patterns)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) == 0 {
		if err := r.Err(); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("no models in %s: a model is a struct with a kv tag, such as `kv:\"id\"` on a field", strings.Join(patterns, " "))
	}
	var packages []*model.Package
	for _, s := range sources {
		p := resolve.Package(r, s)
		check.Models(r, s, p)
		packages = append(packages, p)
	}
	return r, packages, r.Err()
}

func (run Run) changes() ([]output.Change, error) {
	r, packages, err := run.load()
	if err != nil {
		return nil, err
	}
	var changes []output.Change
	for _, p := range packages {
		lock := check.Lock(r, p, run.Accept)
		files := emit.Files(r, p)
		if len(files) > 0 {
			files = append(files, lock)
		}
		changes = append(changes, output.Compare(r, p.Dir, files)...)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return changes, nil
}

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

// target is an argument for the go command at the root of the module.
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

// Access decides which users may change the records of a model, and which fields.
type Access = site.Access

// Scaffold writes the pages of a model into the site in the run's directory. It returns the written
// files, and a report of the users' rights on the pages.
func (run Run) Scaffold(name string, a Access) (paths []string, report string, err error) {
	_, packages, err := run.load()
	if err != nil {
		return nil, "", err
	}
	p, m, err := modelCalled(packages, name)
	if err != nil {
		return nil, "", err
	}
	made, report, err := site.Pages(p, m, a)
	if err != nil {
		return nil, "", err
	}
	joined, err := site.Join(filepath.Join(run.Dir, "web", "site.go"), m)
	if err != nil {
		return nil, "", err
	}
	for i, f := range made {
		made[i].Path = filepath.Join(run.Dir, f.Path)
		paths = append(paths, made[i].Path)
	}
	if err := output.CreateAll(made); err != nil {
		return nil, "", err
	}
	return append(paths, joined.Path), report, output.Replace(joined)
}

func modelCalled(packages []*model.Package, name string) (*model.Package, *model.Model, error) {
	var known []string
	for _, p := range packages {
		for _, m := range p.Models {
			if m.Name == name {
				return p, m, nil
			}
			known = append(known, m.Name)
		}
	}
	return nil, nil, fmt.Errorf("there is no model %s; %s", name, english.Known(name, known))
}
