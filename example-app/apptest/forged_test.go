package apptest

import (
	"net/http"
	"net/url"
	"testing"
)

// fromElsewhere has the headers that browsers send with a form from another site.
var fromElsewhere = map[string]http.Header{
	"cross-site":                   {"Sec-Fetch-Site": {"cross-site"}},
	"a sibling's site":             {"Sec-Fetch-Site": {"same-site"}},
	"cross-site with the origin":   {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
	"an old browser":               {"Origin": {"https://evil.example"}},
	"a hidden origin":              {"Origin": {"null"}},
	"an origin with the same name": {"Origin": {"https://127.0.0.1.evil.example"}},
}

func TestPost_FromAnotherSiteIsRefusedAndChangesNothing(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	for _, r := range requests {
		for what, header := range fromElsewhere {
			got := c.ann.send("POST", r.path, values(r.fields).Encode(), header)
			c.ann.want(got, http.StatusForbidden, "another site")
			c.unchanged(before, "POST "+r.path+" from "+what)
		}
	}
}

func TestPost_FromThisSiteIsAccepted(t *testing.T) {
	for what, headerOf := range map[string]func(c *community) http.Header{
		"a page of it":          func(*community) http.Header { return http.Header{"Sec-Fetch-Site": {"same-origin"}} },
		"an old browser":        func(c *community) http.Header { return http.Header{"Origin": {c.url}} },
		"no browser, no header": func(*community) http.Header { return nil },
	} {
		c := newCommunity(t)
		for _, r := range c.requests()[:12] {
			if got := c.ann.send("POST", r.path, values(r.fields).Encode(), headerOf(c)); got.status == http.StatusForbidden {
				t.Errorf("POST %s from %s: want it accepted, got %s", r.path, what, shown(got.body))
			}
		}
	}
}

func TestGet_AtAFormsAddressChangesNothing(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	for _, r := range requests {
		for _, method := range []string{"GET", "HEAD"} {
			got := c.ann.send(method, r.path+"?"+values(r.fields).Encode(), "", nil)
			if got.status >= 500 {
				t.Errorf("%s %s: status %d", method, r.path, got.status)
			}
		}
		c.unchanged(before, "GET "+r.path)
	}
}

func TestPost_WithoutAFormDoesNotFail(t *testing.T) {
	c := newCommunity(t)
	for _, r := range c.requests() {
		header := http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"text/plain"}}
		if got := c.ben.send("POST", r.path, values(r.fields).Encode(), header); got.status >= 500 {
			t.Errorf("POST %s as text/plain: status %d", r.path, got.status)
		}
	}
}

func TestRedirect_StaysOnTheSite(t *testing.T) {
	c := newCommunity(t)
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example`, `\\evil.example`, "/\t/evil.example", "http:evil.example",
		"javascript:alert(1)", "evil.example", "/\n/evil.example", "https:///evil.example", "////evil.example", "/%09/evil.example",
		"/..//evil.example", "data:text/html,x", " //evil.example", "\x00//evil.example", "/p/tea\r\nSet-Cookie: a=b",
	} {
		c.later()
		v := c.visitor()
		c.wantOwn(v.post("/login", append(v.fields("/login?next="+url.QueryEscape(next), "/login"), "handle", "ann", "password", password)...), next)
		c.wantOwn(c.visitor().post("/login", "handle", "ann", "password", password, "next", next), next)
	}
	v := c.visitor()
	got := v.post("/login", "handle", "ann", "password", password, "next", "/p/tea?comments=x#comments")
	if to := got.header.Get("Location"); to != "/p/tea?comments=x#comments" {
		t.Errorf("want the page the visitor came from, got %q", to)
	}
}

// wantOwn wants a redirect that browsers resolve within the site.
func (c *community) wantOwn(got reply, next string) {
	c.t.Helper()
	to := got.header.Get("Location")
	base, err := url.Parse(c.url + "/login")
	c.must(err)
	target, err := base.Parse(to)
	if err != nil || got.status != http.StatusSeeOther || target.Host != base.Host || target.Scheme != base.Scheme {
		c.t.Errorf("next %q: want a redirect within the site, got %d to %q", next, got.status, to)
	}
	for i, r := range to {
		if r == '\\' || r < ' ' || i == 1 && r == '/' {
			c.t.Errorf("next %q: a browser resolves %q to another site", next, to)
		}
	}
	if len(got.header.Values("Set-Cookie")) > 1 {
		c.t.Errorf("next %q set a cookie: %q", next, got.header.Values("Set-Cookie"))
	}
}
