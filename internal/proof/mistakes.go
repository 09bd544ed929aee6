package proof

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Mistake is a deliberate mistake: a few lines of the code, changed.
type Mistake struct {
	name  string
	edits []edit
}

// edit replaces old, which must occur once in file. The path starts at the module's
// root.
type edit struct{ file, old, new string }

// Wrong returns the mistake made by edits. Each edit is three strings: a file, the
// text to replace, which must occur there once, and its replacement.
func Wrong(name string, edits ...string) Mistake {
	m := Mistake{name: name}
	for ; len(edits) > 0; edits = edits[3:] {
		m.edits = append(m.edits, edit{edits[0], edits[1], edits[2]})
	}
	return m
}

// Mistakes asserts that the tests of pkg whose names match run notice each of the
// mistakes: it builds them with the mistake in the code, and they must compile and
// fail. This finds tests that cannot fail. The environment env, such as
// RINGTREE_SEEDS=1000, is added to theirs. Without a mistake, and without env, they
// must pass.
//
// A test file that is slow to build and of no use here, such as one that imports
// all backends, has the line go:build !mistaken.
func Mistakes(t *testing.T, pkg, run string, env []string, mistakes []Mistake) {
	if testing.Short() {
		t.Skip("not tested: each mistake is a build of its own, which takes seconds (-short)")
	}
	root := moduleRoot(t)
	right := Mistake{name: "none at all"}
	for _, m := range append([]Mistake{right}, mistakes...) {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			more := env
			if m.edits == nil {
				more = nil
			}
			out, err := runMistaken(t, root, pkg, run, more, m)
			failed := strings.Contains(out, "--- FAIL")
			switch {
			case m.edits == nil && err != nil:
				t.Errorf("%s fails without a mistake: %v\n%s", run, err, out)
			case m.edits != nil && err == nil:
				t.Errorf("nothing notices it: %s passes", run)
			case err != nil && !failed:
				t.Errorf("%s ends without a verdict: %v\n%s", run, err, out)
			}
		})
	}
}

// runMistaken runs the tests of pkg with m in the code, and returns what they print.
func runMistaken(t *testing.T, root, pkg, run string, env []string, m Mistake) (string, error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mistaken.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "-tags", "mistaken", "-overlay", overlay(t, root, m), pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mistake does not compile: %v\n%s", err, out)
	}
	test := exec.Command(binary, "-test.run", run, "-test.short", "-test.failfast", "-test.timeout", "10m")
	test.Dir = filepath.Join(root, strings.TrimPrefix(pkg, "./"))
	test.Env = append(os.Environ(), env...)
	out, err := test.CombinedOutput()
	return string(out), err
}

// overlay writes the mistaken files, and returns the path of the list with which
// go build uses them.
func overlay(t *testing.T, root string, m Mistake) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		from := path
		if mistaken, ok := replace[path]; ok {
			from = mistaken
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			t.Fatalf("%s has %d places with\n%s\nwant one: the mistake must follow the code", e.file, n, e.old)
		}
		mistaken := filepath.Join(dir, strings.ReplaceAll(e.file, "/", "_"))
		if err := os.WriteFile(mistaken, []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = mistaken
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
