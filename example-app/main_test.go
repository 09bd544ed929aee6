package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
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
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatalf("run %q: %v", args, err)
	}
	go io.Copy(io.Discard, in)
	url = regexp.MustCompile(`http://\S+`).FindString(line)
	if url == "" {
		t.Fatalf("want a line with the URL, got %q", line)
	}
	return url, func() error { cancel(); return <-done }
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

func TestRun_CountsVisitsAndShowsTheirCost(t *testing.T) {
	url, stop := start(t, "-store", "mem:")
	wantPage(t, url, 200, "not built yet", `id="visits">1<`, `id="cost">3 trips (3 deep)`)
	wantPage(t, url, 200, `id="visits">2<`, `id="cost">1 trips (1 deep), 1 ops`)
	wantPage(t, url+"favicon.ico", 404)
	wantPage(t, url, 200, `id="visits">3<`)
	if err := stop(); err != nil {
		t.Errorf("run ended with %v", err)
	}
	if _, err := http.Get(url); err == nil {
		t.Errorf("%s still answers after the end", url)
	}
}

func TestRun_GoesOnCountingAfterARestart(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	for _, want := range []string{`id="visits">1<`, `id="visits">2<`} {
		url, stop := start(t, "-store", store)
		wantPage(t, url, 200, want)
		if err := stop(); err != nil {
			t.Errorf("run ended with %v", err)
		}
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
	if err := stop(); err != nil {
		t.Errorf("run ended with %v", err)
	}
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
	for _, want := range []string{"-addr HOST:PORT", "-store URL"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in the help, got:\n%s", want, out.String())
		}
	}
}
