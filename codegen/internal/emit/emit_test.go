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
	if f.Fault == nil || !strings.Contains(f.Fault.Error(), "a bug in kvgen") {
		t.Errorf("got fault %v, want one of kvgen", f.Fault)
	}
	if !strings.Contains(string(f.Text), "type Pages struct {{") {
		t.Errorf("the text is %q, want what was printed", f.Text)
	}
}

func TestImports_Add_NameInUseIsSteppedAround(t *testing.T) {
	im := newImports(types.NewPackage("p", "p"), map[string]bool{"time": true, "time2": true})
	for _, c := range []struct{ path, name, want string }{
		{"time", "time", "time3"},
		{"example.com/a/geo", "geo", "geo"},
		{"example.com/b/geo", "geo", "geo2"},
		{"example.com/a/geo", "geo", "geo"},
		{"example.com/go-type", "type", "type2"},
	} {
		if got := im.add(c.path, c.name); got != c.want {
			t.Errorf("add(%q, %q) = %q, want %q", c.path, c.name, got, c.want)
		}
	}
	want := "import (\ntime3 \"time\"\n\n\"example.com/a/geo\"\ngeo2 \"example.com/b/geo\"\ntype2 \"example.com/go-type\"\n)\n"
	if got := im.decl(); got != want {
		t.Errorf("decl() = %q, want %q", got, want)
	}
	im.add("example.com/a/geo", "geo")
	if got, want := im.decl(), "import \"example.com/a/geo\"\n"; got != want {
		t.Errorf("decl() of the next file = %q, want %q", got, want)
	}
}
