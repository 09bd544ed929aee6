package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
// As a build takes seconds, the short cut only checks that each mistake is still
// one of the code: that each text it replaces occurs once.
//
// A test file that is slow to build and of no use here, such as one that imports
// all backends, has the line go:build !mistaken.
func Mistakes(t *testing.T, pkg, run string, env []string, mistakes []Mistake) {
	root := moduleRoot(t)
	for _, m := range mistakes {
		if _, err := m.wrong(root); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return
	}
	right := Mistake{name: "none at all"}
	for m := range Part(t, nil, append([]Mistake{right}, mistakes...)) {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
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
	// What a mistake needs to be noticed is in env, not in how much is proved.
	test.Env = slices.Concat(os.Environ(), []string{"RINGTREE_NEAR="}, env, []string{Prove + "="})
	out, err := test.CombinedOutput()
	return string(out), err
}

// overlay writes the mistaken files, and returns the path of the list with which
// go build uses them.
func overlay(t *testing.T, root string, m Mistake) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	texts, err := m.wrong(root)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range texts {
		mistaken := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(mistaken, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, file)] = mistaken
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

// wrong returns the text of each mistaken file. It fails if the text to replace does
// not occur once.
func (m Mistake) wrong(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		text, ok := texts[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s: %s has %d places with\n%s\nwant one: the mistake must follow the code", m.name, e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return texts, nil
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
