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
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// start runs the app with args on a free port and returns its URL, and a
// function that ends it and returns what run did.
func start(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), out)
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
	url, stop := start(t, "-store", "mem:")
	wantPage(t, url, 200, "Small pages by people nearby", "Cost of this page")
	wantPage(t, url+"p/tide-table", 200, "Two numbers for each tide")
	wantPage(t, url+"favicon.ico", 404)
	wantEnd(t, stop)
	if _, err := http.Get(url); err == nil {
		t.Errorf("%s still answers after the end", url)
	}
}

func TestRun_DemoIsTheNumberOfPages(t *testing.T) {
	for _, test := range []struct{ flag, want string }{
		{"0", "p/fire-station-bench"},
		{"3", "p/wool-jumper"},
		{"14", "p/tide-table-2"},
	} {
		url, stop := start(t, "-store", "mem:", "-demo", test.flag)
		wantPage(t, url+test.want, 404)
		wantEnd(t, stop)
	}
}

func TestRun_KeepsWhatIsWrittenOverARestart(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	url, stop := start(t, "-store", store)
	resp, err := http.PostForm(url+"signup", neturl.Values{"id": {"00000000000000000000000001"}, "handle": {"newcomer"}, "password": {"two bars in the snow"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	wantEnd(t, stop)

	url, stop = start(t, "-store", store)
	wantPage(t, url+"m/newcomer", 200, "Here since")
	wantPage(t, url+"p/tide-table", 200, "Two numbers for each tide")
	wantEnd(t, stop)
}

func TestServe_LetsRequestsEnd(t *testing.T) {
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
		t.Errorf("want the answer of a request that had begun, got %q", body)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestRun_StoreThatIsDownShowsAsSuch(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := listener.Addr().String()
	listener.Close()
	url, stop := start(t, "-store", "memcached://"+down)
	wantPage(t, url, 503, "The store does not answer")
	wantEnd(t, stop)
}

func TestRun_BadSettingsAreNamed(t *testing.T) {
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
		{[]string{"-store", "mem:", "-addr", "0.0.0.0:0"}, "only this machine may reach it"},
		{[]string{"-store", "mem:", "-addr", ":0"}, "only this machine may reach it"},
		{[]string{"-store", "mem:", "-addr", "127.0.0.1"}, "missing port"},
		{[]string{"-store", "mem:", "-addr", busy.Addr().String()}, "is in use"},
		{[]string{"-store", "mem:", "more"}, `unexpected argument "more"`},
		{[]string{"-store", "mem:", "-demo", "-1"}, "-demo -1: want 0 or more"},
		{[]string{"-port", "1"}, "flag provided but not defined: -port"},
	} {
		err := run(t.Context(), test.args, io.Discard)
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
	for _, want := range []string{"-addr HOST:PORT", "-store URL", "-demo N"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in the help, got:\n%s", want, out.String())
		}
	}
}
