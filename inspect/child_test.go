package inspect_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// childVariable says that this program, started again as a child, ships a file until it is killed,
// from which note on, and which file.
const childVariable = "RINGTREE_INSPECT_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		os.Exit(beginShipping(context.Background(), what, json.NewEncoder(os.Stdout)))
	}
	os.Exit(m.Run())
}

// must1 is for children, which have no test to fail.
func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// child is a process.
type child struct {
	cmd  *exec.Cmd
	says *json.Decoder
}

func begin(t testing.TB, what string) *child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // It has mostly ended.
	return &child{cmd, json.NewDecoder(out)}
}

func (c *child) kill(t testing.TB) {
	t.Helper()
	must(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // It says that it was killed.
}
