package codegen

import (
	"fmt"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/check"
	"github.com/ringtree/ringtree/codegen/internal/emit"
	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/resolve"
)

type Run struct {
	Dir      string   // "": the working directory of the process
	Patterns []string // of packages, as for the go command; none: the one in Dir
	Accept   bool     // write even if the lock file refuses
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
