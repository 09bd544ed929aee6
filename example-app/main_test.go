package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
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

func TestRun_ShowsDemoPagesAndTheirCost(t *testing.T) {
	url, stop := start(t, "-store", "mem:", "-demo", "30")
	wantPage(t, url, 200, "Small pages by people nearby", "Cost of this page")
	wantPage(t, url+"p/tide-table", 200, "Two numbers for each tide")
	wantPage(t, url+"favicon.ico", 404)
	wantEnd(t, stop)
	if _, err := http.Get(url); err == nil {
		t.Errorf("%s still answers after it was stopped", url)
	}
}

func TestRun_DemoIsTheNumberOfPages(t *testing.T) {
	for _, test := range []struct{ flag, last, none string }{
		{"0", "", "p/fire-station-bench"},
		{"3", "p/tide-table", "p/wool-sweater"},
		{"13", "p/stairs-nowhere", "p/never-written"},
	} {
		url, stop := start(t, "-store", "mem:", "-demo", test.flag)
		wantPage(t, url+test.last, 200)
		wantPage(t, url+test.none, 404)
		wantEnd(t, stop)
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

func TestRun_SecureSendsCookiesOverHTTPSOnly(t *testing.T) {
	url, stop := start(t, "-store", "mem:", "-demo", "0", "-secure")
	form := neturl.Values{"id": {"00000000000000000000000001"}, "handle": {"newcomer"}, "password": {"two bars in the snow"}}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(url+"signup", form)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if cookies := resp.Cookies(); len(cookies) != 1 || !cookies[0].Secure || cookies[0].Name != "__Host-ashiato" {
		t.Errorf("want one cookie, with Secure and a name that begins with __Host-, got %v", cookies)
	}
	if _, body := get(t, url); strings.Contains(body, "Cost of this page") {
		t.Error("want no cost on the page")
	}
	wantEnd(t, stop)
}

func TestServe_FinishesRequestsUnderWay(t *testing.T) {
	listener, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-ctx.Done()
		io.WriteString(w, "done")
	})
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, slow, func() {}) }()
	go func() { <-begun; cancel() }()
	if _, body := get(t, "http://"+listener.Addr().String()); body != "done" {
		t.Errorf("want the response to a request that was under way, got %q", body)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestRun_ServesAtAnyAddress(t *testing.T) {
	url, stop := start(t, "-store", "mem:", "-demo", "0", "-addr", ":0")
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	wantPage(t, "http://127.0.0.1:"+port+"/", 200)
	wantEnd(t, stop)
}

func TestIsLoopback_OtherMachinesCanReachTheRest(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:0": true, "127.0.0.2:0": true, "0.0.0.0:0": false, ":0": false} {
		listener, err := listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := isLoopback(listener.Addr()); got != want {
			t.Errorf("%s: want %t, got %t", addr, want, got)
		}
		listener.Close()
	}
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

func TestRun_ReportsAStoreThatIsDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := listener.Addr().String()
	listener.Close()
	url, stop := start(t, "-store", "memcached://"+down, "-demo", "3")
	wantPage(t, url, 503, "The store is not responding")
	wantEnd(t, stop)
}

// flaky is a store that refuses four trips in a row. Furnish survives that even
// if all four carry the same operation.
type flaky struct {
	kv.Store
	trips atomic.Int64
}

func (f *flaky) Powers() kv.Powers { return kv.PowersOf(f.Store) }

func (f *flaky) Do(ctx context.Context, ops []kv.Op) error {
	if n := f.trips.Add(1); n > 50 && n < 50+furnishTries {
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	return f.Store.Do(ctx, ops)
}

func TestFurnish_OutlastsAShortOutage(t *testing.T) {
	store := &flaky{Store: memkv.New(memkv.Options{})}
	defer store.Close()
	var out strings.Builder
	furnish(t.Context(), store, 3, "", &out)
	if !strings.Contains(out.String(), "made 3 demo pages") || strings.Contains(out.String(), "incomplete") {
		t.Errorf("want all 3 pages made, got:\n%s", out.String())
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

func TestRun_HelpListsTheFlags(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("want flag.ErrHelp, got %v", err)
	}
	for _, want := range []string{"-addr HOST:PORT", "-data DIR", "-store URL", "-demo N", "-tenant NAME", "-secure", "-inspect", "-log LEVEL", "-after-loss WHAT", "example-app load", keyVariable, tokenVariable} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in the help, got:\n%s", want, out.String())
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

func TestOpenSecrets_RefusesAMalformedKey(t *testing.T) {
	for _, key := range []string{"x", "00", strings.Repeat("0", 63), strings.Repeat("z", 64)} {
		if _, err := openSecrets(settings{data: t.TempDir(), key: key}); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%q: want an error that says what a key looks like, got %v", key, err)
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
