package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Run is one run of kvgen over some packages.
type Run struct {
	Dir      string   // the working directory; "": the process's own
	Patterns []string // of packages, as the go command takes them; none: the one in Dir
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
		plans = append(plans, p.Plan())
	}
	return strings.Join(plans, "\n"), nil
}

// load returns the packages of the run.
func (run Run) load() (*reporter, []*Package, error) {
	dir, err := filepath.Abs(run.Dir)
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
		packages = append(packages, buildPackage(r, s))
	}
	return r, packages, r.problems.err()
}

// changes returns what has to be done to the files of the packages.
func (run Run) changes() ([]change, error) {
	r, packages, err := run.load()
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, p := range packages {
		var old *lock
		if !run.Accept {
			old = readLock(r, p.Dir)
			p.recallShapes(r, old)
		}
		now := p.lock()
		if old != nil {
			comparison{r, p, old, now}.refuse()
		}
		files := p.files(r)
		if len(files) > 0 {
			files = append(files, File{now.path, now.text(), nil})
		}
		changes = append(changes, p.compare(r, files)...)
	}
	return changes, r.problems.err()
}

// compare returns what makes the package's directory hold files.
func (p *Package) compare(r *reporter, files []File) []change {
	left := slices.Clone(p.source.output)
	if _, err := os.Stat(filepath.Join(p.Dir, lockName)); err == nil {
		left = append(left, filepath.Join(p.Dir, lockName))
	}
	var changes []change
	for _, f := range files {
		left = slices.DeleteFunc(left, func(path string) bool { return path == f.Path })
		old, err := os.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, change{missing, shorten(r.dir, f.Path), f.Path, f.Text, f.Fault})
		case err != nil:
			r.in(f.Path, "kvgen has to write this file: %v", err)
		case filepath.Base(f.Path) != lockName && !isOutput(old):
			r.in(f.Path, "kvgen has to write this file, but somebody else did: it lacks the line %q; rename it", header)
		case !bytes.Equal(old, f.Text):
			changes = append(changes, change{stale, shorten(r.dir, f.Path), f.Path, f.Text, f.Fault})
		}
	}
	for _, path := range left {
		changes = append(changes, change{kind: leftOver, name: shorten(r.dir, path), path: path})
	}
	return changes
}
