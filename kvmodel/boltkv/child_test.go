package boltkv_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/crash"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// children are what this test binary does instead of testing if the environment
// names one of them and a path.
var children = map[string]func(path string) error{
	"write": writeForEver,
	"open":  openForAnother,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv("BOLTKV_CHILD")]
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(os.Getenv("BOLTKV_PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(name, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOLTKV_CHILD="+name, "BOLTKV_PATH="+path)
	return cmd
}

// writeForEver writes to a store that moves what it holds to the tree all the time.
func writeForEver(path string) error {
	s, err := boltkv.OpenQuick(path, boltkv.Options{}, new(atomic.Int64))
	if err != nil {
		return err
	}
	return crash.Write(s, os.Stdout)
}

// openForAnother prints the error of opening a file that another process has
// open. It fails if that took much longer than it waits for the other to end.
func openForAnother(path string) error {
	start := time.Now()
	s, err := boltkv.Open(path, boltkv.Options{})
	if err == nil {
		return s.Close()
	}
	if took := time.Since(start); took > 20*time.Second {
		return fmt.Errorf("%w, after %v", err, took)
	}
	fmt.Print(err)
	return nil
}

func TestOpen_SecondProcessIsToldWithinASecond(t *testing.T) {
	path := t.TempDir() + "/store.db"
	openAt(t, path, boltkv.Options{})
	out, err := childCommand("open", path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	if want := "boltkv: open " + path + ": it is open in another process"; string(out) != want {
		t.Errorf("the second process got %q, want %q", out, want)
	}
}

// BOLTKV_KILLS sets the number of kills; the default is 6.
func TestStore_KilledProcessLosesNothingItAcknowledged(t *testing.T) {
	kills := 6
	if text := os.Getenv("BOLTKV_KILLS"); text != "" {
		kills = must(strconv.Atoi(text))
	}
	seed := uint64(time.Now().UnixNano())
	path := t.TempDir() + "/store.db"
	report, err := crash.Kill(kills, seed,
		func() *exec.Cmd { return childCommand("write", path) },
		func() (kv.Store, error) { return boltkv.Open(path, boltkv.Options{}) })
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	t.Logf("seed %d: %d kills, %d acknowledged writes, %d lost, %d torn",
		seed, report.Kills, report.Acked, len(report.Lost), len(report.Torn))
}
