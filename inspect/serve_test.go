package inspect_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func serve(t testing.TB, path string, opts ...kvmodel.Option) (stop func()) {
	t.Helper()
	return serveOn(t, boltStore(t, "bolt:"+path+"?durability=unsynced"), path, opts...)
}

func serveOn(t testing.TB, s kv.Store, path string, opts ...kvmodel.Option) (stop func()) {
	t.Helper()
	db, err := kvmodel.Open(s, opts...)
	must(t, err)
	newNotes(db)
	end, err := inspect.ServeWith(context.Background(), db, path)
	must(t, err)
	stop = func() {
		proof.Is(t, end(), nil)
		_ = db.Close(context.Background()) // A second time it is closed already.
	}
	t.Cleanup(stop)
	return stop
}

func socket(t testing.TB, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".sock", Net: "unix"})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func terminal(path, text string, args ...string) inspect.Config {
	c := on(nil, args...).AtTerminal()
	c.URL, c.Open, c.Stdin = "bolt:"+path, nil, strings.NewReader(text)
	return c
}

func TestServe_VerbsAnswerAsOnTheFile(t *testing.T) {
	_, path := appFile(t)
	s := boltStore(t, "bolt:"+path)
	must(t, s.Do(t.Context(), []kv.Op{kv.OpDelete("u:Note:ByTitle:Tides")}))
	must(t, s.Close())
	calls := []string{"status", "status --format=json", "ls Note", "get Note n1", "check", "check --format=json", "check --repair", "check --repair --yes", "check Note.ByTag", "ls --sizes"}
	answers := func(served bool) (all []ran) {
		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS(filepath.Dir(path))))
		t.Chdir(dir)
		if served {
			serve(t, "app.db")
		}
		took := regexp.MustCompile(`in [0-9.]+ s|"seconds":[0-9.]+`)
		for _, args := range calls {
			r := file(t, "app.db", strings.Fields(args)...)
			r.out = took.ReplaceAllString(r.out, "")
			all = append(all, r)
		}
		return all
	}
	onFile, through := answers(false), answers(true)
	for i, args := range calls {
		errs, ok := strings.CutPrefix(through[i].errs, "through the app, by app.db.sock\n")
		if !ok || through[i].out != onFile[i].out || through[i].code != onFile[i].code || errs != onFile[i].errs {
			t.Errorf("%s\non the file: %+v\nthrough the app: %+v", args, onFile[i], through[i])
		}
	}
	file(t, "app.db", "check").want(t, 0, "all is well")
}

func TestServe_TheSocketIsItsUsersAndGoesWithIt(t *testing.T) {
	dir, path := appFile(t)
	stop := serve(t, path)
	info, err := os.Stat(path + ".sock")
	must(t, err)
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	stop()
	for _, left := range []string{path + ".sock", filepath.Join(dir, ".sock*")} {
		if found, _ := filepath.Glob(left); len(found) > 0 {
			t.Errorf("left: %q", found)
		}
	}
	if r := file(t, path, "status"); r.code != 0 || r.errs != "" {
		t.Errorf("%+v", r)
	}
}

func TestServe_DoesNothingForAStoreThatIsNoFile(t *testing.T) {
	for _, url := range []string{"mem:", "redis://127.0.0.1:1/0", "redis-cluster://127.0.0.1:1", "memcached://127.0.0.1:1,127.0.0.1:2"} {
		stop, err := inspect.ServeWith(t.Context(), nil, url)
		must(t, err)
		must(t, stop())
	}
}

func TestServe_EndsWithItsContext(t *testing.T) {
	_, path := appFile(t)
	db := open(t, boltStore(t, "bolt:"+path))
	defer db.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := inspect.ServeWith(ctx, db, path)
	must(t, err)
	cancel()
	must(t, stop())
	if _, err := os.Stat(path + ".sock"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestServe_WhatADeadProcessLeftIsReplaced(t *testing.T) {
	_, path := appFile(t)
	l := socket(t, path)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
	file(t, path, "status").want(t, 0, path+".sock was left behind by a process that is gone\n", "all is well")
	serve(t, path)
	file(t, path, "status").want(t, 0, "through the app, by "+path+".sock\n", "all is well")
}

func TestServe_OneProcessServesAFile(t *testing.T) {
	_, path := appFile(t)
	serve(t, path)
	for at, want := range map[string]string{
		path: "another process serves on " + path + ".sock",
		filepath.Join(filepath.Dir(path), strings.Repeat("long", 25)): "is too long for the path of a socket: ",
	} {
		if _, err := inspect.ServeWith(t.Context(), open(t, shared(furnished(t))), at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
	must(t, os.WriteFile(path+"2.sock", nil, 0o600))
	if _, err := inspect.ServeWith(t.Context(), open(t, shared(furnished(t))), path+"2"); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Error(err)
	}
}

func TestRun_AnAppThatIsSilentIsNamed(t *testing.T) {
	t.Parallel()
	_, path := appFile(t)
	socket(t, path)
	began := time.Now()
	file(t, path, "status").want(t, 3, "the app does not answer on "+path+".sock")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestRun_AnotherVersionIsAWrongCall(t *testing.T) {
	_, path := appFile(t)
	l := socket(t, path)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, `{"v":9,"release":"v9","more":[]}`+"\n")
			conn.Close()
		}
	}()
	file(t, path, "status").want(t, 2, path+".sock has protocol version 9, this command version 3", "v9")
}

func sayTo(t *testing.T, path, line string) (frames []map[string]any) {
	t.Helper()
	conn, err := net.Dial("unix", path+".sock")
	must(t, err)
	defer conn.Close()
	proof.Done(t)(io.WriteString(conn, line+"\n"))
	for says := json.NewDecoder(conn); ; {
		var f map[string]any
		if says.Decode(&f) != nil {
			return frames
		}
		frames = append(frames, f)
	}
}

func TestServe_SaysItsVersionToACommandOfAnother(t *testing.T) {
	_, path := appFile(t)
	serve(t, path)
	if got := sayTo(t, path, `{"v":9,"do":"status"}`); len(got) != 1 || got[0]["v"] != 3.0 {
		t.Errorf("%v", got)
	}
	if got := sayTo(t, path, `{"v":3,"args":["compact","x"]}`); len(got) == 0 || got[len(got)-1]["exit"] != 2.0 {
		t.Errorf("%v", got)
	}
	if got := sayTo(t, path, "status"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestServe_AsksWhoeverSitsAtTheCommand(t *testing.T) {
	_, path := appFile(t)
	serve(t, path)
	runIn(t.Context(), terminal(path, "no\n", "build", "--again")).want(t, 5, "Build the indexes of Note? [y/N] ", "nothing was written")
	runIn(t.Context(), terminal(path, "", "build", "--again")).want(t, 5, "nothing was written")
	runIn(t.Context(), terminal(path, "y\n", "build", "--again")).want(t, 0, "[y/N] ", "Note: built")
	file(t, path, "build", "--again").want(t, 5, "there is no terminal to ask on")
}

type watched struct {
	strings.Builder
	text string
	f    func()
	once sync.Once
}

func (w *watched) Write(p []byte) (n int, err error) {
	if n, err = w.Builder.Write(p); strings.Contains(w.String(), w.text) {
		w.once.Do(w.f)
	}
	return n, err
}

// A slow verb shows how far it is, and ends well when stop is called.
func wantStopped(ctx context.Context, t *testing.T, path string, stop func(), call, shows, goOn string) {
	t.Helper()
	errs := &watched{text: shows, f: stop}
	c := terminal(path, "", strings.Fields(call)...)
	c.Stdout, c.Stderr = io.Discard, errs
	ran{inspect.Run(ctx, c), "", errs.String()}.want(t, 4, "through the app", shows, "db: stopped; "+goOn)
}

func TestServe_CtrlCEndsTheVerb(t *testing.T) {
	_, path := appFile(t)
	serve(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	c := terminal(path, "", "build", "--again")
	c.Stdin = typing{cancel}
	runIn(ctx, c).want(t, 4, "[y/N] \n", "stopped: nothing was written")
}

func TestServe_LongVerbsShowHowFarTheyAreAndCtrlCEndsThem(t *testing.T) {
	for call, want := range map[string][2]string{
		"check --rate 1":                         {"check Note 3 of 3", "to continue: db check --rate=1 --resume "},
		"check --repair --rate 1 --yes":          {"check Note 3 of 3", "to start over: db check --repair --rate=1 --yes"},
		"build --resave Note --rate 1 --dry-run": {"resave Note 3 of 3", "to continue: db build Note --resave --rate=1 --dry-run --resume "},
		"recover --rate 1 --yes":                 {"check Note 3 of 3", "to start over: db recover --rate=1 --yes"},
		"build --again --yes":                    {"build Note ", "to start over: db build --again --yes"},
	} {
		t.Run(call, func(t *testing.T) {
			_, path := appFile(t)
			s := &held{Store: shared(furnished(t))}
			serveOn(t, s, path)
			s.builds = strings.HasPrefix(call, "build")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wantStopped(ctx, t, path, cancel, call, want[0], want[1])
		})
	}
}

type held struct {
	kv.Store
	builds bool
}

func (s *held) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s *held) Do(ctx context.Context, ops []kv.Op) error {
	if s.builds && strings.HasPrefix(ops[0].Key, "l:Note:") {
		<-ctx.Done()
	}
	return s.Store.Do(ctx, ops)
}

func TestServe_AnAppThatStopsEndsItsCalls(t *testing.T) {
	_, path := appFile(t)
	wantStopped(t.Context(), t, path, serve(t, path), "check --rate 1", "check Note 3", "to continue: ")
}

func TestServe_FilesAreWhereTheCommandIs(t *testing.T) {
	dir, path := appFile(t)
	serve(t, path)
	t.Chdir(dir)
	file(t, path, "backup", "whole").want(t, 0, filepath.Join(dir, "whole")+" is whole")
	file(t, path, "restore", "whole", "again.db").want(t, 0, "again.db is the store as it was at ")
	file(t, "again.db", "check").want(t, 0, "3 records", "all is well")
	file(t, path, "export", "all").want(t, 0, "exported")
	file(t, path, "verify", "--against", "all").want(t, 0, "identical")
	exported := file(t, path, "export", "-")
	c := terminal(path, exported.out, "import", "-", "--mode=merge", "--yes")
	runIn(t.Context(), c).want(t, 0, "imported")
	file(t, path, "forget", "Note", "n3", "--yes").want(t, 0, "Note n3 is erased")
	if r := file(t, path, "verify", "whole"); r.code != 0 || r.errs != "" {
		t.Errorf("%+v", r)
	}
}

func TestServe_ACopyTakesWhatTheAppHolds(t *testing.T) {
	dir, path := appFile(t)
	serve(t, path)
	there := "bolt:" + filepath.Join(dir, "there.db")
	file(t, path, "copy", there).want(t, 5, "there is no terminal to ask on")
	file(t, path, "copy", there, "--dry-run").want(t, 3, "there is no file")
	file(t, path, "copy", there, "--yes").want(t, 0, "through the app", "Note: 3 records\n", "copied")
	file(t, path, "copy", there, "--dry-run").want(t, 0, "through the app", "identical: 4 items")
	file(t, there[5:], "check").want(t, 0, "3 records", "all is well")
	file(t, path, "forget", "Note", "n3", "--yes").want(t, 0)
	file(t, path, "copy", there, "--dry-run").want(t, 1, "only there Note n3\n", "1 difference, 3 the same")
	file(t, path, "copy", there, "--yes").want(t, 5, "not empty")
	file(t, path, "copy", there, "--yes", "--mode=replace").want(t, 0, there+" will have the content of bolt:"+path+", and nothing else", "Note: 2 records\n")
	file(t, path, "copy", there, "--dry-run").want(t, 0, "identical: 3 items")
	file(t, path, "copy", there, "--tenant", "snow", "--yes").want(t, 2, "has no tenant")
	file(t, path, "copy", "amqp://h", "--yes").want(t, 2, `amqp`)
	if got := sayTo(t, path, `{"v":3,"args":["copy","mem:","--yes"]}`); got[len(got)-1]["exit"] != 2.0 {
		t.Errorf("%v", got)
	}
}

func TestServe_ACopyOfAnAppThatStopsIsNoWholeOne(t *testing.T) {
	dir, path := appFile(t)
	stop := serve(t, path)
	there := "bolt:" + filepath.Join(dir, "there.db")
	c := terminal(path, "y\n", "copy", there, "--rate", "1")
	errs := &watched{text: "through the app", f: func() { time.AfterFunc(300*time.Millisecond, stop) }} // It takes three seconds.
	c.Stdout, c.Stderr = io.Discard, errs
	ran{inspect.Run(t.Context(), c), "", errs.String()}.want(t, 4, "db: stopped; to continue: db copy ")
	file(t, path, "copy", there, "--yes", "--mode=replace").want(t, 0, "Note: 3 records\n")
	file(t, there[5:], "check").want(t, 0, "all is well")
}

func TestServe_ATenantIsTheAppsOrRefused(t *testing.T) {
	_, path := appFile(t)
	stop := serve(t, path)
	file(t, path, "get", "Note", "n1", "--tenant", "snow").want(t, 2, "has no tenant")
	stop()
	serve(t, path, kvmodel.Tenant("snow"))
	file(t, path, "get", "Note", "n1").want(t, 2, "serves only the tenant snow")
	file(t, path, "get", "Note", "n1", "--tenant", "rain").want(t, 2, "serves only the tenant snow")
	file(t, path, "get", "Note", "n1", "--tenant", "snow").want(t, 1, "there is none")
}
