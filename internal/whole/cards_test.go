package whole_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

type site struct {
	t       *testing.T
	dir     string
	url     string
	servers []*servers.Process
}

var siteKinds = []string{"file", "memcached", "Redis"}

func newSite(t *testing.T, kind string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	switch kind {
	case "memcached":
		s.servers = []*servers.Process{servers.Of(t, "memcached"), servers.Of(t, "memcached")}
		s.url = "memcached://" + s.servers[0].Addr + "," + s.servers[1].Addr
	case "Redis":
		s.servers = []*servers.Process{servers.Of(t, "redis-server")}
		s.url = "redis://" + s.servers[0].Addr + "/0"
	default:
		s.url = "bolt:" + s.at("app.db")
	}
	return s
}

func (s *site) at(name string) string { return filepath.Join(s.dir, name) }

func (s *site) store() kv.Store {
	s.t.Helper()
	store, err := kvopen.Store(ctx, s.url, all.Engines)
	must(s.t, err)
	return store
}

func (s *site) app(f func(l *whole.Library), opts ...kvmodel.Option) {
	s.t.Helper()
	l, err := whole.Open(s.store(), opts...)
	must(s.t, err)
	f(l)
	must(s.t, l.DB.Close(ctx))
}

func (s *site) furnish() {
	s.t.Helper()
	s.app(func(l *whole.Library) {
		calls(l, new(whole.Diary), 0, 200, 1, 2)
		for _, id := range whole.WorkIDs {
			_, err := l.Works.Upsert(ctx, id, func(v *whole.Work) error { v.Title = "of " + id; return nil })
			must(s.t, err)
		}
		must(s.t, l.Offers.Create(ctx, &whole.Offer{ID: "late", Code: "late", Until: time.Now().Add(time.Hour)}))
	})
}

func (s *site) older() (*kvmodel.DB, *kvmodel.Records[whole.Work, string]) {
	s.t.Helper()
	db, err := kvmodel.Open(s.store())
	must(s.t, err)
	return db, kvmodel.NewRecords(db, kvmodel.Schema[whole.Work, string]{
		Name: "Work", Version: 2, ID: func(v *whole.Work) string { return v.ID }, SetID: func(v *whole.Work, id string) { v.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packedWork{},
	})
}

type packedWork struct{}

func (packedWork) Append(dst []byte, v *whole.Work) ([]byte, error) {
	data, err := msgpack.Marshal(map[string]any{"Slug": v.Slug, "Author": v.Author, "Title": v.Title})
	return append(dst, data...), err
}

func (packedWork) Unmarshal(data []byte, v *whole.Work) (bool, error) {
	return false, msgpack.Unmarshal(data, v)
}

func (packedWork) Merge(_, next []byte) ([]byte, error) { return next, nil }

func (s *site) db(args ...string) (code int, said string) {
	s.t.Helper()
	return s.dbWith(strings.NewReader(""), args...)
}

// terminal answers each question with yes; nil: this system has none.
var terminal func(t *testing.T) *os.File

func (s *site) typed(args ...string) (code int, said string) {
	s.t.Helper()
	if terminal == nil {
		return s.db(append(args, "--yes")...)
	}
	return s.dbWith(terminal(s.t), args...)
}

func (s *site) dbWith(stdin io.Reader, args ...string) (code int, said string) {
	s.t.Helper()
	var out bytes.Buffer
	code = inspect.Run(ctx, inspect.Config{
		Name: "db", Args: args, URL: s.url, Stdin: stdin, Stdout: &out, Stderr: &out,
		Models: func(db *kvmodel.DB) []kvmodel.Model { return whole.In(db).All() },
	})
	s.t.Logf("db %s: exit code %d\n%.1500s", strings.Join(args, " "), code, out.String())
	return code, out.String()
}

func (s *site) must(codes []int, args ...string) string {
	s.t.Helper()
	code, said := s.db(args...)
	if !slices.Contains(codes, code) {
		s.t.Fatalf("db %s: want exit code %v, got %d", strings.Join(args, " "), codes, code)
	}
	return said
}

var cardCommand = regexp.MustCompile("(?m)(?:^    (?:\\$ )?|`)db ([a-z-][^`\n]*)")

func card(t *testing.T, title string) (calls [][]string) {
	t.Helper()
	text := string(read(t, filepath.Join("..", "..", "docs", "operations.md")))
	_, rest, found := strings.Cut(text, "\n### "+title+"\n")
	if !found {
		t.Fatalf("no card is called %q", title)
	}
	rest, _, _ = strings.Cut(rest, "\n### ")
	for _, call := range cardCommand.FindAllStringSubmatch(rest, -1) {
		calls = append(calls, strings.Fields(call[1]))
	}
	return calls
}

func (s *site) follow(title string, skipped ...string) {
	s.t.Helper()
	for _, args := range card(s.t, title) {
		call := strings.Join(args, " ")
		if slices.ContainsFunc(skipped, func(begin string) bool { return strings.HasPrefix(call, begin) }) {
			continue
		}
		for i, arg := range args {
			switch arg {
			case "MODEL":
				args[i] = "Offer"
			case "ID":
				args[i] = "late"
			}
			for _, name := range []string{"app.db", "app.backup", "new.db", "FILE"} {
				if file := strings.TrimPrefix(arg, "bolt:"); file == name {
					args[i] = strings.Replace(arg, name, s.at(name), 1)
				}
			}
		}
		if code, _ := s.typed(args...); code > 1 {
			s.t.Fatalf("db %s: exit code %d", strings.Join(args, " "), code)
		}
	}
}

func (s *site) clean() {
	s.t.Helper()
	s.must([]int{0}, "check")
	s.must([]int{0}, "status")
}

func (s *site) sees(code int, text string, args ...string) {
	s.t.Helper()
	if said := s.must([]int{code}, args...); !strings.Contains(said, text) {
		s.t.Fatalf("db %s does not say %q", strings.Join(args, " "), text)
	}
}

type incident struct {
	card  string
	kinds []string
	play  func(t *testing.T, s *site, card string)
}

var incidents = []incident{
	{"Other signs", siteKinds, func(t *testing.T, s *site, card string) {
		s.furnish()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+s.url)
		must(t, whole.Kill(child, 300*time.Millisecond))
		if len(s.servers) > 0 {
			s.must([]int{0, 1}, "status")
			time.Sleep(65 * time.Second) // until it is known to be dead
		}
		s.must([]int{0}, "check", "--repair", "--yes")
	}},
	{"The disk is full", siteKinds[:1], fillTheDisk},
	{"Data is damaged", siteKinds[:1], func(t *testing.T, s *site, card string) {
		s.furnish()
		s.must([]int{0}, "backup", s.at("app.backup"))
		data := read(t, s.at("app.db"))
		at := bytes.LastIndex(data, []byte("u:Work:BySlug:"))
		data[at+len("u:Work:BySlug:")+1] ^= 8
		must(t, os.WriteFile(s.at("app.db"), data, 0o600))
		s.follow(card, "check --repair", "forget")
		s.url = "bolt:" + s.at("new.db")
	}},
	{"Data is damaged", siteKinds[1:], func(t *testing.T, s *site, card string) {
		s.furnish()
		store := s.store()
		must(t, store.Do(ctx, []kv.Op{kv.OpSet("built:Work", []byte("\xff damaged")), kv.OpSet("ids:Like#0", []byte("\xff damaged"))}), store.Close())
		s.sees(1, "warning", "status")
		s.follow(card, "restore", "--store", "forget")
	}},
	{"A server has lost its memory", []string{"file", "Redis"}, func(t *testing.T, s *site, card string) {
		s.furnish()
		s.must([]int{0}, "export", s.at("FILE"))
		if len(s.servers) == 0 {
			must(t, os.Remove(s.at("app.db")), s.store().Close())
		} else {
			s.servers[0].Kill()
			must(t, s.servers[0].Start())
		}
		s.follow(card)
		s.sees(1, "only there", "verify", "--against", s.at("FILE"))
	}},
	{"The disk is full", siteKinds[1:], fillTheServers},
	{"A server has lost its memory", siteKinds[1:2], func(t *testing.T, s *site, card string) {
		s.furnish()
		s.must([]int{0}, "export", s.at("FILE"))
		s.servers[1].Kill()
		must(t, s.servers[1].Start())
		s.sees(1, "recover", "status")
		s.follow(card)
		s.sees(1, "only there", "verify", "--against", s.at("FILE"))
	}},
	{"The store came back empty", siteKinds, func(t *testing.T, s *site, card string) {
		s.furnish()
		s.must([]int{0}, "export", s.at("FILE"))
		if len(s.servers) == 0 {
			must(t, os.Rename(s.at("app.db"), s.at("old.db")))
			must(t, s.store().Close())
			s.sees(0, "the store is empty", "status")
			s.follow(card, "restore")
			s.sees(0, "identical", "verify", "--against", s.at("FILE"))
			return
		}
		s.app(func(running *whole.Library) {
			_, err := running.Works.Get(ctx, whole.WorkIDs[0])
			must(t, err)
			for _, p := range s.servers {
				p.Kill()
				must(t, p.Start())
			}
			s.sees(0, "the store is empty", "status")
			s.must([]int{0, 1}, "status", "--deep")
			proof.Ends(t, kv.ErrLost)(running.Works.Get(ctx, whole.WorkIDs[0]))
			s.follow(card, "restore")
			s.sees(0, "identical", "verify", "--against", s.at("FILE"))
			v, err := running.Works.Get(ctx, whole.WorkIDs[0])
			if err != nil || v.Title != "of "+whole.WorkIDs[0] {
				t.Errorf("the app that runs shows %v, %v", v, err)
			}
			_, err = running.Works.Update(ctx, whole.WorkIDs[0], func(v *whole.Work) error { v.Price++; return nil })
			must(t, err)
		})
	}},
	{"Other signs", siteKinds[1:], func(t *testing.T, s *site, _ string) {
		s.furnish()
		stopped := s.servers[len(s.servers)-1]
		must(t, syscall.Kill(stopped.Pid(), syscall.SIGSTOP))
		scheme, _, _ := strings.Cut(s.url, "://")
		for _, args := range [][]string{{"status", "--deep"}, {"status"}, {"--store", scheme + "://127.0.0.1:1", "status"}} {
			began := time.Now()
			s.must([]int{3}, args...)
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("%q takes %v", args, took)
			}
		}
		must(t, syscall.Kill(stopped.Pid(), syscall.SIGCONT))
	}},
	{"A wrong release was rolled out", siteKinds[1:], func(t *testing.T, s *site, card string) {
		db, old := s.older()
		write := func(n int) error {
			return old.Put(ctx, &whole.Work{ID: "w1", Slug: "s1", Author: "ann", Title: fmt.Sprint("t", n)})
		}
		must(t, write(0))
		writing, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			var err error
			for n := 0; kv.Sleep(writing, 300*time.Millisecond); n++ {
				err = cmp.Or(write(n), err)
			}
			ended <- err
		}()
		s.sees(1, "other indexes of Work", "status")
		stop()
		must(t, <-ended, db.Close(ctx))
		s.follow(card)
	}},
	{"A wrong release was rolled out", siteKinds, func(t *testing.T, s *site, card string) {
		db, old := s.older()
		for i := range 20 {
			must(t, old.Create(ctx, &whole.Work{ID: fmt.Sprint("w", i), Slug: fmt.Sprint("s", i), Author: "ann", Title: "t"}))
		}
		must(t, db.Close(ctx))
		s.sees(1, "not built", "status")
		s.follow(card)
	}},
	{"A person must be erased", siteKinds, func(t *testing.T, s *site, card string) {
		s.furnish()
		s.follow(card)
		s.sees(1, "Offer late: there is none", "get", "Offer", "late")
	}},
	{"Other signs", siteKinds, func(t *testing.T, s *site, card string) {
		s.furnish()
		revs := []int64{}
		for _, wrong := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
			clock := kvmodel.Clock(func() time.Time { return time.Now().Add(wrong) })
			s.app(func(l *whole.Library) {
				v, err := l.Works.Upsert(ctx, whole.WorkIDs[0], func(v *whole.Work) error { v.Price++; return nil })
				must(t, err)
				revs = append(revs, v.Version)
				if _, err := l.Offers.Get(ctx, "late"); (err != nil) != (wrong > time.Hour) {
					t.Errorf("clock off by %v: %v", wrong, err)
				}
			}, clock)
		}
		if !slices.IsSorted(revs) || revs[0] == revs[2] {
			t.Errorf("revs %d", revs)
		}
	}},
}

func TestMatrix_OfCards_FollowedToACleanCheck(t *testing.T) {
	type played struct {
		incident
		kind string
	}
	var few, every []played
	for _, i := range incidents {
		for _, kind := range i.kinds {
			every = append(every, played{i, kind})
			if kind == "file" {
				few = append(few, played{i, kind})
			}
		}
	}
	for p := range proof.Part(t, few, every) {
		t.Run(p.kind+": "+p.card, func(t *testing.T) {
			t.Parallel()
			card(t, p.card)
			s := newSite(t, p.kind)
			p.play(t, s, p.card)
			s.clean()
		})
	}
}

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
			proof.Equal(t, v.Author, "ann", "work %d is by", i)
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

const recoverVariable = "RINGTREE_WHOLE_RECOVER"

func recoverAsChild(url string) int {
	return inspect.Run(ctx, inspect.Config{
		Name: "db", Args: []string{"recover", "--yes"}, URL: url, Stdout: pausing{},
		Models: func(db *kvmodel.DB) []kvmodel.Model { return whole.In(db).All() },
	})
}

type pausing struct{}

func (pausing) Write(data []byte) (int, error) {
	n, err := os.Stdout.Write(data)
	if err == nil {
		_, err = io.ReadFull(os.Stdin, make([]byte, bytes.Count(data, []byte("\n"))))
	}
	return n, err
}

// On servers a mark goes, too, so that one counts as having lost its memory.
func (s *site) hurt() {
	s.t.Helper()
	store := s.store()
	var lost []kv.Op
	must(s.t, kv.PowersOf(store).Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			if key == "ids:Like#0" || key == "built:Work" || strings.HasPrefix(key, "u:Work:BySlug:") || strings.HasPrefix(key, "l:Like:ByUser:") {
				lost = append(lost, kv.OpDelete(key))
			}
		}
		return nil
	}))
	must(s.t, store.Do(ctx, lost), store.Close())
	if len(s.servers) > 0 {
		at := s.servers[len(s.servers)-1]
		w := dial(s.t, at.Addr)
		if strings.HasPrefix(s.url, "redis") {
			w.send("EVAL \"for _, k in ipairs(redis.call('KEYS', 'ringtree{*')) do redis.call('DEL', k) end return 1\" 0\r\n")
			w.line()
			return
		}
		at.Kill()
		must(s.t, at.Start())
	}
}

// recoverUntil kills recover after so many lines, with the exit code -1.
func (s *site) recoverUntil(lines int) (said []string, code int) {
	s.t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), recoverVariable+"="+s.url)
	out, err := child.StdoutPipe()
	must(s.t, err)
	in, err := child.StdinPipe()
	must(s.t, err, child.Start())
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if said = append(said, scanner.Text()); len(said) == lines {
			must(s.t, child.Process.Kill())
			continue
		}
		_, err := in.Write([]byte{'\n'})
		must(s.t, err)
	}
	_ = child.Wait()
	return said, child.ProcessState.ExitCode()
}

func TestLong_ARecoveryThatIsKilledAfterEachStepGoesOnAndEndsClean(t *testing.T) {
	for kind := range proof.Part(t, siteKinds[:1], siteKinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, kind)
			s.furnish()
			s.hurt()
			code := -1
			kills := 0
			for lines := 1; code == -1 && lines < 100; lines++ {
				var said []string
				said, code = s.recoverUntil(lines)
				t.Logf("killed after line %d, exit code %d:\n%s", lines, code, strings.Join(said, "\n"))
				kills++
			}
			if code > 1 || kills < 3 {
				t.Fatalf("exit code %d after %d kills", code, kills)
			}
			s.clean()
		})
	}
}
