package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// start runs the app with args on a free port. It returns the app's URL and a
// function that stops the app and returns what run returned.
func start(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	data := t.TempDir()
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-addr", "127.0.0.1:0", "-data", data}, args...), out)
		out.CloseWithError(err)
		done <- err
	}()
	lines := bufio.NewReader(in)
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("run %q: %v", args, err)
		}
		url = regexp.MustCompile(`http://\S+`).FindString(line)
	}
	go io.Copy(io.Discard, lines)
	return url, func() error { cancel(); return <-done }
}

func wantEnd(t *testing.T, stop func() error) {
	t.Helper()
	proof.Is(t, stop(), nil)
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(text)
}

func wantPage(t *testing.T, url string, wantStatus int, wants ...string) {
	t.Helper()
	status, body := get(t, url)
	proof.Equal(t, status, wantStatus, "%s: status", url)
	for _, want := range wants {
		proof.Contains(t, body, want)
	}
}

func TestRun_KeepsWhatWasWrittenThroughARestart(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	url, stop := start(t, "-store", store, "-demo", "30")
	resp, err := http.PostForm(url+"signup", neturl.Values{"id": {"00000000000000000000000001"}, "handle": {"newcomer"}, "password": {"two bars in the snow"}})
	must(t, err)
	resp.Body.Close()
	wantEnd(t, stop)

	url, stop = start(t, "-store", store, "-demo", "30")
	wantPage(t, url+"m/newcomer", 200, "Joined")
	wantPage(t, url+"p/how-to-read-a-tide-table", 200, "Two numbers for each tide")
	wantEnd(t, stop)
}

// No tenant sees what another one writes.
func TestRun_TenantHasKeysOfItsOwn(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	url, stop := start(t, "-store", store, "-demo", "3", "-tenant", "snow")
	wantPage(t, url+"p/how-to-read-a-tide-table", 200)
	wantPage(t, url+"hood", 200, "under keys that start with snow")
	wantEnd(t, stop)

	url, stop = start(t, "-store", store, "-demo", "0")
	wantPage(t, url+"p/how-to-read-a-tide-table", 404)
	wantEnd(t, stop)
}

func TestParse_AfterALossMemcachedAcceptsAndOthersRefuse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-store", "memcached://cache-1:11211"}, accept},
		{[]string{"-store", "memcached://cache-1:11211", "-after-loss", "refuse"}, refuse},
		{[]string{"-store", "redis://127.0.0.1:6379/0"}, refuse},
		{[]string{"-store", "redis://127.0.0.1:6379/0", "-after-loss", "accept"}, accept},
		{nil, refuse},
	} {
		set, err := parse(append([]string{"-data", t.TempDir()}, test.args...), io.Discard)
		if err != nil || set.afterLoss != test.want {
			t.Errorf("%q: want %s, got %s, %v", test.args, test.want, set.afterLoss, err)
		}
	}
}

func TestRun_NamesBadSettings(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer busy.Close()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-store", "sqlite:x"}, `unknown scheme "sqlite"`},
		{[]string{"-store", "mem:", "-after-loss", "hope"}, "-after-loss hope: want accept or refuse"},
		{[]string{"-store", "mem:", "-addr", "127.0.0.1"}, "missing port"},
		{[]string{"-store", "mem:", "-addr", busy.Addr().String()}, "address already in use"},
		{[]string{"-store", "mem:", "more"}, `unexpected argument "more"`},
		{[]string{"-data", "x", "db", "status", "--deep"}, "db comes first, before all flags: example-app db --store bolt:x/app.db status --deep"},
		{[]string{"-store", "mem:", "-demo", "-1"}, "-demo -1 -crowd 3: want 0 or more"},
		{[]string{"-store", "mem:", "-tenant", strings.Repeat("t", kv.MaxTenant+1)}, `-tenant "ttt`},
		{[]string{"-store", "mem:", "-admin", "nobody"}, "-admin nobody: "},
		{[]string{"-port", "1"}, "flag provided but not defined: -port"},
	} {
		err := run(t.Context(), append([]string{"-data", t.TempDir(), "-demo", "0"}, test.args...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: want an error that says %q, got %v", test.args, test.want, err)
		}
	}
}

func TestParse_MakesTheSessionKeyOnceAndForThisUserOnly(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	first, err := parse([]string{"-data", data}, io.Discard)
	must(t, err)
	again, err := parse([]string{"-data", data}, io.Discard)
	if diff := cmp.Diff(first.key, again.key); diff != "" || first.demoPassword() != again.demoPassword() || err != nil {
		t.Errorf("want the same key and password again, got %v (-want +got):\n%s", err, diff)
	}
	if info, err := os.Stat(filepath.Join(data, "session.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("want the mode 0600, got %v, %v", info, err)
	}
}

// The database is shown to the member that -admin names, and to nobody else.
func TestRun_OnlyTheAdminLooksIntoTheDatabase(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	member := func(url, handle, id string) *http.Client {
		jar, _ := cookiejar.New(nil) // New cannot fail without options.
		client := &http.Client{Jar: jar}
		for _, path := range []string{"signup", "login"} {
			resp, err := client.PostForm(url+path, neturl.Values{"id": {id}, "handle": {handle}, "password": {"two bars in the snow"}})
			must(t, err)
			resp.Body.Close()
		}
		return client
	}
	want := func(client *http.Client, url string, status int) {
		t.Helper()
		resp, err := client.Get(url + "inspect/")
		must(t, err)
		resp.Body.Close()
		proof.Equal(t, resp.StatusCode, status, "status")
	}
	url, stop := start(t, "-store", store, "-demo", "0")
	want(member(url, "ann", "00000000000000000000000001"), url, 403)
	wantEnd(t, stop)

	url, stop = start(t, "-store", store, "-demo", "0", "-admin", "ann")
	want(member(url, "ann", "00000000000000000000000001"), url, 200)
	want(member(url, "ben", "00000000000000000000000002"), url, 403)
	want(http.DefaultClient, url, 403)
	wantEnd(t, stop)
}

var must = proof.Must

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// onlyMatch returns what the group of an expression matches in text, which it does once.
func onlyMatch(t *testing.T, text, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("want one match of %s, got %q", expression, found)
	}
	return found[0][1]
}

func TestContainerfile_StartsTheAppAndLetsDbFindItsStore(t *testing.T) {
	text := readText(t, "Containerfile")
	var args []string
	must(t, json.Unmarshal([]byte(onlyMatch(t, text, `(?m)^ENTRYPOINT (.*)$`)), &args))
	t.Setenv(keyVariable, strings.Repeat("0", 64)) // No directory is made.
	set, err := parse(args[1:], io.Discard)
	must(t, err)
	if want := "0.0.0.0:" + onlyMatch(t, text, `(?m)^EXPOSE (\d+)$`); !set.secure || set.addr != want || set.data != onlyMatch(t, text, `(?m)^VOLUME (\S+)$`) {
		t.Errorf("want it to serve behind TLS on %s with its data in the volume, got %+v", want, set)
	}
	proof.Equal(t, onlyMatch(t, text, `RINGTREE_STORE=(\S+)`), set.store, "db to open")
	proof.Equal(t, args[0], "/ashiato", "program that was built started")
}

// look runs db on a store and fails unless it ends with code and says all of wants.
func look(t *testing.T, store string, code int, args string, wants ...string) {
	t.Helper()
	var out, errs strings.Builder
	got := database(t.Context(), append([]string{"--store", store}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
	if got != code {
		t.Errorf("db %s: want exit code %d, got %d: %s", args, code, got, errs.String())
	}
	for _, want := range wants {
		proof.Contains(t, out.String()+errs.String(), want)
	}
}

func TestDatabase_ShowsWhatTheAppHasWritten(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	_, stop := start(t, "-store", store, "-demo", "30", "-tenant", "snow")
	look(t, store, 0, "status --tenant snow", "through the app, by ", "this one alone has the file", "all is well")
	look(t, store, 2, "get Member demo-member-1", "the app serves only the tenant snow")
	wantEnd(t, stop)
	look(t, store, 0, "status --tenant snow", "Member", "TopViewsPerDay", "FeedItem (events)", "all is well")
	look(t, store, 0, "get Member demo-member-1 --tenant snow", `"heron"`, "Password   ***")
	look(t, store, 0, "list Page.Newest 3 --tenant snow", "3 rows of Page.Newest (timeline)")
	look(t, store, 1, "get Member demo-member-1", "there is none")
	look(t, store, 0, "help", "example-app db [command]", "or else bolt:example-app/data/app.db")
}
