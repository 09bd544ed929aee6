package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"kvgen": main}) }

// TestScripts runs testdata/script: one behaviour a file, which its first line says.
func TestScripts(t *testing.T) {
	library, err := filepath.Abs("testdata/runtime")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, goEnv(t)...)
			e.Values["vars"] = e.Vars
			return writeModule(e.WorkDir, library)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"within": within, "lines": lines},
	})
}

// goEnv returns the environment in which the go command of a script finds its
// caches and downloads nothing.
func goEnv(t *testing.T) []string {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1], "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local"}
}

// writeModule makes dir the module example.com/app, which finds the library at
// the directory library.
func writeModule(dir, library string) error {
	path := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	text := "module example.com/app\n\ngo 1.26\n\nrequire github.com/ringtree/ringtree v0.0.0\n\nreplace github.com/ringtree/ringtree => " + library + "\n"
	return os.WriteFile(path, []byte(text), 0o666)
}

// within runs a command of the script and fails if it, and what it runs, uses
// more processor time than its first argument: the clock would tell of the
// machine's other work.
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

// lines fails if its first argument, a file, has more lines than its second
// argument before the line that starts with the third.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := strconv.Atoi(args[1])
	ts.Check(err)
	before, _, found := strings.Cut(ts.ReadFile(args[0]), "\n"+args[2])
	if !found {
		ts.Fatalf("no line of %s starts with %q", args[0], args[2])
	}
	count := strings.Count(strings.TrimSpace(before), "\n") + 1
	ts.Logf("%s has %d lines before %q", args[0], count, args[2])
	if count > limit {
		ts.Fatalf("%s has %d lines before %q, more than %d", args[0], count, args[2], limit)
	}
}
