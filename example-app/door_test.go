package main

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// openDoor serves a door to a few demo pages beside a site.
func openDoor(t *testing.T) (d *door, url string) {
	t.Helper()
	store := memkv.New(memkv.Options{})
	if _, err := demo.Fill(t.Context(), store, demo.Plan{Pages: 3, Password: "two bars in the snow"}); err != nil {
		t.Fatal(err)
	}
	db, err := kvmodel.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.Background()) })
	ashiato.NewSite(db, ashiato.Options{})
	if d, err = newDoor(db, false); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.beside(http.NotFoundHandler()))
	t.Cleanup(server.Close)
	return d, server.URL
}

// browser returns a client that keeps cookies, as one more browser.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func wantFrom(t *testing.T, c *http.Client, url string, status int, end string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != status || !strings.HasSuffix(resp.Request.URL.String(), end) {
		t.Errorf("%s: want status %d at an address that ends in %s, got %d at %s", url, status, end, resp.StatusCode, resp.Request.URL)
	}
}

func TestDoor_TheAddressOpensItOnceAndForOneBrowser(t *testing.T) {
	d, url := openDoor(t)
	first, second := browser(t), browser(t)
	wantFrom(t, first, url+"/inspect/", 403, "/inspect/")
	wantFrom(t, first, url+"/inspect/?key=wrong", 403, "")
	wantFrom(t, first, url+d.address(), 200, "/inspect/")
	for _, path := range []string{"/inspect/", "/inspect/model?model=Page", "/inspect/index?index=Page.TopViews", "/inspect/index?index=Page.Newest"} {
		wantFrom(t, first, url+path, 200, path)
		wantFrom(t, second, url+path, 403, path)
	}
	wantFrom(t, second, url+d.address(), 403, "")
	wantFrom(t, second, url+"/elsewhere", 404, "")
	wantFrom(t, second, url+"/inspector", 404, "")
}

func TestDoor_TheCookieIsNotTheKey(t *testing.T) {
	d, _ := openDoor(t)
	for _, value := range []string{"", d.key, d.hash + "0", strings.ToUpper(d.hash)} {
		r := httptest.NewRequest("GET", "/inspect/", nil)
		r.AddCookie(&http.Cookie{Name: doorCookie, Value: value})
		if d.guard(r) == nil {
			t.Errorf("a cookie with %q opens the door", value)
		}
	}
	w := httptest.NewRecorder()
	d.beside(nil).ServeHTTP(w, httptest.NewRequest("GET", d.address(), nil))
	cookie := w.Result().Cookies()[0]
	if cookie.Value == d.key || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/inspect" {
		t.Errorf("got the cookie %q", cookie)
	}
	if w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the address with the key may be kept or told: %v", w.Header())
	}
}

func TestRun_WithoutTheFlagThereIsNoDoor(t *testing.T) {
	url, stop := start(t, "-store", "mem:", "-demo", "0")
	wantPage(t, url+"inspect/", 404)
	wantEnd(t, stop)

	url, stop = start(t, "-store", "mem:", "-demo", "0", "-inspect")
	if status, body := get(t, url+"inspect/"); status != 403 || body != "" {
		t.Errorf("want 403 and nothing else, got %d %q", status, body)
	}
	wantPage(t, url, 200)
	wantEnd(t, stop)
}
