package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var docsFigures = []func(*bench) error{newSite, firstProgram, fragments}

// newSite reports what it takes to get from a clone to the first page of a site: commands, and
// seconds of processor time with an empty build cache.
func newSite(b *bench) error {
	clone, err := b.clone()
	if err != nil {
		return err
	}
	site := filepath.Join(b.dir, "wiki")
	cold := coldCache(b)
	made, err := cold.run(clone, "go", "run", "./codegen/kvgen", "new", site)
	if err != nil {
		return err
	}
	built, err := cold.run(site, "go", "build", "-o", "site", ".") // as go run does, which does not end
	if err != nil {
		return err
	}
	const commands = 3 // between these two, cd
	b.report("docs: commands from a clone to the first page", commands, atMost(4))
	b.report("docs: processor seconds of these, nothing cached", (made + built).Seconds(), target{}.in("s"))
	return b.reportSize("docs: megabytes of the new site's program", filepath.Join(site, "site"))
}

// firstProgram reports what the program of docs/quickstart.md takes.
func firstProgram(b *bench) error {
	clone, err := b.clone()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(clone, "docs", "quickstart.md"))
	if err != nil {
		return err
	}
	script := "cd " + b.dir + "\n"
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		switch kind, name, _ := strings.Cut(m[1], " "); {
		case kind == "go":
			script += "cat >" + name + " <<'END OF FILE'\n" + m[2] + "END OF FILE\n"
		case kind == "sh":
			script += strings.ReplaceAll(strings.ReplaceAll(m[2], "=../ringtree\n", "="+clone+"\n"), "mkdir wiki && cd wiki", "mkdir first && cd first")
		}
	}
	used, err := coldCache(b).run(b.dir, "bash", "-euc", script+"go build -o first .\n")
	if err != nil {
		return err
	}
	b.report("docs: processor seconds of the first program, nothing cached", used.Seconds(), target{}.in("s"))
	return b.reportSize("docs: megabytes of the first program", filepath.Join(b.dir, "first", "first"))
}

// fence is a block of a page.
var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// fragments reports how many blocks of Go in the docs are run or compiled by a test: programs,
// files, and what stands in the code of this module as well.
func fragments(b *bench) error {
	clone, err := b.clone()
	if err != nil {
		return err
	}
	code, err := b.texts(clone, "*.go", "*.tmpl")
	if err != nil {
		return err
	}
	pages, err := b.texts(clone, "*.md")
	if err != nil {
		return err
	}
	all, held := 0, 0
	for _, m := range fence.FindAllStringSubmatch(pages, -1) {
		if kind, name, _ := strings.Cut(m[1], " "); kind == "go" {
			all++
			if name != "" || strings.HasPrefix(m[2], "package main\n") || isIn(m[2], code) {
				held++
			}
		}
	}
	b.report("docs: blocks of Go", float64(all), target{})
	b.report("docs: of these, not run, or not part of code that is", float64(all-held), exactly(0))
	return nil
}

// isIn reports whether each paragraph of a block stands in code.
func isIn(block, code string) bool {
	for paragraph := range strings.SplitSeq(block, "\n\n") {
		if !strings.Contains(code, plainly(paragraph)) {
			return false
		}
	}
	return true
}

// plainly returns text with one blank for each row of white space.
func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }

// texts returns the files of the clone that match patterns, one after another.
func (b *bench) texts(clone string, patterns ...string) (string, error) {
	c := exec.CommandContext(b.ctx, "git", append([]string{"ls-files"}, patterns...)...)
	c.Dir = clone
	names, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	var all strings.Builder
	for name := range strings.Lines(string(names)) {
		text, err := os.ReadFile(filepath.Join(clone, strings.TrimSpace(name)))
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(name, ".md\n") {
			all.Write(text)
			continue
		}
		all.WriteString(plainly(string(text)) + " ")
	}
	return all.String(), nil
}

// clone returns the directory of this module's root.
func (b *bench) clone() (string, error) {
	dir, err := b.goCommand("list", "-m", "-f", "{{.Dir}}", "github.com/ringtree/ringtree")
	return string(bytes.TrimSpace(dir)), err
}

// cold runs commands with a build cache of its own, which is empty at first.
type cold struct {
	*bench
	cache string
}

func coldCache(b *bench) cold {
	cache, _ := os.MkdirTemp(b.dir, "cache")
	return cold{b, cache}
}

// run runs a command and returns the processor time that it, and what it ran, have used.
func (c cold) run(dir string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(c.ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOCACHE="+c.cache, "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%s: %w", strings.Join(args, " "), err), errors.New(string(out)))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// reportSize reports how large a file is.
func (b *bench) reportSize(name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b.report(name, float64(info.Size())/1e6, target{}.varying())
	return nil
}
