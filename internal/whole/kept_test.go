package whole_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/release"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// testdata/kept has stores of each kind, written by
//
//	go test ./internal/whole -run TestKept -keep NAME
var keep = flag.String("keep", "", "write stores with the code as it is, and keep them under this `NAME`")

func TestKept_StoresAreReadAndWritten(t *testing.T) {
	if *keep != "" {
		for _, k := range kinds {
			writeKept(t, k, filepath.Join("testdata", "kept", *keep))
		}
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "kept", "*"))
	if own := filepath.Join("testdata", "kept", release.Version); err != nil || !slices.Contains(dirs, own) {
		t.Fatalf("no store of %s is kept: %v", release.Version, err)
	}
	for _, dir := range dirs {
		for _, k := range kinds {
			t.Run(filepath.Base(dir)+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				readKept(t, k, filepath.Join(dir, k.name))
			})
		}
	}
}

type kept struct {
	Written time.Time
	Cookie  string
	Shown   whole.Shown
}

func writeKept(t *testing.T, k kind, dir string) {
	must(t, os.MkdirAll(dir, 0o755))
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, 1)
		path := filepath.Join(t.TempDir(), "store.db")
		s := open(t, path, time.Now())
		fill(t, k, s)
		was := kept{Cookie: signIn(t, s), Written: time.Now().UTC()}
		must(t, s.Close())
		if name := filepath.Join(dir, k.name); k.atomic {
			write(t, name+".db.gz", read(t, path))
		} else {
			write(t, name+".items.gz", dump(t, path, was.Written))
		}
		shown, should := look(t, k, open(t, path, was.Written))
		maps.Copy(shown, should)
		was.Shown = shown
		text, err := json.MarshalIndent(was, "", "\t")
		must(t, err)
		write(t, filepath.Join(dir, k.name+".json.gz"), text)
	})
}

func readKept(t *testing.T, k kind, name string) {
	synctest.Test(t, func(t *testing.T) {
		var was kept
		must(t, json.Unmarshal(read(t, name+".json.gz"), &was))
		var s kv.Store = memkv.New(memkv.Options{})
		if k.atomic {
			path := filepath.Join(t.TempDir(), "store.db")
			must(t, os.WriteFile(path, read(t, name+".db.gz"), 0o600))
			s = open(t, path, was.Written)
		} else {
			time.Sleep(time.Until(was.Written))
			load(t, s, read(t, name+".items.gz"))
		}
		signedIn(t, s, was.Cookie)
		compare(t, k, s, "as it was kept", was.Shown)
		process(t, k, s, func(l *whole.Library) { steps(l, 3, 300) })
		compare(t, k, s, "after changes", nil)
		process(t, k, s, func(l *whole.Library) { rebuildAll(t, l) })
		compare(t, k, s, "after Rebuild", nil)
	})
}

func compare(t *testing.T, k kind, s kv.Store, when string, want whole.Shown) {
	t.Helper()
	got, should := look(t, k, s)
	for _, difference := range want.Differences(got) {
		t.Errorf("%s: %s", when, difference)
	}
	for _, difference := range should.Differences(got) {
		t.Errorf("%s: not what the records say: %s", when, difference)
	}
}

func fill(t *testing.T, k kind, s kv.Store) {
	for n := range 3 {
		process(t, k, s, func(l *whole.Library) { steps(l, n, 200) })
	}
	process(t, k, s, func(l *whole.Library) {
		var bids []*whole.Bid // more than a leaf holds
		for i := range 150 {
			bids = append(bids, &whole.Bid{ID: fmt.Sprint("x", i), Kind: "swap", Price: int64(i * i % 97)})
		}
		must(t, l.Bids.CreateMulti(ctx, bids))
	})
	if k.name != "memcached" {
		return
	}
	for n, left := range []int64{3, 12, 30} {
		dying := &dying{Store: k.opened(s)}
		dying.left.Store(left)
		l := libraryIn(t, dying)
		steps(l, n, 5)
		_ = l.DB.Close(ctx)
	}
}

func steps(l *whole.Library, writer, n int) {
	calls(l, new(whole.Diary), writer, n, uint64(writer), 7)
}

func process(t *testing.T, k kind, s kv.Store, work func(*whole.Library)) {
	t.Helper()
	l := libraryIn(t, k.opened(s))
	defer l.DB.Close(ctx)
	work(l)
	must(t, l.DB.Flush(ctx))
	time.Sleep(time.Minute) // for recounts
	must(t, l.DB.Close(ctx))
}

// look first repairs the changes of dead processes, and rebuilds an index that needs it.
func look(t *testing.T, k kind, s kv.Store) (shown, should whole.Shown) {
	t.Helper()
	process(t, k, s, func(l *whole.Library) {
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
			time.Sleep(wait)
			must(t, l.DB.Repair(ctx))
		}
		must(t, l.DB.Flush(ctx))
		shown = l.Look(ctx)
		if asks(shown) {
			rebuildAll(t, l)
			shown = l.Look(ctx)
		}
		var err error
		should, err = l.Should(ctx)
		must(t, err)
	})
	return shown, should
}

func asks(shown whole.Shown) bool {
	return slices.Contains(slices.Collect(maps.Values(shown)), whole.NeedsRebuild)
}

func rebuildAll(t *testing.T, l *whole.Library) {
	t.Helper()
	for _, m := range l.All() {
		must(t, m.Rebuild(ctx))
	}
	must(t, l.Works.TopPrice.Rebuild(ctx))
}

func sessions(t *testing.T, s kv.Store) *kvsession.Store {
	t.Helper()
	store, err := kvsession.New(s, kvsession.Options{Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	must(t, err)
	return store
}

func signIn(t *testing.T, s kv.Store) string {
	t.Helper()
	store, w, r := sessions(t, s), httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	session, err := store.Get(r, "app")
	must(t, err)
	session.Values["color"] = "green"
	must(t, store.SignIn(r, w, session, "u1"))
	cookies := w.Result().Cookies()
	return cookies[len(cookies)-1].Value
}

func signedIn(t *testing.T, s kv.Store, cookie string) {
	t.Helper()
	store, r := sessions(t, s), httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&http.Cookie{Name: "app", Value: cookie})
	session, err := store.Get(r, "app")
	must(t, err)
	infos, err := store.List(ctx, "u1")
	must(t, err)
	if session.Values["color"] != "green" || store.User(session) != "u1" || len(infos) != 1 {
		t.Errorf("the session has %v, is of %q, one of %d", session.Values, store.User(session), len(infos))
	}
}
