package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestRename_AndLinkGiveTheNameAndKeepWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	first, second, third := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "third")
	proof.Must(t, os.WriteFile(first, []byte("text"), 0o600))
	proof.Must(t, errors.Join(Rename(first, second), Link(second, third)))
	proof.Is(t, Link(second, third), fs.ErrExist)
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	proof.Must(t, err)
	proof.NoDiff(t, cmp.Diff([]string{second, third}, all), "files")
}
