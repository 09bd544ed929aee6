package repotest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	modules "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/release"
)

var releases = map[string]modules.Version{
	".":                   {Path: "github.com/ringtree/ringtree", Version: release.Version},
	"adapters/otel":       {Path: "github.com/ringtree/ringtree/adapters/otel", Version: release.Version},
	"adapters/prometheus": {Path: "github.com/ringtree/ringtree/adapters/prometheus", Version: release.Version},
}

// A program of someone else gets the module, its tools and its adapters by their version, from a
// proxy made of this tree.
func TestLong_ReleaseCanBeGotByItsVersion(t *testing.T) {
	for range proof.Rounds(t, 0, 1) {
		getRelease(t)
	}
}

func getRelease(t *testing.T) {
	proxy, cache := t.TempDir(), t.TempDir()
	for dir, m := range releases {
		must(t, publish(proxy, dir, m))
		needs := exec.Command("go", "list", "-deps", "./...") // downloads missing modules
		needs.Dir = dir
		if out, err := needs.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", dir, err, out)
		}
	}
	known, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	downloads := "file://" + filepath.ToSlash(filepath.Join(strings.TrimSpace(string(known)), "cache", "download"))
	work := t.TempDir()
	script := `
mkdir app && cd app
go mod init example.com/app
go get github.com/ringtree/ringtree@$VERSION
go get -tool github.com/ringtree/ringtree/codegen/kvgen@$VERSION
go get github.com/ringtree/ringtree/adapters/otel@$VERSION github.com/ringtree/ringtree/adapters/prometheus@$VERSION
cat >page.go <<'END'
package main

` + "//go" + `:generate go tool kvgen

type Page struct {
	ID    string ` + "`kv:\"id\"`" + `
	Title string ` + "`kv:\"unique\"`" + `
}
END
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/adapters/otel"
	"github.com/ringtree/ringtree/adapters/prometheus"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

func main() {
	_, _ = kvotel.Spans, kvprometheus.New
	ctx := context.Background()
	db, err := kvopen.Open(ctx, "mem:")
	if err != nil {
		panic(err)
	}
	pages := New(db).Pages
	fmt.Println(pages.Create(ctx, &Page{Title: "Home"}))
	page, err := pages.ByTitle.Find(ctx, "Home")
	fmt.Println(page.Title, err)
}
END
go generate
go get .
go run .

cd ..
go install github.com/ringtree/ringtree/codegen/kvgen@$VERSION
bin/kvgen new wiki
cd wiki
grep -c replace go.mod || true
go vet ./...
`
	c := exec.CommandContext(t.Context(), "bash", "-euc", script)
	c.Dir = work
	// The library is compiled once more, under the paths of a module cache, but none of its
	// dependencies.
	c.Env = append(os.Environ(), "VERSION="+release.Version, "GOPROXY=file://"+filepath.ToSlash(proxy)+","+downloads, "GOSUMDB=off", "GONOSUMDB=", "GOFLAGS=-trimpath -modcacherw",
		"GOMODCACHE="+cache, "GOBIN="+filepath.Join(work, "bin"), "GOWORK=off", "GOTOOLCHAIN=local", "GOGC=400")
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w:\n%s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.HasPrefix(string(out), "<nil>\nHome <nil>\nwiki is a site.") || !strings.HasSuffix(string(out), "\n0\n") {
		t.Errorf("the program and the site said\n%s", out)
	}
}

func publish(proxy, dir string, m modules.Version) error {
	at := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(at, "list"), []byte(m.Version+"\n"), 0o644),
		os.WriteFile(filepath.Join(at, m.Version+".mod"), mod, 0o644),
		os.WriteFile(filepath.Join(at, m.Version+".info"), info, 0o644),
		zip.CreateFromDir(archive, m, dir),
		archive.Close(),
	)
}
