package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var appFigures = []func(*bench) error{
	manyDemoPages,
	appOnDisk,
}

// manyDemoPages fills the sample app with 100,000 pages and reports what each of
// its pages then costs.
func manyDemoPages(b *bench) error {
	store := &kvtest.Slow{Store: memkv.New(memkv.Options{})}
	n := b.size(100_000)
	start := time.Now()
	app, err := b.openApp(store, n)
	if err != nil {
		return err
	}
	defer app.close()
	b.report(fmt.Sprintf("app: %d demo pages on memkv", n), time.Since(start).Seconds(), atMost(60).in("s"))

	dearest, deepest, largest := 0, 0, 0
	err = app.eachPage(func(v *appVisitor, path string) error {
		got, err := v.cheapest(path, store)
		dearest, deepest, largest = max(dearest, got.trips), max(deepest, got.deep), max(largest, len(got.body))
		if got.trips > maxAppTrips || got.deep > maxAppDeep {
			fmt.Fprintf(b.out, "%s: %d trips, %d deep\n", path, got.trips, got.deep)
		}
		return err
	})
	b.report("app: trips of its dearest page among them", float64(dearest), atMost(maxAppTrips))
	b.report("app: trips in sequence, of the deepest", float64(deepest), atMost(maxAppDeep))
	b.report("app: KB of HTML, of the largest", float64(largest)/1024, atMost(60).varying())
	return err
}

const (
	maxAppTrips = 10
	maxAppDeep  = 5
)

// appOnDisk reports how fast the app is with its defaults: on the embedded store,
// with 400 pages.
func appOnDisk(b *bench) error {
	store, err := boltkv.Open(b.dir+"/app.db", boltkv.Options{})
	if err != nil {
		return err
	}
	app, err := b.openApp(store, 400)
	if err != nil {
		return err
	}
	defer app.close()
	if err := app.eachPage(func(v *appVisitor, path string) error {
		if v != app.member {
			return nil
		}
		took, err := duration(func() error { _, err := v.get(path); return err })
		b.report("app: server time of "+named(path), float64(took.Microseconds())/1000, target{}.in("ms"))
		return err
	}); err != nil {
		return err
	}
	const clients, calls = 64, 3000
	visitors := make([]*appVisitor, clients)
	for i := range visitors {
		visitors[i] = app.visitor()
	}
	for _, path := range []string{"/", "/ranking", "/p/tide-table", "/hood", "/search?q=t"} {
		start := time.Now()
		err := together(clients, calls, func(client, _ int) error { _, err := visitors[client].get(path); return err })
		b.report("app: "+path+" a second, 64 clients", calls/time.Since(start).Seconds(), target{}.in("/s"))
		if err != nil {
			return err
		}
	}
	return nil
}

// named returns a path without the parts that differ from run to run.
func named(path string) string {
	return regexp.MustCompile(`(at|comments)=[^&#]+`).ReplaceAllString(path, "$1=…")
}

// sampleApp is the sample app on a server of its own, with one member who is
// signed in.
type sampleApp struct {
	url            string
	member, nobody *appVisitor
	close          func()
}

const appPassword = "a password for figures"

// openApp returns the sample app with that many demo pages on s, which it closes.
func (b *bench) openApp(s kvmodel.Store, pages int) (*sampleApp, error) {
	cheap := guard.HashCost{Passes: 1, Memory: 64, Threads: 1}
	if _, err := demo.Fill(b.ctx, s, demo.Plan{Pages: pages, Password: appPassword, Hash: cheap}); err != nil {
		return nil, err
	}
	db, err := kvmodel.Open(s)
	if err != nil {
		return nil, err
	}
	site, err := web.New(ashiato.NewSite(db, ashiato.Options{Hash: cheap}), web.Config{Keys: [][]byte{make([]byte, 32)}, Development: true})
	if err != nil {
		return nil, errors.Join(err, db.Close(b.ctx))
	}
	server := httptest.NewServer(site)
	app := &sampleApp{url: server.URL, close: func() { site.Close(); server.Close(); _ = db.Close(b.ctx) }}
	app.member, app.nobody = app.visitor(), app.visitor()
	form := url.Values{"handle": {"heron"}, "password": {appPassword}, "next": {"/"}}
	resp, err := app.member.client.PostForm(app.url+"/login", form)
	if err != nil {
		app.close()
		return nil, err
	}
	return app, resp.Body.Close()
}

// eachPage calls f for each page of the app and each page that it links to, as a
// member and as a stranger.
func (a *sampleApp) eachPage(f func(v *appVisitor, path string) error) error {
	paths := []string{
		"/", "/newest", "/ranking", "/ranking?span=today", "/ranking?span=all&page=demo-page-1", "/p/tide-table",
		"/m/heron", "/m/moss", "/m/heron/followers", "/topics", "/search?q=t", "/hood", "/hood?page=tide-table", "/hood?list=titles&of=tide-table", "/signup", "/login",
	}
	ofMembers := []string{"/feed", "/footprints", "/settings", "/write"}
	for v, paths := range map[*appVisitor][]string{a.member: append(ofMembers, paths...), a.nobody: paths} {
		for _, path := range paths {
			got, err := v.get(path)
			if err != nil {
				return err
			}
			for _, path := range append([]string{path}, got.next...) {
				if err := f(v, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// appVisitor is a browser without scripts.
type appVisitor struct {
	url    string
	client *http.Client
}

func (a *sampleApp) visitor() *appVisitor {
	// Without options it cannot fail.
	jar, _ := cookiejar.New(nil)
	return &appVisitor{a.url, &http.Client{Jar: jar, Transport: &http.Transport{}}}
}

// appPage is one answer of the app.
type appPage struct {
	body        string
	trips, deep int
	next        []string // where its pager leads on to, and its first topic
}

var (
	onward = regexp.MustCompile(`rel="next" href="([^"]+)"`)
	topics = regexp.MustCompile(`href="(/t/[a-z]+)"`)
)

func (v *appVisitor) get(path string) (page appPage, err error) {
	path, _, _ = strings.Cut(path, "#")
	resp, err := v.client.Get(v.url + path)
	if err != nil {
		return page, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return page, errors.Join(err, fmt.Errorf("%s: %s", path, resp.Status))
	}
	page.body = string(body)
	_, _ = fmt.Sscanf(resp.Header.Get("X-Store-Cost"), "%d trips (%d deep)", &page.trips, &page.deep)
	for _, found := range onward.FindAllStringSubmatch(page.body, -1) {
		page.next = append(page.next, strings.ReplaceAll(found[1], "&amp;", "&"))
	}
	if found := topics.FindStringSubmatch(page.body); found != nil && path == "/topics" {
		page.next = append(page.next, found[1], found[1]+"/followers")
	}
	return page, err
}

// cheapest is the page when its store is far away. A busy machine can make it look
// deeper than it is, so the least of a few measurements counts.
func (v *appVisitor) cheapest(path string, store *kvtest.Slow) (appPage, error) {
	best, err := v.get(path)
	store.Wait(4 * time.Millisecond)
	defer store.Wait(0)
	for i := range 4 {
		got, err := v.get(path)
		if err != nil {
			return best, err
		}
		if i == 0 || got.deep < best.deep {
			best = got
		}
	}
	return best, err
}
