package whole_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// smallDisk is set in a process whose TMPDIR is a disk of a few MB.
const smallDisk = "RINGTREE_WHOLE_SMALL_DISK"

// fillTheDisk plays the card again in a process with a small disk.
func fillTheDisk(t *testing.T, s *site, card string) {
	if os.Getenv(smallDisk) == "" {
		s.furnish()
		onSmallDisk(t)
		return
	}
	s.dir = os.TempDir() // The path must be short enough for a socket.
	s.url = "bolt:" + s.at("app.db")
	s.furnish()
	s.app(func(l *whole.Library) {
		defer inspect.Serve(ctx, l.DB, s.at("app.db"))()
		fillUp(t, s.at("ballast"))
		written := writeUntilFull(t, s, l)
		for i := range written {
			v, err := l.Works.Get(ctx, fmt.Sprint("full-", i))
			must(t, err)
			if v.Author != "ann" {
				t.Errorf("work %d is by %q", i, v.Author)
			}
		}
		s.sees(1, "no space left on device", "status")
		s.leavesNothing("export", s.at("FILE"))
		s.leavesNothing("export", s.at("works.csv"), "Work", "--format=csv")
		s.leavesNothing("backup", s.at("FILE"))
		must(t, os.Remove(s.at("ballast")))
		must(t, l.Works.Create(ctx, fullWork(written)))
		s.follow(card)
		s.sees(0, "is whole", "backup", s.at("FILE"))
	})
}

func fillTheServers(t *testing.T, s *site, card string) {
	limit := map[bool][2]string{
		true:  {"CONFIG SET maxmemory 3mb\r\n", "CONFIG SET maxmemory 0\r\n"},
		false: {"cache_memlimit 8\r\n", "cache_memlimit 256\r\n"},
	}[strings.HasPrefix(s.url, "redis")]
	tell := func(command string) {
		for _, p := range s.servers {
			w := dial(t, p.Addr)
			w.send("%s", command)
			if got := w.line(); got != "OK" && got != "+OK" {
				t.Fatal(got)
			}
		}
	}
	s.furnish()
	s.app(func(l *whole.Library) {
		tell(limit[0])
		written := writeUntilFull(t, s, l)
		v, err := l.Works.Get(ctx, whole.WorkIDs[0])
		must(t, err)
		if v.Title != "of "+whole.WorkIDs[0] {
			t.Errorf("a full server shows %v", v)
		}
		tell(limit[1])
		must(t, l.Works.Create(ctx, fullWork(written)))
		s.follow(card)
	})
}

// onSmallDisk runs the test again in a process that has mounted a small disk.
func onSmallDisk(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "full")
	must(t, err)
	defer os.Remove(dir)
	mounted := func(command string) *exec.Cmd {
		script := `mount -t tmpfs -o size=6m ringtree "$TMPDIR" && exec ` + command
		c := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, os.Args[0])
		c.Env = append(os.Environ(), smallDisk+"=1", "TMPDIR="+dir)
		return c
	}
	if out, err := mounted("true").CombinedOutput(); err != nil {
		t.Skipf("no disk of its own can be mounted here: %v: %s", err, out)
	}
	names := strings.ReplaceAll(t.Name(), "/", "$/^")
	out, err := mounted(`"$0" -test.v -test.run '^` + names + `$'`).CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	must(t, err)
	for size := 1 << 20; size > 0; {
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not full:", err)
	}
	must(t, file.Close())
}

// writeUntilFull returns the number of works created before one is refused.
func writeUntilFull(t *testing.T, s *site, l *whole.Library) (written int) {
	t.Helper()
	for {
		err := l.Works.Create(ctx, fullWork(written))
		switch {
		case err == nil && written < 100_000:
			written++
			continue
		case !errors.Is(err, kv.ErrUnavailable):
			t.Fatalf("after %d: %v", written, err)
		case len(s.servers) == 0 && (!errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), s.at("app.db"))):
			t.Fatalf("after %d: %v", written, err)
		}
		t.Logf("after %d: %v", written, err)
		return written
	}
}

func fullWork(i int) *whole.Work {
	return &whole.Work{ID: fmt.Sprint("full-", i), Slug: fmt.Sprint("full-", i), Author: "ann", Title: strings.Repeat("t", 500)}
}

// leavesNothing requires a verb to fail for lack of room, and to leave no file behind.
func (s *site) leavesNothing(args ...string) {
	s.t.Helper()
	s.sees(1, "no space left on device", args...)
	if left, err := filepath.Glob(args[1] + "*"); err != nil || len(left) > 0 {
		s.t.Errorf("db %s leaves %q, %v", strings.Join(args, " "), left, err)
	}
}
