package codegen

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"strings"
)

// A Run is one run of kvgen over some packages.
type Run struct {
	Patterns []string // of packages, as the go command takes them; none: the one in the working directory
	Accept   bool     // write what the lock file would refuse
}

// Generate brings the generated files and the lock file of the packages up to
// date. It writes nothing at all if there is anything to complain about.
func (run Run) Generate() error {
	changes, err := run.changes()
	if err != nil {
		return err
	}
	var faults []error
	for _, c := range changes {
		if err := c.apply(); err != nil {
			return err
		}
		if c.fault != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.name, c.fault))
		}
	}
	return errors.Join(faults...)
}

// Check returns a line for every file that Generate would write or remove.
func (run Run) Check() ([]string, error) {
	changes, err := run.changes()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.name+": "+c.kind.String())
	}
	return lines, nil
}

// Plan returns the access plan of the packages: what their models hold and
// what each way to it costs in trips.
func (run Run) Plan() (string, error) {
	_, packages, err := run.load()
	if err != nil {
		return "", err
	}
	var plans []string
	for _, p := range packages {
		plans = append(plans, plan(p))
	}
	return strings.Join(plans, "\n"), nil
}

// load returns the packages of the run, resolved and checked.
func (run Run) load() (*reporter, []*Package, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	patterns := run.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	r := &reporter{fset: token.NewFileSet(), dir: dir}
	sources, err := load(r, patterns)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) == 0 {
		return nil, nil, fmt.Errorf("no models in %s: a model is a struct with a kv tag, such as `kv:\"id\"` on a field", strings.Join(patterns, " "))
	}
	var packages []*Package
	for _, s := range sources {
		p := resolve(r, s)
		checkModels(r, s, p)
		packages = append(packages, p)
	}
	return r, packages, r.err()
}

// changes returns what has to be done to the files of the packages.
func (run Run) changes() ([]change, error) {
	r, packages, err := run.load()
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, p := range packages {
		lock := checkLock(r, p, run.Accept)
		files := emitFiles(r, p)
		if len(files) > 0 {
			files = append(files, lock)
		}
		changes = append(changes, compare(r, p.Dir, files)...)
	}
	return changes, r.err()
}
