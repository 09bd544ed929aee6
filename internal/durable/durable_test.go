package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRename_AndLinkGiveTheNameAndKeepWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	first, second, third := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "third")
	if err := os.WriteFile(first, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Rename(first, second), Link(second, third)); err != nil {
		t.Fatal(err)
	}
	if err := Link(second, third); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: want an fs.ErrExist, got %v", err)
	}
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{second, third}, all); diff != "" {
		t.Errorf("files mismatch (-want +got):\n%s", diff)
	}
}
