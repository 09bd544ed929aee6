package whole_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// childVariable is the URL of the store that this program, started again as a child, writes
// to until it is killed.
const childVariable = "RINGTREE_WHOLE_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		s, err := kvopen.Store(ctx, url, all.Engines)
		if err == nil {
			err = whole.WriteUntilKilled(ctx, s, "", uint64(os.Getpid()), os.Stdout)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if err := proveAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestKill_AFileIsRightAfterAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	for round := range 4 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=bolt:"+path+"?durability=unsynced")
		must(t, whole.Kill(child, time.Duration(50+50*round)*time.Millisecond))
		s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
		must(t, err)
		healed, err := whole.Heal(ctx, s, "", 20*time.Second)
		must(t, err)
		for _, wrong := range healed.Wrong {
			t.Errorf("round %d: %s", round, wrong)
		}
		t.Logf("round %d: right after %v", round, healed.Took)
	}
}
