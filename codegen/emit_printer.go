package codegen

import (
	"bytes"
	"fmt"
	"go/format"
)

// A printer writes one generated file.
type printer struct {
	bytes.Buffer
	names  *imports
	codecs *codecSet
}

func (w *printer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// file returns what was printed as a whole file of the package pkg, formatted.
func (w *printer) file(path, pkg string) File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\npackage %s\n\n%s\n", header, pkg, w.names.decl())
	b.Write(w.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return File{path, b.Bytes(), fmt.Errorf("what kvgen wrote here is not Go, a fault of kvgen: %w", err)}
	}
	return File{path, text, nil}
}
