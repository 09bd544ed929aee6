package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestChange_UnwritableDirectoryIsNamedAndLeftAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page_kv.go")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	var err error
	asNobody(func() { err = Change{File{path, []byte("new"), nil}, "wiki/page_kv.go", stale}.apply() })
	if !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), "cannot write wiki/page_kv.go: ") || strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want an error about wiki/page_kv.go alone", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q, want what it held before", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files in the directory, want 1", len(entries))
	}
}

func asNobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			_ = syscall.Setfsuid(65534)
		}
		f()
	}()
	<-done
}
