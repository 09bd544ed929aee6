package emit

import (
	"go/types"
	"strings"
	"testing"
)

func TestPrinter_File_WhatIsNotGoIsReturnedToBeRead(t *testing.T) {
	w := &printer{names: newImports(types.NewPackage("p", "p"), map[string]bool{})}
	w.names.add("time", "time")
	w.printf("type Pages struct {{\n")
	f := w.file("page_kv.go", "p")
	if f.Fault == nil || !strings.Contains(f.Fault.Error(), "a fault of kvgen") {
		t.Errorf("got fault %v, want one of kvgen", f.Fault)
	}
	if !strings.Contains(string(f.Text), "type Pages struct {{") {
		t.Errorf("the text is %q, want what was printed", f.Text)
	}
}
