package emit

import (
	"bytes"
	"fmt"
	"go/format"

	"github.com/ringtree/ringtree/codegen/internal/output"
)

// A printer writes one generated file.
type printer struct {
	bytes.Buffer
	names  *imports
	codecs *codecSet
}

func (w *printer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// file returns what was printed as a whole file of the package pkg, formatted.
func (w *printer) file(path, pkg string) output.File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\npackage %s\n\n%s\n", output.Header, pkg, w.names.decl())
	b.Write(w.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return output.File{Path: path, Text: b.Bytes(), Fault: fmt.Errorf("what kvgen wrote here is not Go, a fault of kvgen: %w", err)}
	}
	return output.File{Path: path, Text: text}
}
