package inspect_test

import (
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type faceUser struct {
	ID, Name, City, Email, Password string
	Visits                          int64 `msgpack:"-"`
}

func faceIndex(name, def string, value func(*faceUser) string) kvmodel.IndexSpec[faceUser, string] {
	return kvmodel.IndexSpec[faceUser, string]{
		Name: name, Def: def, Key: kvmodel.StringKey[string](), Values: func(u *faceUser) []string { return []string{value(u)} },
	}
}

func faceUsers(db *kvmodel.DB) *kvmodel.Records[faceUser, string] {
	users := kvmodel.NewRecords(db, kvmodel.Schema[faceUser, string]{
		Name: "User", Version: 2, ID: func(u *faceUser) string { return u.ID }, SetID: func(u *faceUser, id string) { u.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[faceUser]{}, Private: []string{"Email", "Password"},
		Counters: []kvmodel.CounterOf[faceUser]{{Name: "Visits", Set: func(u *faceUser, n int64) { u.Visits = n }}},
	})
	index.NewUnique(users, faceIndex("ByName", "unique Name string", func(u *faceUser) string { return u.Name }))
	index.NewUnique(users, faceIndex("ByEmail", "unique Email string", func(u *faceUser) string { return u.Email }))
	index.NewUnique(users, faceIndex("ByAddress", "unique Address() string", func(u *faceUser) string { return strings.ToLower(u.Email) }))
	index.NewLists(users, faceIndex("ByCity", "list City string", func(u *faceUser) string { return u.City }))
	return users
}

type faceStore struct {
	kv.Store
	writes atomic.Int64
	down   atomic.Bool
}

var errFaceDown = kv.Unavailable(errors.New("the store is down"))

func (s *faceStore) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Atomic = nil
	return p
}

func (s *faceStore) Do(ctx context.Context, ops []kv.Op) error {
	if s.down.Load() {
		return kv.Fail(ops, errFaceDown)
	}
	for _, op := range ops {
		if op.Kind != kv.Get {
			s.writes.Add(1)
		}
	}
	return s.Store.Do(ctx, ops)
}

type faced struct {
	http.Handler
	store *faceStore
}

const faceSecret = "let me look"

func newFaced(t *testing.T) faced {
	t.Helper()
	store := &faceStore{Store: memkv.New(memkv.Options{})}
	db, err := kvmodel.Open(store, kvmodel.Log(slog.New(slog.DiscardHandler)))
	must(t, err)
	t.Cleanup(func() { db.Close(context.Background()) })
	users := faceUsers(db)
	for _, u := range []faceUser{
		{ID: "u81", Name: "heron", City: "Oslo", Email: "Ann@example.org", Password: "geheim"},
		{ID: "a b/c", Name: "<b>tern", City: "New York", Email: "tern@example.org", Password: "tief"},
	} {
		must(t, users.Create(t.Context(), &u))
	}
	h, err := inspect.Handler(inspect.New(db), inspect.HandlerOptions{Base: "/inspect", Guard: func(r *http.Request) error {
		if r.Header.Get("Secret") != faceSecret {
			return errors.New("not you")
		}
		return nil
	}})
	must(t, err)
	return faced{h, store}
}

func (f faced) ask(method, path, secret string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Secret", secret)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

func (f faced) want(t *testing.T, path string, status int, texts ...string) string {
	t.Helper()
	w := f.ask(http.MethodGet, path, faceSecret)
	proof.Equal(t, w.Code, status, "%s: status", path)
	body := w.Body.String()
	for _, text := range texts {
		if !strings.Contains(faceWords(body), text) && !strings.Contains(body, text) {
			t.Errorf("%s: want %q, got:\n%s", path, text, faceWords(body))
		}
	}
	return body
}

// faceWords returns the words of a page, those of neighbors without a space between them.
func faceWords(page string) string {
	return regexp.MustCompile(`\s*<[^>]*>\s*`).ReplaceAllString(page, "")
}

var facePages = []string{
	"/inspect/", "/inspect/model?model=User", "/inspect/record?model=User&id=u81", "/inspect/record?model=User&id=a+b%2Fc",
	"/inspect/index?index=User.ByCity&value=Oslo", "/inspect/index?index=User.ByCity", "/inspect/index?index=User.ByEmail",
	"/inspect/model?model=Usr", "/inspect/model", "/inspect/record?model=User&id=none", "/inspect/record?model=User",
	"/inspect/index?index=User.ByCity&n=many", "/inspect/index?index=User.ByCity&n=1000000", "/inspect/index?index=None", "/inspect/elsewhere", "/elsewhere",
}

func TestHandler_WithoutAGuardThereIsNone(t *testing.T) {
	for name, o := range map[string]inspect.HandlerOptions{
		"no guard":                  {Base: "/inspect"},
		"a base that is no path":    {Base: "inspect", Guard: func(*http.Request) error { return nil }},
		"a base that ends in /":     {Base: "/inspect/", Guard: func(*http.Request) error { return nil }},
		"a base of nothing but /":   {Base: "/", Guard: func(*http.Request) error { return nil }},
		"a base with parts to fold": {Base: "/a/../b", Guard: func(*http.Request) error { return nil }},
	} {
		if h, err := inspect.Handler(nil, o); !errors.Is(err, kvmodel.ErrInvalid) || h != nil {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}

func TestHandler_WhomTheGuardRefusesGets403AndNothingElse(t *testing.T) {
	f := newFaced(t)
	style := regexp.MustCompile(`/inspect/face\.\w+\.css`).FindString(f.want(t, "/inspect/", 200))
	for _, path := range append(facePages, style, "/inspect") {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			w := f.ask(method, path, "wrong")
			if w.Code != http.StatusForbidden || w.Body.Len() != 0 || w.Header().Get("Location") != "" {
				t.Errorf("%s %s: want 403 and nothing else, got %d %q %v", method, path, w.Code, w.Body, w.Header())
			}
		}
	}
}

func TestHandler_OnlyReads(t *testing.T) {
	f := newFaced(t)
	before := f.store.writes.Load()
	for _, path := range facePages {
		f.want(t, path, f.ask("HEAD", path, faceSecret).Code)
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
			if w := f.ask(method, path, faceSecret); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: want 405, got %d", method, path, w.Code)
			}
		}
	}
	proof.Equal(t, f.store.writes.Load()-before, 0, "the pages have written")
}

func TestHandler_EveryAnswerHasStrictHeaders(t *testing.T) {
	f := newFaced(t)
	for _, path := range facePages {
		for _, secret := range []string{faceSecret, "wrong"} {
			header := f.ask("GET", path, secret).Header()
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; style-src 'self'",
				"X-Content-Type-Options":  "nosniff",
				"Referrer-Policy":         "same-origin",
				"Cache-Control":           "no-store",
			} {
				if !strings.HasPrefix(header.Get(name), want) {
					t.Errorf("%s: want %s %q, got %q", path, name, want, header.Get(name))
				}
			}
		}
	}
}

func TestHandler_PrivateFieldsStayMasked(t *testing.T) {
	f := newFaced(t)
	secret := regexp.MustCompile(`(?i)ann(@|%40|%2540|\.?$|&#64;)|geheim|67 65 68 65`)
	for _, path := range []string{
		"/inspect/", "/inspect/model?model=User", "/inspect/record?model=User&id=u81", "/inspect/record?model=User&id=u81&private=1&open=true",
		"/inspect/index?index=User.ByEmail", "/inspect/index?index=User.ByAddress", "/inspect/index?index=User.ByCity&value=Oslo",
	} {
		body := f.ask("GET", path, faceSecret).Body.String()
		if found := secret.FindString(body); found != "" {
			t.Errorf("%s shows %q:\n%s", path, found, body)
		}
	}
	f.want(t, "/inspect/record?model=User&id=u81", 200, "Email***", "Password***", "ByEmail***", "ByAddress***")
	f.want(t, "/inspect/index?index=User.ByEmail&value=ann@example.org", 200, "Hidden, because")
}

func TestHandler_PagesShowWhatTheyCostAndTheCommand(t *testing.T) {
	f := newFaced(t)
	cost := regexp.MustCompile(`[1-9]\d* trips?</li><li>[1-9]\d* keys?</li><li>\d`)
	for path, command := range map[string]string{
		"/inspect/":                                       "db status<",
		"/inspect/model?model=User":                       "db ls User<",
		"/inspect/record?model=User&id=u81":               "db get User u81<",
		"/inspect/record?model=User&id=a+b%2Fc":           "db get User a%20b%2Fc<",
		"/inspect/index?index=User.ByCity&value=it%27s+a": `db list &#39;User.ByCity/it&#39;\&#39;&#39;s a&#39;<`,
		"/inspect/index?index=User.ByCity&value=Oslo&n=3": "db list User.ByCity/Oslo 3<",
	} {
		if body := f.want(t, path, 200, command); !cost.MatchString(body) {
			t.Errorf("%s does not show what it costs:\n%s", path, body)
		}
	}
}

func TestHandler_PagesShowWhatThereIs(t *testing.T) {
	f := newFaced(t)
	f.want(t, "/inspect/", 200, "All is well.", "User", "~2", "ByCity", "Processes")
	f.want(t, "/inspect/model?model=User", 200, "User ID", "Private fieldsEmail, Password", "ByNameuniquebuilt")
	f.want(t, "/inspect/record?model=User&id=u81", 200,
		"Name&#34;heron&#34;", "Visits (a counter)0", "r:User:u81", "u:User:ByName:heron", "ok")
	f.want(t, "/inspect/index?index=User.ByCity&value=New%2520York", 200, "a%20b%2Fc", "/inspect/record?id=a%2520b%252Fc&amp;model=User")
	f.want(t, "/inspect/index?index=User.ByCity&value=New+York", 200, "a%20b%2Fc")
	f.want(t, "/inspect/index?index=User.ByCity&value=Rome", 200, "There is no entry.")
}

func TestHandler_WhatIsWrongAtAPlaceStandsBesideIt(t *testing.T) {
	f := newFaced(t)
	must(t, f.store.Store.Do(t.Context(), []kv.Op{kv.OpDelete("u:User:ByName:heron")}))
	f.want(t, "/inspect/record?model=User&id=u81", 200, "ByNameheronu:User:ByName:heron")
	proof.Contains(t, f.want(t, "/inspect/record?model=User&id=u81", 200), `class="wrong"`)
}

func TestHandler_FailuresAreInPlainWords(t *testing.T) {
	f := newFaced(t)
	f.want(t, "/inspect/model?model=Usr", 404, "did you mean User?")
	f.want(t, "/inspect/model?model=Nothing", 404, "there are User")
	f.want(t, "/inspect/index?index=User.Nothing", 404, "User.ByCity")
	f.want(t, "/inspect/record?model=User&id=none", 404, "There is no User with the ID none.", "A record")
	f.want(t, "/inspect/record?model=User", 400, "The ID is missing.", "A record")
	f.want(t, "/inspect/record?model=User&id="+url.QueryEscape(strings.Repeat("x", 100_000)), 404)
	f.want(t, "/inspect/index?index=User.ByCity&n=many", 400, "is not a number of entries")
	f.want(t, "/inspect/index?index=User.ByCity&n=0", 400, "a page of 0")
	f.want(t, "/inspect/elsewhere", 404, "no page at this address")
	f.store.down.Store(true)
	for _, path := range []string{"/inspect/", "/inspect/model?model=User", "/inspect/record?model=User&id=u81", "/inspect/index?index=User.ByCity&value=Oslo"} {
		f.want(t, path, 503, "The store does not answer")
	}
}

func TestHandler_HeadingsGoInOrderAndPartsHaveNames(t *testing.T) {
	f := newFaced(t)
	for _, path := range facePages {
		body := f.ask("GET", path, faceSecret).Body.String()
		if strings.Count(body, "<h1>") != 1 || strings.Index(body, "<h1>") > strings.Index(body+"<h2>", "<h2>") {
			t.Errorf("%s: headings do not go in order:\n%s", path, body)
		}
		for part, name := range map[string]string{"<table": "<caption>", `<input [^>]*\bid=`: "<label for=", "<html": `lang="en"`} {
			if n, named := len(regexp.MustCompile(part).FindAllString(body, -1)), strings.Count(body, name); n != named {
				t.Errorf("%s has %d of %s and %d of %s:\n%s", path, n, part, named, name, body)
			}
		}
		if n := strings.Count(body, "<th") - strings.Count(body, "<thead"); n != strings.Count(body, "scope=") {
			t.Errorf("%s: a head without scope:\n%s", path, body)
		}
		if found := regexp.MustCompile(`<script|style="| on\w+="|<b>tern`).FindString(body); found != "" {
			t.Errorf("%s has %q:\n%s", path, found, body)
		}
	}
}

func TestHandler_ServesItsStyleAndLeadsToIt(t *testing.T) {
	f := newFaced(t)
	style := regexp.MustCompile(`/inspect/face\.\w+\.css`).FindString(f.want(t, "/inspect/", 200))
	if w := f.ask("GET", style, faceSecret); w.Code != 200 || w.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%s: got %d %q", style, w.Code, w.Header())
	}
	if w := f.ask("GET", "/inspect", faceSecret); w.Code != 303 || w.Header().Get("Location") != "/inspect/" {
		t.Errorf("/inspect: got %d %q", w.Code, w.Header())
	}
}

func TestHandler_LinksLeadToPages(t *testing.T) {
	f := newFaced(t)
	seen := map[string]bool{}
	for next := []string{"/inspect/", "/inspect/record?model=User&id=u81"}; len(next) > 0; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		for _, link := range regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(f.want(t, next[0], 200), -1) {
			next = append(next, html.UnescapeString(link[1]))
		}
	}
	if len(seen) < 10 {
		t.Errorf("from the first page links lead to %d pages only", len(seen))
	}
}
