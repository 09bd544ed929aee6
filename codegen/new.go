package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/site"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const (
	ringtree = "github.com/ringtree/ringtree"
	templ    = "github.com/a-h/templ"
)

type New struct {
	Dir     string // created, or empty
	Module  string // "": the name of the directory
	Replace string // the clone of ringtree to use; "": the running release, or the clone it runs in
}

// Write writes the site. The commands in its errors can be repeated by hand.
func (n New) Write() error {
	if n.Dir == "" {
		return errors.New("kvgen new needs the directory of the site")
	}
	// In a directory reached by a link, .. has the meaning of a shell.
	dir, err := filepath.Abs(n.Dir)
	if err != nil {
		return err
	}
	s, err := n.site(dir)
	if err != nil {
		return err
	}
	all, err := s.Files()
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Path = filepath.Join(dir, all[i].Path)
	}
	if err := output.CreateAll(all); err != nil {
		return err
	}
	models := Run{Dir: dir, Patterns: []string{"./models"}}
	if err := models.Generate(); err != nil {
		return err
	}
	if _, _, err := models.Scaffold("Post", Access{}); err != nil {
		return err
	}
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir = dir
	if out, err := tidy.CombinedOutput(); err != nil {
		return fmt.Errorf("%s is written, but its dependencies could not be found: run go mod tidy there\n%s", n.Dir, out)
	}
	return nil
}

func (n New) site(dir string) (site.Site, error) {
	err := n.empty(dir)
	if err != nil {
		return site.Site{}, err
	}
	s := site.Site{Name: filepath.Base(dir)}
	s.Module = cmp.Or(n.Module, s.Name)
	if err := module.CheckImportPath(s.Module); err != nil {
		return site.Site{}, fmt.Errorf("%s is not a valid module name: pass one with -module (%w)", s.Module, err)
	}
	s.Version, s.Templ = versions()
	s.Replace, err = n.replaced(dir, s.Version)
	if s.Replace != "" {
		s.Version = "v0.0.0"
	}
	return s, err
}

func (n New) empty(dir string) error {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(all) > 0 {
		return fmt.Errorf("%s is not empty: choose a new directory for the site", n.Dir)
	}
	return err
}

func versions() (own, templs string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		switch m.Path {
		case ringtree:
			own = m.Version
		case templ:
			templs = m.Version
		}
	}
	return own, templs
}

// replaced returns the directory of ringtree, relative to dir; "" means the release called version.
func (n New) replaced(dir, version string) (string, error) {
	clone := n.Replace
	if clone == "" {
		clone = cloneAround()
	}
	if clone == "" {
		if !semver.IsValid(version) || semver.Build(version) != "" {
			return "", errors.New("this kvgen is not a release: pass a clone of ringtree with -replace")
		}
		return "", nil
	}
	clone, err := filepath.Abs(clone)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(clone, "codegen", "kvgen")); err != nil {
		return "", fmt.Errorf("%s is not a clone of ringtree: %w", clone, err)
	}
	if below, err := filepath.Rel(dir, clone); err == nil {
		clone = below
	}
	return filepath.ToSlash(clone), nil
}

// cloneAround returns the clone around the working directory, or "".
func cloneAround() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if path, dir, ok := strings.Cut(strings.TrimSpace(string(out)), " "); err == nil && ok && path == ringtree {
		return dir
	}
	return ""
}
