package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A change is what has to be done to one file.
type change struct {
	kind  changeKind
	name  string // as seen from the working directory
	path  string
	text  []byte
	fault error // why text is not Go
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

// apply makes the change. The file has its old text or its new one at every moment.
func (c change) apply() error {
	if c.kind == leftOver {
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
	return fmt.Errorf("cannot write %s: %w", c.name, err)
}

// compare returns what has to be done for dir to hold files and nothing else
// that kvgen wrote.
func compare(r *reporter, dir string, files []File) []change {
	left := filesIn(dir)
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
