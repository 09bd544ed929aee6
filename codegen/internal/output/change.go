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
	Kind  changeKind
	Name  string // as seen from the working directory
	path  string
	text  []byte
	Fault error // why text is not Go
}

type changeKind int

const (
	missing  changeKind = iota // the file is not there
	stale                      // it holds something else
	leftOver                   // nothing is generated there any more
)

// String returns the state of the file in words.
func (k changeKind) String() string {
	return [...]string{"missing: run kvgen", "stale: run kvgen", "left over, its models are gone: run kvgen"}[k]
}

// Apply makes the change. The file has its old text or its new one at every moment.
func (c Change) Apply() error {
	if c.Kind == leftOver {
		return os.Remove(c.path)
	}
	temporary := fmt.Sprintf("%s.%d.tmp", c.path, os.Getpid())
	err := os.WriteFile(temporary, c.text, 0o666)
	if err == nil {
		err = os.Rename(temporary, c.path)
	}
	if err == nil {
		return nil
	}
	os.Remove(temporary)
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // The path that it leaves out is that of the temporary file.
	}
	return fmt.Errorf("cannot write %s: %w", c.Name, err)
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
			changes = append(changes, Change{missing, problem.Shorten(r.Dir, f.Path), f.Path, f.Text, f.Fault})
		case err != nil:
			r.In(f.Path, "kvgen has to write this file: %v", err)
		case filepath.Base(f.Path) != LockName && !Is(old):
			r.In(f.Path, "kvgen has to write this file, but somebody else did: it lacks the line %q; rename it", Header)
		case !bytes.Equal(old, f.Text):
			changes = append(changes, Change{stale, problem.Shorten(r.Dir, f.Path), f.Path, f.Text, f.Fault})
		}
	}
	for _, path := range left {
		changes = append(changes, Change{Kind: leftOver, Name: problem.Shorten(r.Dir, path), path: path})
	}
	return changes
}
