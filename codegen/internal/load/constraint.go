package load

import (
	"go/build"
	"go/build/constraint"
	"io"
	"path/filepath"
	"strings"
)

// constraintOf returns what limits f to some builds, "" if nothing does.
func constraintOf(f *sourceFile) string {
	for _, group := range f.Syntax.Comments {
		if group.Pos() > f.Syntax.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return c.Text
			}
		}
	}
	name := filepath.Base(f.Path)
	if !takenEverywhere(name) {
		return "its name " + name
	}
	return ""
}

// takenEverywhere reports whether a file called name is built on every system.
func takenEverywhere(name string) bool {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "none", "none"
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p")), nil
	}
	taken, err := nowhere.MatchFile("", name)
	return taken && err == nil
}
