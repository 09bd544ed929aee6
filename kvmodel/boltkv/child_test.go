package boltkv

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/crash"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// This test binary runs a child instead of tests if the environment names one and a path.
var children = map[string]func(path string) error{
	"write": writeForEver,
	"ship":  shipForEver,
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

func writeForEver(path string) error {
	s, err := openQuick(path, Options{})
	if err != nil {
		return err
	}
	return crash.Write(s, os.Stdout)
}

func openShipping(path string, to Folder) (*Store, error) {
	s, err := openQuick(path, Options{})
	if err != nil {
		return nil, err
	}
	go func() {
		if err := s.Ship(context.Background(), to); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	return s, nil
}

func shipForEver(path string) error {
	s, err := openShipping(path, Dir(path+".shipped"))
	if err != nil {
		return err
	}
	return crash.Write(s, os.Stdout)
}

// openForAnother prints the error of opening a file that is open in another process. It fails if
// that took too long.
func openForAnother(path string) error {
	start := time.Now()
	s, err := Open(path, Options{})
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
	t.Parallel()
	path := t.TempDir() + "/store.db"
	openAt(t, path, Options{})
	out, err := childCommand("open", path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	if want := "boltkv: open " + path + ": it is open in another process"; string(out) != want {
		t.Errorf("the second process got %q, want %q", out, want)
	}
}

func kills() int {
	switch {
	case proof.All():
		return 1000
	case proof.Long():
		return 50
	}
	return 6
}

func TestLong_Ship_KilledProcessGoesOnWhereItWas(t *testing.T) {
	proof.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	path := t.TempDir() + "/store.db"
	folder := Dir(path + ".shipped")
	s := need(openShipping(path, folder))
	until(t, func() bool { return !s.Stats().Shipping.Snapshot.IsZero() })
	must(s.Close())
	report, err := crash.Kill(kills(), seed,
		func() *exec.Cmd { return childCommand("ship", path) },
		func() (kv.Store, error) {
			s, err := openShipping(path, folder)
			if err == nil {
				until(t, func() bool { return s.Stats().Shipping.Known })
			}
			return s, err
		})
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	// Moments whose commits went with their logs, since two logs were moved before a kill. A busy
	// machine has more of them.
	gaps := 0
	for i := range kills() {
		at := report.Steps[random.IntN(len(report.Steps))].Ended
		restored := fmt.Sprint(path, ".restored", i)
		done, err := Restore(t.Context(), folder, at, restored)
		if errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), "were not shipped") {
			gaps++
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: restore as of %v: %v", seed, at, err)
		}
		if done.Known.Before(at) { // Nothing was shipped since.
			gaps++
			at = done.Known
		}
		s := need(Open(restored, Options{}))
		if err := report.CheckMoment(t.Context(), s, at); err != nil {
			t.Errorf("seed %d: restored as of %v: %v", seed, at, err)
		}
		must(s.Close())
		must(os.Remove(restored))
	}
	if gaps > kills()/2 {
		t.Errorf("seed %d: %d of %d moments are in a gap", seed, gaps, kills())
	}
	t.Logf("seed %d: %d kills, %d acknowledged writes, %d moments in a gap", seed, report.Kills, report.Acked, gaps)
}

func TestLong_KilledProcessLosesNothingItAcknowledged(t *testing.T) {
	proof.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	path := t.TempDir() + "/store.db"
	report, err := crash.Kill(kills(), seed,
		func() *exec.Cmd { return childCommand("write", path) },
		func() (kv.Store, error) { return Open(path, Options{}) })
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	t.Logf("seed %d: %d kills, %d acknowledged writes, %d lost, %d torn",
		seed, report.Kills, report.Acked, len(report.Lost), len(report.Torn))
}

// Noise returns random bytes, which nothing can make shorter.
func Noise(n int) []byte {
	buf := make([]byte, n)
	cryptorand.Read(buf)
	return buf
}
