package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/crash"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestMain(m *testing.M) {
	if os.Getenv("CRASH_CHILD") != "" {
		panic(crash.Write(memkv.New(memkv.Options{}), os.Stdout))
	}
	os.Exit(m.Run())
}

func child() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CRASH_CHILD=yes")
	return cmd
}

func TestKill_StoreThatForgetsHasLost(t *testing.T) {
	report, err := crash.Kill(3, 1, child, func() (kv.Store, error) { return memkv.New(memkv.Options{}), nil })
	proof.Must(t, err)
	if report.Acked == 0 || len(report.Lost) == 0 {
		t.Errorf("report of a store in memory: %d acknowledged, %d lost; want some of both", report.Acked, len(report.Lost))
	}
	if report.Err() == nil {
		t.Error("Err of a report with losses is nil")
	}
}

func TestKill_ChangedValueAndMissingTwinAreTorn(t *testing.T) {
	s := memkv.New(memkv.Options{})
	if err := crash.Write(s, twenty{}); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, op := range []kv.Op{kv.OpAppend("crash:item:1:3", []byte("x")), kv.OpDelete("crash:twin:0:3")} {
		proof.Done(t)(kv.One(ctx, s, op))
	}
	report, err := crash.Kill(1, 1, child, func() (kv.Store, error) { return s, nil })
	proof.Must(t, err)
	torn := strings.Join(report.Torn, "\n")
	for _, want := range []string{"writer 1 step 3: not what was written", "writer 0 step 3: its twin is 0"} {
		proof.Contains(t, torn, want)
	}
}

var errEnough = errors.New("enough")

type twenty struct{}

func (twenty) Write(p []byte) (int, error) {
	var w, n int
	if _, err := fmt.Sscanf(string(p), "%d %d", &w, &n); err != nil || n > 20 {
		return 0, errors.Join(err, errEnough)
	}
	return len(p), nil
}
