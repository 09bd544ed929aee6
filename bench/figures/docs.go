package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var docsFigures = []func(*bench) error{newSite, firstProgram, complaints}

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
	lines, err := ownLines(site)
	if err != nil {
		return err
	}
	b.report("docs: lines of Go in the new site, without those that are generated or test it", float64(lines), atMost(400))
	return b.reportSize("docs: megabytes of the new site's program", filepath.Join(site, "site"))
}

// ownLines returns how many lines of Go in dir are those of its owner, without tests, blank
// lines and comments.
func ownLines(dir string) (lines int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if madeByProgram.Match(text) {
			return err
		}
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
				lines++
			}
		}
		return err
	})
	return lines, err
}

var madeByProgram = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

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

// docTests are the tests that hold the docs to what they say. What a test complains of is
// counted.
var docTests = []struct{ name, dir, test string }{
	{"docs: parts of Go blocks that nothing runs or compiles", ".", "TestDocs_GoBlocksAreRunOrCompiled"},
	{"docs: models that kvgen does not take", "codegen/kvgen", "TestDocs_ModelsAreThoseThatKvgenTakes"},
	{"docs: exported types and functions without an example", ".", "TestDocs_ExportedTypesAndFunctionsHaveExamples"},
	{"docs: broken links", ".", "TestDocs_LinksLeadSomewhere"},
	{"docs: steps of the tutorial that fail", ".", "TestTutorial_RunsAsItIsWritten"},
	{"docs: differences between its tables and what is measured", "bench/costs", "TestPage_IsCurrent|TestDocs_TripsAreThoseThatAreMeasured|TestPlan_TripsAreThoseThatAreMeasured"},
}

var complaint = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: `)

// complaints reports what the tests of the docs complain of.
func complaints(b *bench) error {
	clone, err := b.clone()
	if err != nil {
		return err
	}
	for _, t := range docTests {
		c := exec.CommandContext(b.ctx, "go", "test", "-count=1", "-run", "^("+t.test+")$", ".")
		c.Dir = filepath.Join(clone, t.dir)
		out, err := c.CombinedOutput()
		found := len(complaint.FindAll(out, -1))
		if err != nil && found == 0 {
			return fmt.Errorf("%s: %w\n%s", t.test, err, out)
		}
		if err == nil {
			found = 0
		}
		b.report(t.name, float64(found), exactly(0))
	}
	return nil
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
