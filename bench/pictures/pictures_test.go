package pictures

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

var update = flag.Bool("update", false, "draw the pictures in docs again")

const folder = "../../docs/pictures"

func TestAll_PicturesInDocsAreCurrent(t *testing.T) {
	all, err := All(t.Context())
	proof.Must(t, err)
	if *update {
		for name, file := range all {
			proof.Must(t, os.WriteFile(filepath.Join(folder, name), file, 0o644))
		}
	}
	var stored []string
	entries, err := os.ReadDir(folder)
	proof.Must(t, err)
	for _, e := range entries {
		stored = append(stored, e.Name())
	}
	proof.NoDiff(t, gocmp.Diff(slices.Sorted(maps.Keys(all)), stored), "files mismatch (-drawn +docs/pictures)")
	for name, file := range all {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		} else if diff := gocmp.Diff(string(text), string(file)); diff != "" {
			t.Errorf("docs/pictures/%s is not what is drawn: make docs draws it again (-docs +drawn):\n%s", name, diff)
		}
	}
}
