package ranking_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/ranking"
)

// These variables turn the test program into a child that counts until killed.
const (
	childFile  = "RANKING_CHILD_FILE"
	childBatch = "RANKING_CHILD_BATCH"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		panic(countUntilKilled(path, os.Getenv(childBatch)))
	}
	os.Exit(m.Run())
}

const killedMembers = 10

var batches = map[string]ranking.Batch{"windowed": ranking.Windowed, "sampled": ranking.Sampled, "every": ranking.Every}

// countUntilKilled counts members in turn, on boards by a counter, and prints a line for each
// round.
func countUntilKilled(path, batch string) error {
	s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return err
	}
	a := openArticles(s, batches[batch])
	for i := range killedMembers {
		if _, err := a.Upsert(ctx, memberID(i), func(*article) error { return nil }); err != nil {
			return err
		}
	}
	for round := 1; ; round++ {
		for i := range killedMembers {
			if err := a.views.Hit(ctx, memberID(i)); err != nil {
				return err
			}
		}
		fmt.Println(round)
		time.Sleep(5 * time.Millisecond)
	}
}

func memberID(i int) string { return fmt.Sprint("m", i) }

// runChild lets a child count for a while and kills it. It returns how many rounds the child had
// reported by that time before its end.
func runChild(t *testing.T, path, batch string, life, before time.Duration) (early int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path, childBatch+"="+batch)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	type told struct {
		round int64
		at    time.Time
	}
	var tale []told
	var end time.Time
	// Lines that were written but not yet read when the child died count too.
	for lines := bufio.NewScanner(out); lines.Scan(); {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		must(t, err)
		tale = append(tale, told{n, time.Now()})
		if end.IsZero() && time.Since(tale[0].at) > life {
			end = time.Now()
			must(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait() // It says that the child was killed.
	for _, line := range tale {
		if end.Sub(line.at) >= before {
			early = line.round
		}
	}
	return early
}

func TestBatch_AKilledProcessLosesNoMoreThanItsWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("not tested: a child must live for longer than a window, for each batch (-short)")
	}
	const life, window = 4 * time.Second, 2500 * time.Millisecond
	for name, batch := range batches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "killed.bolt")
			early := runChild(t, path, name, life, window)
			if early == 0 {
				t.Fatal("the child counted no round early")
			}
			s, err := boltkv.Open(path, boltkv.Options{})
			must(t, err)
			a := openArticles(s, batch)
			checkBoardOfKilled(t, a, batch, early)
			if err := a.db.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkBoardOfKilled asserts that a board has what was counted early, and everything after the next
// count.
func checkBoardOfKilled(t *testing.T, a *articles, batch ranking.Batch, early int64) {
	t.Helper()
	scores := func() map[string]int64 {
		places, err := a.TopViews.At(ctx, 1, 2*killedMembers)
		must(t, err)
		scores := make(map[string]int64)
		for _, p := range places {
			scores[p.Item.ID] = p.Score
		}
		return scores
	}
	if batch != ranking.Sampled {
		for i := range killedMembers {
			if got := scores()[memberID(i)]; got < early {
				t.Errorf("%s stands at %d, and %d were counted early", memberID(i), got, early)
			}
		}
		for i := range killedMembers {
			must(t, a.views.Hit(ctx, memberID(i)))
		}
		flush(t, a)
	}
	now := scores()
	for i := range killedMembers {
		counts, err := a.views.Counts(ctx, a.db.Store(), []string{memberID(i)})
		must(t, err)
		if batch != ranking.Sampled && now[memberID(i)] != counts[0] || now[memberID(i)] > counts[0] {
			t.Errorf("%s stands at %d and was counted %d times", memberID(i), now[memberID(i)], counts[0])
		}
	}
}
