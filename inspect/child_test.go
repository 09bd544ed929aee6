package inspect_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childVariable says what this program, started again as a child, does until it is killed: the
// name of one of children, and what it does that with.
const childVariable = "RINGTREE_INSPECT_CHILD"

// children return their exit codes.
var children = map[string]func(ctx context.Context, what string, say *json.Encoder) int{
	"app": beginApp, "ship": beginShipping,
}

func TestMain(m *testing.M) {
	if name, what, is := strings.Cut(os.Getenv(childVariable), " "); is {
		os.Exit(children[name](context.Background(), what, json.NewEncoder(os.Stdout)))
	}
	os.Exit(m.Run())
}

// tell says what now returns, many times a second and when stop is called.
func tell[T any](say *json.Encoder, now func() T) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
			case <-done:
				_ = say.Encode(now())
				return
			}
			_ = say.Encode(now())
		}
	}()
	return func() {
		close(done)
		<-ended
	}
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

func begin(t testing.TB, name, what string) *child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+name+" "+what)
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
