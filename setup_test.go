package ringtree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a folder of programs that scripts/setup.sh finds instead of the
// real ones, so that nothing is installed by its tests.
type machine struct {
	t   *testing.T
	bin string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, tool := range []string{"bash", "env", "chmod"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	m.program("go", "")
	return m
}

// program installs a shell script under name.
func (m machine) program(name, script string) {
	m.t.Helper()
	text := "#!/usr/bin/env bash\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// user says who runs the script; only "0" is root.
func (m machine) user(id string) { m.program("id", "echo "+id) }

// packages installs an apt-get that notes its arguments in the machine's log
// and then does what script says.
func (m machine) packages(script string) {
	m.program("apt-get", fmt.Sprintf("echo \"$*\" >>%q\n%s", m.bin+"/log", script))
}

func (m machine) log() string {
	data, err := os.ReadFile(m.bin + "/log")
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(data)
}

func (m machine) setup(programs ...string) (output string, ok bool) {
	cmd := exec.Command("scripts/setup.sh", programs...)
	cmd.Env = []string{"PATH=" + m.bin}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (m machine) wantFailure(text string, programs ...string) {
	m.t.Helper()
	out, ok := m.setup(programs...)
	if ok || !strings.Contains(out, text) {
		m.t.Errorf("setup %v: ok %v, want a failure that says %q, got:\n%s", programs, ok, text, out)
	}
}

func TestSetup_NothingMissingAsksForNoPackages(t *testing.T) {
	m := newMachine(t)
	m.packages("")
	m.program("memcached", "")
	if out, ok := m.setup("memcached"); !ok || m.log() != "" {
		t.Errorf("ok %v, apt-get was called with %q:\n%s", ok, m.log(), out)
	}
}

func TestSetup_RootInstallsWhatIsMissing(t *testing.T) {
	m := newMachine(t)
	m.user("0")
	m.packages(installs(m, "redis-server", "redis-cli"))
	m.program("memcached", "")
	out, ok := m.setup("memcached", "redis-server", "redis-cli")
	if !ok {
		t.Fatalf("setup failed:\n%s", out)
	}
	if log := m.log(); !strings.Contains(log, "redis-server redis-tools") || strings.Contains(log, "memcached") || strings.Contains(log, "update") {
		t.Errorf("want one installation of redis-server and redis-tools alone, got:\n%s", log)
	}
}

func TestSetup_StalePackageListsAreFetchedOnce(t *testing.T) {
	m := newMachine(t)
	m.user("0")
	m.packages(`case "$*" in
*update*) echo >"` + m.bin + `/lists" ;;
*) [[ -e "` + m.bin + `/lists" ]] || exit 100
` + installs(m, "memcached") + ` ;;
esac`)
	if out, ok := m.setup("memcached"); !ok || strings.Count(m.log(), "update") != 1 {
		t.Errorf("ok %v, apt-get was called with:\n%s\n%s", ok, m.log(), out)
	}
}

func TestSetup_SudoWithoutPasswordInstalls(t *testing.T) {
	m := newMachine(t)
	m.user("1000")
	m.program("true", "")
	m.program("sudo", `shift; exec "$@"`)
	m.packages(installs(m, "memcached"))
	if out, ok := m.setup("memcached"); !ok {
		t.Errorf("setup failed:\n%s", out)
	}
}

func TestSetup_RefusesByNamingThePackages(t *testing.T) {
	packages := "apt-get install memcached chromium fonts-liberation"

	t.Run("no apt-get", func(t *testing.T) {
		newMachine(t).wantFailure(packages, "memcached", "chromium")
	})
	t.Run("not root, no sudo", func(t *testing.T) {
		m := newMachine(t)
		m.user("1000")
		m.packages("")
		m.wantFailure(packages, "memcached", "chromium")
	})
	t.Run("sudo wants a password", func(t *testing.T) {
		m := newMachine(t)
		m.user("1000")
		m.packages("")
		m.program("sudo", "exit 1")
		m.wantFailure(packages, "memcached", "chromium")
	})
	t.Run("apt-get fails", func(t *testing.T) {
		m := newMachine(t)
		m.user("0")
		m.packages(`case "$*" in *update*) ;; *) exit 100 ;; esac`)
		m.wantFailure(packages, "memcached", "chromium")
	})
	t.Run("the package lacks the program", func(t *testing.T) {
		m := newMachine(t)
		m.user("0")
		m.packages("")
		m.wantFailure("still not on the PATH", "memcached")
	})
}

func TestSetup_WithoutGoSaysSo(t *testing.T) {
	m := newMachine(t)
	if err := os.Remove(filepath.Join(m.bin, "go")); err != nil {
		t.Fatal(err)
	}
	m.wantFailure("Go is not installed")
}

// installs returns the script of an apt-get that brings programs.
func installs(m machine, programs ...string) string {
	var b strings.Builder
	for _, program := range programs {
		path := filepath.Join(m.bin, program)
		fmt.Fprintf(&b, "echo >%q\nchmod +x %q\n", path, path)
	}
	return b.String()
}
