package apptest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Errors on purpose would hide the results.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	code := m.Run()
	browser.End()
	os.Exit(code)
}

var cheap = guard.HashCost{Passes: 1, Memory: 64, Threads: 1}

const password = "correct horse 17"

type site struct {
	t       testing.TB
	url     string
	handler http.Handler // nil: the site is elsewhere
	app     *ashiato.Site

	strangers int           // who have looked at something
	ahead     *atomic.Int64 // how far the site's clock is ahead
}

// A proxy speaks TLS.
var (
	development = web.Config{Development: true, Kind: "mem"}
	proxied     = web.Config{}
)

func inside(t testing.TB, db *kvmodel.DB, config web.Config) *site {
	t.Helper()
	app := ashiato.NewSite(db, cheap)
	config.Keys = [][]byte{bytes.Repeat([]byte("k"), 32)}
	handler, err := web.New(app, config)
	must(t, err)
	t.Cleanup(handler.Close)
	return &site{t: t, url: "https://ashiato.example", handler: handler, app: app}
}

func inMemory(t testing.TB, config web.Config) *site {
	t.Helper()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	return inside(t, db, config)
}

// open returns a site in development mode on a server of its own.
func open(t testing.TB, store kv.Store) *site {
	t.Helper()
	ahead := new(atomic.Int64)
	db, err := kvmodel.Open(store, kvmodel.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	must(t, err)
	t.Cleanup(func() {
		// Changes in a store that lost its data cannot be finished.
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, kvmodel.ErrLost) {
			t.Errorf("close: %v", err)
		}
	})
	config := development
	config.Kill = func(ctx context.Context) (string, error) { return demo.KillWriter(ctx, store) }
	s := inside(t, db, config)
	s.url, s.ahead = s.serve(), ahead
	return s
}

func (s *site) serve() string {
	server := httptest.NewUnstartedServer(s.handler)
	server.Config.RegisterOnShutdown(s.handler.(*web.Site).Close) // which ends streams
	server.Start()
	s.t.Cleanup(server.Close)
	return server.URL
}

// later ends the wait of visitors after too many tries.
func (s *site) later() { s.ahead.Add(int64(time.Hour)) }

// settle waits for the work that continues after an answer.
func (s *site) settle() {
	s.t.Helper()
	s.must(s.app.DB().Flush(s.t.Context()))
}

func (s *site) id(handle string) string {
	s.t.Helper()
	member, err := s.app.Find(s.t.Context(), handle)
	s.must(err)
	return member.ID
}

func (s *site) must(err error) {
	s.t.Helper()
	must(s.t, err)
}

// visitor is a browser without scripts.
type visitor struct {
	*site
	client *http.Client
	ip     string
	ctx    context.Context // of its requests
}

// visitor returns a new visitor, at the same address as all others.
func (s *site) visitor() *visitor { return s.from("192.0.2.1") }

func (s *site) from(ip string) *visitor {
	// New cannot fail without options.
	jar, _ := cookiejar.New(nil)
	v := &visitor{site: s, ip: ip, ctx: s.t.Context()}
	v.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if s.handler != nil {
		v.client.Transport = v
	}
	return v
}

// at returns the visitor, with the same cookies, at another process.
func (v *visitor) at(s *site) *visitor {
	other := s.from(v.ip)
	other.client.Jar = v.client.Jar
	return other
}

func (v *visitor) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr = net.JoinHostPort(v.ip, "1234")
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *site) member(handle string) *visitor {
	s.t.Helper()
	v := s.visitor()
	v.want(v.fill("/signup", "/signup", "handle", handle, "password", password), 303)
	if v.cookie() == "" {
		s.t.Fatalf("%s signed up and has no cookie", handle)
	}
	return v
}

type reply struct {
	path   string
	status int
	header http.Header
	body   string
}

func (v *visitor) get(path string) reply {
	v.t.Helper()
	return v.send("GET", path, "", nil)
}

// post sends a form as a page would.
func (v *visitor) post(path string, fields ...string) reply {
	v.t.Helper()
	return v.send("POST", path, values(fields).Encode(), http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

func values(fields []string) url.Values {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

func (v *visitor) send(method, path, body string, header http.Header) reply {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.ctx, method, v.url+path, strings.NewReader(body))
	v.must(err)
	if method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(req.Header, header)
	resp, err := v.client.Do(req)
	v.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	v.must(err)
	return reply{path, resp.StatusCode, resp.Header, string(text)}
}

// fill completes the form for action on a page, and sends it.
func (v *visitor) fill(page, action string, fields ...string) reply {
	v.t.Helper()
	return v.post(action, append(v.fields(page, action), fields...)...)
}

func (v *visitor) fields(page, action string) []string {
	v.t.Helper()
	got := v.get(page)
	if fields, ok := forms(got.body)[action]; ok {
		return fields
	}
	v.t.Fatalf("%s (status %d) has no form for %s:\n%s", page, got.status, action, got.body)
	return nil
}

func (v *visitor) write(title, body, topics string) string {
	v.t.Helper()
	v.want(v.fill("/write", "/write", "title", title, "body", body, "topics", topics), 303)
	page, err := v.app.Models.Pages.BySlug.Find(v.t.Context(), ashiato.SlugOf(title))
	v.must(err)
	return page.ID
}

func (v *visitor) cookie() string {
	for _, c := range v.client.Jar.Cookies(v.address()) {
		if strings.HasSuffix(c.Name, "ashiato") {
			return c.Value
		}
	}
	return ""
}

func (v *visitor) setCookie(value string) {
	v.client.Jar.SetCookies(v.address(), []*http.Cookie{{Name: "ashiato", Value: value, Path: "/"}})
}

func (v *visitor) address() *url.URL {
	// The URL of a server always parses.
	u, _ := url.Parse(v.url)
	return u
}

func (v *visitor) signedIn() bool {
	v.t.Helper()
	return v.get("/settings").status == http.StatusOK
}

func (v *visitor) want(got reply, status int, texts ...string) {
	v.t.Helper()
	if got.status != status {
		v.t.Errorf("%s: want status %d, got %d, which shows:\n%s", got.path, status, got.status, shown(got.body))
	}
	for _, text := range texts {
		if !strings.Contains(shown(got.body), text) {
			v.t.Errorf("%s: want %q on the page, which shows:\n%s", got.path, text, shown(got.body))
		}
	}
}

var must = proof.Must

type tag struct {
	name  string // "/p" of an end
	attrs map[string]string
	text  string // up to the next tag
}

func tags(page string) []tag {
	all := []tag{{}} // so that each text follows one
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		switch token := tokens.Token(); kind {
		case html.ErrorToken:
			return all[1:]
		case html.TextToken:
			all[len(all)-1].text += token.Data
		case html.EndTagToken:
			all = append(all, tag{name: "/" + token.Data})
		case html.StartTagToken, html.SelfClosingTagToken:
			attrs := map[string]string{}
			for _, a := range token.Attr {
				attrs[a.Key] = a.Val
			}
			all = append(all, tag{name: token.Data, attrs: attrs})
		}
	}
}

func (t tag) shape() string {
	return strings.Join(append([]string{t.name}, slices.Sorted(maps.Keys(t.attrs))...), " ")
}

// forms has the names and values of fields by action.
func forms(page string) map[string][]string {
	all, open := map[string][]string{}, ""
	for _, t := range tags(page) {
		switch {
		case t.name == "form" && strings.EqualFold(t.attrs["method"], "POST"):
			open = t.attrs["action"]
			all[open] = nil
		case t.name == "/form":
			open = ""
		case open == "":
		case t.name == "input":
			all[open] = append(all[open], t.attrs["name"], t.attrs["value"])
		case t.name == "textarea":
			all[open] = append(all[open], t.attrs["name"], strings.TrimPrefix(t.text, "\n"))
		}
	}
	return all
}

func has(attrs map[string]string, name string) bool { _, ok := attrs[name]; return ok }

func shown(page string) string {
	var all []string
	for _, t := range tags(page) {
		if t.name != "script" && t.name != "style" && t.name != "title" {
			all = append(all, t.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}
