package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/codegen"
)

var (
	goBlock  = regexp.MustCompile("(?ms)^```go\n(.*?)^```$") // blocks with a name are run as files
	referred = regexp.MustCompile(`(?:with|count)=(\w+)(?:\.(\w+))?`)
)

// kvgen accepts every model in the docs, unless it is in the code of this module. A block that
// names the model of another gets one beside it.
func TestDocs_ModelsAreThoseThatKvgenTakes(t *testing.T) {
	app, err := newApp("../..")
	must(t, err)
	dir := t.TempDir()
	must(t, app.write(dir))
	code := codeIn(t, app.root)
	count := 0
	for _, page := range pages(t, app.root) {
		text, err := os.ReadFile(filepath.Join(app.root, page))
		must(t, err)
		for _, m := range goBlock.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "kv:\"") || strings.Contains(code, plainly(m[1])) {
				continue
			}
			count++
			name := fmt.Sprintf("%s%d", strings.NewReplacer(".", "", "-", "", "/", "").Replace(page), count)
			must(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
			must(t, os.WriteFile(filepath.Join(dir, name, "models.go"), []byte(modelsIn(m[1])), 0o666))
		}
	}
	if count == 0 {
		t.Error("the docs have no models")
	}
	for _, name := range goEnv(t) {
		key, value, _ := strings.Cut(name, "=")
		t.Setenv(key, value)
	}
	if err := (codegen.Run{Dir: dir, Patterns: []string{"./..."}}).Generate(); err != nil {
		t.Error(err)
	}
}

// codeIn collapses white space.
func codeIn(t *testing.T, root string) string {
	var code strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		code.WriteString(plainly(string(text)) + " ")
		return err
	})
	must(t, err)
	return code.String()
}

func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }

func modelsIn(block string) string {
	var decls []string
	declared := map[string]bool{}
	for paragraph := range strings.SplitSeq(block, "\n\n") {
		word, rest, _ := strings.Cut(paragraph, " ")
		switch word {
		case "type":
			name, _, _ := strings.Cut(rest, " ")
			declared[name] = true
			fallthrough
		case "func", "//":
			decls = append(decls, paragraph)
		}
	}
	for _, m := range referred.FindAllStringSubmatch(block, -1) {
		if declared[m[1]] {
			continue
		}
		declared[m[1]] = true
		counter := ""
		if m[2] != "" {
			counter = fmt.Sprintf("\n\t%s int64 `kv:\"counter\"`", m[2])
		}
		decls = append(decls, fmt.Sprintf("type %s struct {\n\tID string `kv:\"id\"`%s\n}", m[1], counter))
	}
	head := "package models\n\n"
	if strings.Contains(block, "time.") {
		head += "import \"time\"\n\n"
	}
	return head + strings.Join(decls, "\n\n")
}

func pages(t *testing.T, root string) []string {
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		all, err := fs.Glob(os.DirFS(root), pattern)
		must(t, err)
		found = append(found, all...)
	}
	return found
}
