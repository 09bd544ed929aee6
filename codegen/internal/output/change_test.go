package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite_WhatIsNotGoIsWrittenToBeRead(t *testing.T) {
	path, fault := filepath.Join(t.TempDir(), "page_kv.go"), errors.New("a fault of kvgen")
	const text = "type Pages struct {{\n"
	if err := Write([]Change{{File{path, []byte(text), fault}, "page_kv.go", missing}}); !errors.Is(err, fault) {
		t.Errorf("got %v, want the fault", err)
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Errorf("the file holds %q, want what was printed", got)
	}
}
