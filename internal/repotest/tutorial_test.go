package repotest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
)

func TestTutorial_RunsAsItIsWritten(t *testing.T) { follow(t, "docs/tutorial.md", 20) }

func TestDeploying_RunsAsItIsWritten(t *testing.T) { follow(t, "docs/deploying.md", 12) }

// follow makes each file and change, and types each command into one shell; those that go on have a
// terminal of their own.
func follow(t *testing.T, page string, least int) {
	for _, program := range []string{"redis-server", "curl"} {
		servers.Need(t, program)
	}
	r := startReader(t)
	all := blocks()
	steps := 0
	for i, b := range all {
		if b.file != page {
			continue
		}
		steps++
		var err error
		said := ""
		switch b.kind + " " + b.name {
		case "sh runs":
			err = r.start(b.text)
		case "sh stopped":
			r.stop()
			fallthrough
		case "sh ":
			said, err = r.types(b.text)
		case "output ":
			continue
		default:
			err = r.edits(b)
		}
		if err != nil {
			t.Fatalf("%s: %v", b.place(), err)
		}
		want := ""
		if i+1 < len(all) && all[i+1].kind == "output" {
			want = all[i+1].text
		}
		proof.NoDiff(t, cmp.Diff(want, said), "%s: output", b.place())
	}
	if steps < least {
		t.Errorf("%s has %d blocks: is it the page that is meant?", page, steps)
	}
}

type reader struct {
	*testing.T
	dir   string
	ports *strings.Replacer
	shell *exec.Cmd
	in    *os.File
	out   *bufio.Reader
	runs  *exec.Cmd // in the first terminal
}

func startReader(t *testing.T) *reader {
	root, err := os.Getwd()
	must(t, err)
	dir := t.TempDir()
	must(t, os.Symlink(root, filepath.Join(dir, "ringtree")))
	ports, err := servers.FreePorts(3)
	must(t, err)
	r := &reader{T: t, dir: dir, ports: strings.NewReplacer("8080", ports[0], "7000", ports[1], "7001", ports[2])}
	input, in, err := os.Pipe()
	must(t, err)
	r.in = in
	r.shell = exec.Command("bash", "-eu")
	r.shell.Dir, r.shell.Stdin = dir, input
	r.shell.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "PWD="+dir)
	out, err := r.shell.StdoutPipe()
	must(t, err)
	var messages strings.Builder
	r.shell.Stderr = &messages
	r.out = bufio.NewReader(out)
	must(t, r.shell.Start())
	input.Close()
	t.Cleanup(func() {
		r.stop()
		in.Close()
		err := r.shell.Wait()
		if t.Failed() {
			t.Logf("the shell ended with %v, and had said:\n%s", err, messages.String())
		}
	})
	return r
}

const prompt = "ringtree: what was typed is done"

func (r *reader) types(text string) (string, error) {
	fmt.Fprintf(r.in, "%s\necho '%s'\n", r.ports.Replace(text), prompt)
	said := ""
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			return said, fmt.Errorf("a command failed; before, they printed %q", said)
		}
		if line == prompt+"\n" {
			return said, nil
		}
		said += line
	}
}

func (r *reader) start(text string) error {
	r.stop()
	c := exec.Command("bash", "-euc", "exec "+r.ports.Replace(strings.Replace(text, "go run .", "go run . -addr 127.0.0.1:8080", 1)))
	c.Dir = filepath.Join(r.dir, "wiki")
	c.Env = append(r.shell.Env, "PWD="+c.Dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	messages, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	r.runs = c
	all := ""
	for lines := bufio.NewScanner(messages); lines.Scan(); {
		all += lines.Text() + "\n"
		if regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).MatchString(lines.Text()) {
			return nil
		}
	}
	return errors.New("it ended: " + all)
}

func (r *reader) stop() {
	if r.runs == nil {
		return
	}
	if err := syscall.Kill(-r.runs.Process.Pid, syscall.SIGINT); err != nil {
		r.Error(err)
	}
	r.runs.Wait()
	r.runs = nil
}

func (r *reader) edits(b block) error {
	path := filepath.Join(r.dir, "wiki", b.name)
	if b.kind != "diff" {
		return os.WriteFile(path, []byte(b.text), 0o644)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var before, after strings.Builder
	for line := range strings.Lines(b.text) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	if n := strings.Count(string(text), before.String()); n != 1 {
		return fmt.Errorf("%s has these lines %d times, want once:\n%s", b.name, n, before.String())
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), before.String(), after.String(), 1)), 0o644)
}

var must = proof.Must
