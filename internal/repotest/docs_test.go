package repotest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

// A block stands between fences; in ```go page.go, it is the content of a file.
type block struct {
	file string
	line int // of the opening fence
	kind string
	name string
	text string
}

func (b block) place() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

func (b block) isProgram() bool {
	return b.kind == "go" && b.name == "" && strings.HasPrefix(b.text, "package main\n")
}

func TestDocs_GoBlocksAreGoAsGofmtWritesIt(t *testing.T) {
	for _, b := range blocks() {
		if b.kind != "go" {
			continue
		}
		formatted, err := format.Source([]byte(b.text))
		if err != nil {
			t.Errorf("%s: %v", b.place(), err)
		} else if diff := cmp.Diff(string(formatted), b.text); diff != "" {
			t.Errorf("%s: mismatch (-gofmt +block):\n%s", b.place(), diff)
		}
	}
}

func TestDocs_ProgramsPrintWhatTheTextSays(t *testing.T) {
	all := blocks()
	ran := 0
	for i, b := range all {
		if !b.isProgram() {
			continue
		}
		ran++
		if i+1 == len(all) || all[i+1].file != b.file || all[i+1].kind != "output" {
			t.Errorf("%s: no block of kind output follows the program", b.place())
			continue
		}
		got, err := runProgram(t, b)
		if err != nil {
			t.Errorf("%s: %v", b.place(), err)
		}
		proof.NoDiff(t, cmp.Diff(all[i+1].text, got), "%s: output mismatch (-text +program)", b.place())
	}
	if ran == 0 {
		t.Error("no text holds a program; the README should")
	}
}

// The path is always the same, because the go command builds a program again when its path has
// changed.
func runProgram(t *testing.T, b block) (string, error) {
	path := filepath.Join(os.TempDir(), "ringtree", b.file, strconv.Itoa(b.line), "main.go")
	file, overlay := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err == nil {
		err = errors.Join(os.WriteFile(file, []byte(b.text), 0o644), os.WriteFile(overlay, list, 0o644))
	}
	if err != nil {
		return "", err
	}
	elsewhere := fmt.Sprintf(`sh -c 'cd %s && exec "$0"'`, t.TempDir())
	out, err := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, "-exec", elsewhere, path).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w:\n%s", err, exit.Stderr)
	}
	return string(out), err
}

// A reader's shell runs the first program of docs/quickstart.md in a new module, which finds the
// repository by its whole path, so the library is not built again. On a new machine, go mod tidy
// fetches modules that nothing else needs.
func TestDocs_FirstProgramRunsInANewModule(t *testing.T) {
	script, want := quickStart(blocks())
	root, err := os.Getwd()
	must(t, err)
	const beside = "=../ringtree\n"
	if !strings.Contains(script, beside) {
		t.Fatalf("the page does not replace the module by %q", beside)
	}
	script = strings.Replace(script, beside, "="+root+"\n", 1)
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOGC=400")
	var messages strings.Builder
	cmd.Stderr = &messages
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, got, messages.String())
	}
	proof.NoDiff(t, cmp.Diff(want, string(got)), "output mismatch (-page +shell)")
}

func quickStart(all []block) (script, output string) {
	for _, b := range all {
		switch {
		case b.file != "docs/quickstart.md" || output != "":
		case b.name != "":
			script += "cat >" + b.name + " <<'END OF FILE'\n" + b.text + "END OF FILE\n"
		case b.kind == "sh":
			script += b.text
		case b.kind == "output":
			output = b.text
		}
	}
	return script, output
}

// A block without a name is a program, models that a test of kvgen tries, or code of this module. A
// block with a name is a file of a page that is followed.
func TestDocs_GoBlocksAreRunOrCompiled(t *testing.T) {
	var code strings.Builder
	for _, file := range files() {
		if slices.Contains([]string{".go", ".tmpl", ".txtar"}, path.Ext(file)) {
			code.WriteString(plainly(string(read(file))) + " ")
		}
	}
	count := 0
	for _, b := range blocks() {
		if b.kind != "go" {
			continue
		}
		count++
		if b.isProgram() || b.name != "" {
			continue
		}
		for paragraph := range strings.SplitSeq(b.text, "\n\n") {
			if !strings.Contains(paragraph, "`kv:") && !strings.Contains(code.String(), plainly(paragraph)) {
				t.Errorf("%s: this stands in no code that is compiled:\n%s", b.place(), paragraph)
			}
		}
	}
	t.Logf("%d blocks of Go", count)
}

func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	links, count := regexp.MustCompile(`\]\(([^)\s]+)\)`), 0
	for _, file := range texts() {
		for _, match := range links.FindAllStringSubmatch(string(read(file)), -1) {
			count++
			target, err := url.Parse(match[1])
			if err == nil && target.Host == "" {
				err = leads(file, target)
			}
			if err != nil {
				t.Errorf("%s: link to %s: %v", file, match[1], err)
			}
		}
	}
	if count == 0 {
		t.Error("the docs have no links")
	}
}

func leads(file string, link *url.URL) error {
	target := file
	if link.Path != "" {
		target = path.Join(path.Dir(file), link.Path)
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	if path.Ext(target) != ".md" || link.Fragment == "" {
		return nil
	}
	for _, heading := range headings.FindAllStringSubmatch(string(read(target)), -1) {
		if anchor := notInAnchors.ReplaceAllString(strings.ToLower(heading[1]), ""); strings.ReplaceAll(anchor, " ", "-") == link.Fragment {
			return nil
		}
	}
	return errors.New("no heading has this anchor")
}

var (
	headings     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func blocks() []block {
	var found []block
	for _, file := range texts() {
		var open *block
		number := 0
		for line := range strings.Lines(string(read(file))) {
			number++
			kind, isFence := strings.CutPrefix(line, "```")
			switch {
			case isFence && open == nil:
				kind, name, _ := strings.Cut(strings.TrimSpace(kind), " ")
				open = &block{file: file, line: number, kind: kind, name: name}
			case isFence:
				found = append(found, *open)
				open = nil
			case open != nil:
				open.text += line
			}
		}
	}
	return found
}
