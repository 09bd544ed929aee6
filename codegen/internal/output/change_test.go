package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestChange_Apply_WhatIsNotGoIsWrittenToBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page_kv.go")
	const text = "type Pages struct {{\n"
	if err := (Change{Kind: missing, path: path, text: []byte(text), Fault: errors.New("a fault of kvgen")}).Apply(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Errorf("the file holds %q, want what was printed", got)
	}
}
