package web_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// visitor is a browser without JavaScript, with a site of its own.
type visitor struct {
	t       *testing.T
	site    string
	app     *ashiato.Site
	handler http.Handler // of the site
	client  *http.Client
}

// reply is the answer at the end of all redirects.
type reply struct {
	status int
	body   string // not unescaped
	path   string
	header http.Header
}

// cheap makes hashing passwords almost free.
var cheap = ashiato.Options{Hash: guard.HashCost{Passes: 1, Memory: 8, Threads: 1}}

const password = "two bars in the snow"

// visit returns a visitor of a site whose data is in db.
func visit(t *testing.T, db *kvmodel.DB) *visitor {
	t.Helper()
	return visitWith(t, db, web.Config{Development: true, Kind: "mem"})
}

// visitWith is visit for a site with a config, but for its keys.
func visitWith(t *testing.T, db *kvmodel.DB, config web.Config) *visitor {
	t.Helper()
	app := ashiato.NewSite(db, cheap)
	config.Keys = [][]byte{bytes.Repeat([]byte("k"), 32)}
	site, err := web.New(app, config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(site)
	server.Config.RegisterOnShutdown(site.Close)
	server.Start()
	t.Cleanup(func() {
		site.Close()
		server.Close()
		// Changes in a store that lost its data cannot be finished.
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, kvmodel.ErrLost) {
			t.Errorf("close: %v", err)
		}
	})
	return (&visitor{t: t, site: server.URL, app: app, handler: site}).another()
}

// another returns a new visitor of the same site.
func (v *visitor) another() *visitor {
	v.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		v.t.Fatal(err)
	}
	other := *v
	other.client = &http.Client{Jar: jar}
	return &other
}

// as returns another visitor, who signs up with the handle.
func (v *visitor) as(handle string) *visitor {
	v.t.Helper()
	other := v.another()
	other.want(other.signUp(handle), 200, handle)
	return other
}

// visitMem is visitURL for a site in memory.
func visitMem(t *testing.T) *visitor {
	t.Helper()
	return visitURL(t, "mem:")
}

// visitURL returns a visitor of a site in the store, who is logged in as ann.
func visitURL(t *testing.T, store string) *visitor {
	t.Helper()
	db, err := kvopen.Open(t.Context(), store, all.Engines)
	if err != nil {
		t.Fatal(err)
	}
	return visit(t, db).as("ann")
}

// onEachStore runs test with a site on each kind of store.
func onEachStore(t *testing.T, test func(t *testing.T, v *visitor)) {
	t.Run("mem", func(t *testing.T) { test(t, visitMem(t)) })
	t.Run("bolt", func(t *testing.T) { test(t, visitURL(t, "bolt:"+filepath.Join(t.TempDir(), "app.db"))) })
	t.Run("memcached", func(t *testing.T) {
		servers.Need(t, "memcached")
		test(t, visitURL(t, "memcached://"+started(t, func() (*servers.Process, error) { return servers.Memcached() }).Addr))
	})
	t.Run("redis", func(t *testing.T) {
		servers.Need(t, "redis-server")
		test(t, visitURL(t, "redis://"+started(t, func() (*servers.Process, error) { return servers.Redis() }).Addr))
	})
}

func started(t *testing.T, start func() (*servers.Process, error)) *servers.Process {
	t.Helper()
	server, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

func (v *visitor) get(path string) reply {
	v.t.Helper()
	req, err := http.NewRequest("GET", v.site+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.send(v.client, req)
}

// post sends a form as the same site's page would.
func (v *visitor) post(path string, fields url.Values) reply {
	v.t.Helper()
	return v.send(v.client, v.form(path, fields.Encode()))
}

// postOnce is post without following a redirect.
func (v *visitor) postOnce(path string, fields url.Values) reply {
	v.t.Helper()
	client := *v.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return v.send(&client, v.form(path, fields.Encode()))
}

func (v *visitor) form(path, body string) *http.Request {
	v.t.Helper()
	req, err := http.NewRequest("POST", v.site+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return req
}

func (v *visitor) send(client *http.Client, req *http.Request) reply {
	v.t.Helper()
	resp, err := client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return reply{resp.StatusCode, string(body), resp.Request.URL.Path, resp.Header}
}

var (
	inputs    = regexp.MustCompile(`<input ([^>]*)>`)
	areas     = regexp.MustCompile(`(?s)<textarea ([^>]*)>\n?(.*?)</textarea>`)
	attribute = regexp.MustCompile(`(name|value)="([^"]*)"`)
)

// fill returns what the forms on a page send after names and values were typed.
func fill(page reply, typed ...string) url.Values {
	fields := url.Values{}
	for _, match := range slices.Concat(inputs.FindAllStringSubmatch(page.body, -1), areas.FindAllStringSubmatch(page.body, -1)) {
		field := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(match[1], -1) {
			field[a[1]] = a[2]
		}
		fields.Set(field["name"], html.UnescapeString(field["value"]+strings.Join(match[2:], "")))
	}
	for i := 0; i < len(typed); i += 2 {
		fields.Set(typed[i], typed[i+1])
	}
	return fields
}

func (v *visitor) signUp(handle string) reply {
	v.t.Helper()
	return v.post("/signup", fill(v.get("/signup"), "handle", handle, "password", password))
}

// write writes a page.
func (v *visitor) write(slug, title, body string) reply {
	v.t.Helper()
	return v.post("/write", fill(v.get("/write"), "slug", slug, "title", title, "body", body))
}

// editOf returns the address of the form that edits a page.
func (v *visitor) editOf(slug string) string {
	v.t.Helper()
	page := v.get("/p/" + slug)
	found := regexp.MustCompile(`href="(/edit/[^"]+)"`).FindStringSubmatch(page.body)
	if found == nil {
		v.t.Fatalf("no link to edit on %s:\n%s", slug, page.body)
	}
	return found[1]
}

// version returns the version in the form at a path.
func (v *visitor) version(edit string) string {
	v.t.Helper()
	return fill(v.get(edit)).Get("version")
}

// wantVersion checks the version in the form at a path.
func (v *visitor) wantVersion(edit, want string) {
	v.t.Helper()
	if got := v.version(edit); got != want {
		v.t.Errorf("%s: want version %s, got %s", edit, want, got)
	}
}

// written returns the number of pages by the member with the handle.
func (v *visitor) written(handle string) int {
	v.t.Helper()
	return strings.Count(v.get("/m/"+handle).body, `<h3 class="title"><a href="/p/`)
}

// want checks the status of got, and that the unescaped page contains the texts.
func (v *visitor) want(got reply, status int, texts ...string) {
	v.t.Helper()
	if got.status != status {
		v.t.Errorf("%s: want status %d, got %d:\n%s", got.path, status, got.status, got.body)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(got.body), text) {
			v.t.Errorf("%s: want %q on the page, got:\n%s", got.path, text, got.body)
		}
	}
}

// without checks that the page does not contain text unescaped.
func (v *visitor) without(got reply, text string) {
	v.t.Helper()
	if strings.Contains(got.body, text) {
		v.t.Errorf("%s: want no %q on the page, got:\n%s", got.path, text, got.body)
	}
}

// frail is a store that can be down, or leave the writes it performs unanswered.
type frail struct {
	kvmodel.Store
	down, mute atomic.Bool
}

func newFrail() *frail { return &frail{Store: memkv.New(memkv.Options{})} }

func (f *frail) Do(ctx context.Context, ops []kv.Op) error {
	if f.down.Load() {
		return kv.Fail(ops, kvmodel.ErrUnavailable)
	}
	err := f.Store.Do(ctx, ops)
	if !f.mute.Load() {
		return err
	}
	for i := range ops {
		if ops[i].Kind != kv.Get {
			ops[i].Result = kv.Result{Err: kvmodel.ErrUnclear}
		}
	}
	return kv.Unanswered(ops)
}

// visitFrail is visitMem with a store that can fail.
func visitFrail(t *testing.T) (*visitor, *frail) {
	t.Helper()
	store := newFrail()
	db, err := kvmodel.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	return visit(t, db).as("ann"), store
}

// cookie returns the cookie of the visitor's session.
func (v *visitor) cookie() string {
	v.t.Helper()
	at, err := url.Parse(v.site)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, cookie := range v.client.Jar.Cookies(at) {
		return cookie.Value
	}
	return ""
}

// setCookie makes value the cookie of the visitor's session.
func (v *visitor) setCookie(value string) {
	v.t.Helper()
	at, err := url.Parse(v.site)
	if err != nil {
		v.t.Fatal(err)
	}
	v.client.Jar.SetCookies(at, []*http.Cookie{{Name: "ashiato", Value: value}})
}

// settle waits for the work that continues after the replies.
func (v *visitor) settle() {
	v.t.Helper()
	if err := v.app.DB().Flush(v.t.Context()); err != nil {
		v.t.Fatal(err)
	}
}
