package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/problem"
)

// A Change is what has to be done to one file.
type Change struct {
	File
	name string // as seen from the working directory
	kind changeKind
}

type changeKind int

const (
	missing  changeKind = iota // the file is not there
	stale                      // it holds something else
	leftOver                   // nothing is generated there anymore
)

// String returns the file and its state in words.
func (c Change) String() string {
	return c.name + [...]string{": missing: run kvgen", ": stale: run kvgen", ": left over, its models are gone: run kvgen"}[c.kind]
}

// Write makes the changes. It also writes text that is not Go, and returns why
// it is not.
func Write(changes []Change) error {
	var faults []error
	for _, c := range changes {
		if err := c.apply(); err != nil {
			return err
		}
		if c.Fault != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.name, c.Fault))
		}
	}
	return errors.Join(faults...)
}

// apply makes the change. The file has its old text or its new one at every moment.
func (c Change) apply() error {
	if c.kind == leftOver {
		return os.Remove(c.Path)
	}
	temporary := fmt.Sprintf("%s.%d.tmp", c.Path, os.Getpid())
	err := os.WriteFile(temporary, c.Text, 0o666)
	if err == nil {
		err = os.Rename(temporary, c.Path)
	}
	if err == nil {
		return nil
	}
	os.Remove(temporary)
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // The path that it leaves out is that of the temporary file.
	}
	return fmt.Errorf("cannot write %s: %w", c.name, err)
}

// Compare returns what has to be done for dir to hold files and nothing else
// that kvgen wrote.
func Compare(r *problem.Reporter, dir string, files []File) []Change {
	left := In(dir)
	var changes []Change
	for _, f := range files {
		left = slices.DeleteFunc(left, func(path string) bool { return path == f.Path })
		old, err := os.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, Change{f, problem.Shorten(r.Dir, f.Path), missing})
		case err != nil:
			r.In(f.Path, "kvgen has to write this file: %v", err)
		case filepath.Base(f.Path) != LockName && !Is(old):
			r.In(f.Path, "kvgen has to write this file, but somebody else did: it lacks the line %q; rename it", Header)
		case !bytes.Equal(old, f.Text):
			changes = append(changes, Change{f, problem.Shorten(r.Dir, f.Path), stale})
		}
	}
	for _, path := range left {
		changes = append(changes, Change{File{Path: path}, problem.Shorten(r.Dir, path), leftOver})
	}
	return changes
}
