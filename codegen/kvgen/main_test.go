package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
)

// TestMain puts kvgen on the PATH, for scripts and for new sites.
func TestMain(m *testing.M) { testscript.Main(tests{m}, map[string]func(){"kvgen": main}) }

type tests struct{ *testing.M }

func (t tests) Run() int {
	defer func() {
		browser.End()
		os.RemoveAll(common.dir)
	}()
	return t.M.Run()
}

// Each file of testdata/script tests the behavior in its first line.
func TestLong_Scripts(t *testing.T) {
	app, err := newApp("../..")
	must(t, err)
	c, vars := &compiler{root: app.root}, goEnv(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		WorkdirRoot:   withinAModule(t),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(append(e.Vars, vars...), "LIBRARY="+app.root)
			e.Values["vars"] = e.Vars
			return app.write(e.WorkDir)
		},
		Condition: func(cond string) (bool, error) {
			if cond != "prove" {
				return false, errors.New("want [prove], for what make test leaves out")
			}
			return proof.Long(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"go": app.command, "library": app.require, "compiles": c.compiles, "within": within, "lines": lines},
	})
}

// withinAModule returns a directory that is part of a module, as any temporary one may be.
func withinAModule(t *testing.T) string {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module above\n"), 0o666))
	scripts := filepath.Join(dir, "scripts")
	must(t, os.Mkdir(scripts, 0o777))
	return scripts
}

// goEnv gives scripts the caches of the go command and its proxy. With -trimpath, an unchanged
// script is not built again, and with GOGC a changed one is built in less time.
func goEnv(t *testing.T) []string {
	all := []string{"GOFLAGS=-trimpath", "GOWORK=off", "GOTOOLCHAIN=local", "GOGC=400"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB"} {
		value, err := exec.Command("go", "env", name).Output()
		must(t, err)
		all = append(all, name+"="+strings.TrimSpace(string(value)))
	}
	return all
}

// An app is the files of a module: without the library, which is enough for kvgen and is listed
// fast, or with it.
type app struct {
	root       string // of the library
	alone, mod []byte
	sum        []byte
}

const library = "github.com/ringtree/ringtree"

// newApp repeats the requirements of the library in root, so that nothing has to be looked up.
func newApp(root string) (app, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return app{}, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return app{}, err
	}
	mod = bytes.Replace(mod, []byte("module "+library+"\n"), []byte("module example.com/app\n"), 1)
	alone, _, _ := bytes.Cut(mod, []byte("require"))
	mod = fmt.Appendf(slices.Clip(mod), "\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", library, root)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	return app{root, alone, mod, sum}, err
}

// write makes dir the module, unless the script has brought one.
func (a app) write(dir string) error {
	path := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return os.WriteFile(path, a.alone, 0o666)
}

// require puts the library into the module of a script.
func (a app) require(ts *testscript.TestScript, _ bool, _ []string) {
	path := filepath.Join(ts.Getenv("WORK"), "go.mod")
	text, err := os.ReadFile(path)
	ts.Check(err)
	if bytes.Equal(text, a.alone) {
		ts.Check(errors.Join(os.WriteFile(path, a.mod, 0o666), os.WriteFile(filepath.Join(filepath.Dir(path), "go.sum"), a.sum, 0o666)))
	}
}

// command is the go command, with the library in the module of the script.
func (a app) command(ts *testscript.TestScript, neg bool, args []string) {
	a.require(ts, neg, args)
	if err := ts.Exec("go", args...); (err != nil) != neg {
		ts.Fatalf("go %v: %v", args, err)
	}
}

// within fails if a command uses more processor time than its first argument. Wall time would
// depend on the machine's other work.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), ts.Value("vars").([]string)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("%v: %v\n%s", args[1:], err, out)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	ts.Logf("%v used %v of processor time and took %v", args[1:], used, time.Since(start))
	if used > limit {
		ts.Fatalf("%v used %v of processor time, more than %v", args[1:], used, limit)
	}
}

// lines fails if its first argument, a file, has more lines than its second argument from the line
// that starts with the third to that with the fourth.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := strconv.Atoi(args[1])
	ts.Check(err)
	_, text, begins := strings.Cut(ts.ReadFile(args[0]), "\n"+args[2])
	text, _, ends := strings.Cut(text, "\n"+args[3])
	if !begins || !ends {
		ts.Fatalf("%s has no lines from %q to %q", args[0], args[2], args[3])
	}
	count := strings.Count(strings.TrimSpace(text), "\n") + 1
	ts.Logf("%s has %d lines from %q to %q", args[0], count, args[2], args[3])
	if count > limit {
		ts.Fatalf("%s has %d lines from %q to %q, more than %d", args[0], count, args[2], args[3], limit)
	}
}
