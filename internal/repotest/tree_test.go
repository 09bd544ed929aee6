package repotest

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ringtree/ringtree"

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func files() (found []string) {
	ignored := []string{".git", "bin", "tmp", "example-app/data"}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(ignored, name) && entry.IsDir():
			return fs.SkipDir
		case entry.Type().IsRegular() && name != ".git":
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return found
}

func goFiles() []string {
	return slices.DeleteFunc(files(), func(file string) bool {
		return path.Ext(file) != ".go" || slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool {
			return part == "testdata" || part[0] == '_' || part[0] == '.'
		})
	})
}

func texts() []string {
	return slices.DeleteFunc(files(), func(file string) bool {
		return path.Ext(file) != ".md" || strings.Contains(file, "testdata/")
	})
}

func read(file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return text
}

func within(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }
