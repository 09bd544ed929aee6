package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err := stop(); err != nil {
		t.Errorf("run ended with %v", err)
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func wantPage(t *testing.T, url string, wantStatus int, wants ...string) {
	t.Helper()
	status, body := get(t, url)
	if status != wantStatus {
		t.Errorf("%s: want status %d, got %d", url, wantStatus, status)
	}
	for _, want := range wants {
		if !strings.Contains(body, want) {
			t.Errorf("%s: want %q on the page, got:\n%s", url, want, body)
		}
	}
}

func TestRun_KeepsWhatWasWrittenThroughARestart(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	url, stop := start(t, "-store", store, "-demo", "30")
	resp, err := http.PostForm(url+"signup", neturl.Values{"id": {"00000000000000000000000001"}, "handle": {"newcomer"}, "password": {"two bars in the snow"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	wantEnd(t, stop)

	url, stop = start(t, "-store", store, "-demo", "30")
	wantPage(t, url+"m/newcomer", 200, "Joined")
	wantPage(t, url+"p/tide-table", 200, "Two numbers for each tide")
	wantEnd(t, stop)
}

// No tenant sees what another one writes.
func TestRun_TenantHasKeysOfItsOwn(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	url, stop := start(t, "-store", store, "-demo", "3", "-tenant", "snow")
	wantPage(t, url+"p/tide-table", 200)
	wantPage(t, url+"hood", 200, "under keys that start with snow", "snow:t:Page:Newest")
	wantEnd(t, stop)

	url, stop = start(t, "-store", store, "-demo", "0")
	wantPage(t, url+"p/tide-table", 404)
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
		set, err := parse(test.args, io.Discard)
		if err != nil || set.afterLoss != test.want {
			t.Errorf("%q: want %s, got %s, %v", test.args, test.want, set.afterLoss, err)
		}
	}
}

func TestRun_NamesBadSettings(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-store", "sqlite:x"}, `unknown scheme "sqlite"`},
		{[]string{"-store", "mem:", "-after-loss", "hope"}, "-after-loss hope: want accept or refuse"},
		{[]string{"-store", "mem:", "-addr", "127.0.0.1"}, "missing port"},
		{[]string{"-store", "mem:", "-addr", busy.Addr().String()}, "is in use"},
		{[]string{"-store", "mem:", "more"}, `unexpected argument "more"`},
		{[]string{"-store", "mem:", "-demo", "-1"}, "-demo -1: want 0 or more"},
		{[]string{"-store", "mem:", "-tenant", strings.Repeat("t", kv.MaxTenant+1)}, `-tenant "ttt`},
		{[]string{"-store", "mem:", "-log", "loud"}, `invalid value "loud" for flag -log`},
		{[]string{"-port", "1"}, "flag provided but not defined: -port"},
		{[]string{"load", "-url", "http://example.com/"}, "example.com is another machine"},
		{[]string{"load", "-url", "x"}, "not the URL of a site"},
		{[]string{"load", "-visitors", "0"}, "0 visitors: want 1 to 256"},
		{[]string{"load", "-for", "2h"}, "want more than 0 and at most an hour"},
		{[]string{"load", "more"}, `unexpected argument "more"`},
	} {
		if test.args[0] != "load" {
			test.args = append([]string{"-data", t.TempDir()}, test.args...)
		}
		err := command(t.Context(), test.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: want an error that says %q, got %v", test.args, test.want, err)
		}
	}
}

func TestOpenSecrets_MakesThemOnceAndForThisUserOnly(t *testing.T) {
	set := settings{data: filepath.Join(t.TempDir(), "new", "data")}
	first, err := openSecrets(set)
	if err != nil {
		t.Fatal(err)
	}
	again, err := openSecrets(set)
	if diff := cmp.Diff(first.session, again.session); diff != "" || first.demo != again.demo || err != nil {
		t.Errorf("want the same secrets again, got %q and %q, %v (-want +got):\n%s", first.demo, again.demo, err, diff)
	}
	for _, name := range []string{"session.key", "demo-password"} {
		info, err := os.Stat(filepath.Join(set.data, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: want the mode 0600, got %v, %v", name, info, err)
		}
	}
}

func TestLoad_CountsWhatVisitorsGet(t *testing.T) {
	url, stop := start(t, "-store", "mem:", "-demo", "30")
	var out strings.Builder
	if err := command(t.Context(), []string{"load", "-url", url, "-visitors", "2", "-for", "1500ms"}, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 2 || !strings.Contains(lines[0], "pages per second, 0 failed") || strings.Contains(out.String(), "total: 0 pages") {
		t.Errorf("want a line for a second and a total, with pages and no failures, got:\n%s", out.String())
	}
	wantEnd(t, stop)
}
