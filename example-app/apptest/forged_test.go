package apptest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

var fromElsewhere = map[string]http.Header{
	"cross-site":                   {"Sec-Fetch-Site": {"cross-site"}},
	"a sibling's site":             {"Sec-Fetch-Site": {"same-site"}},
	"cross-site with the origin":   {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
	"an old browser":               {"Origin": {"https://evil.example"}},
	"a hidden origin":              {"Origin": {"null"}},
	"an origin with the same name": {"Origin": {"https://127.0.0.1.evil.example"}},
}

func TestForms_FromElsewhereOrFromStrangersChangeNothing(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	strangers := map[string]*visitor{"a guest": c.guest, "a made-up cookie": c.withCookie("x"), "half a cookie": c.withCookie(c.ann.cookie()[:40])}
	for _, r := range requests {
		for what, header := range fromElsewhere {
			c.ann.want(c.ann.send("POST", r.path, values(r.fields).Encode(), header), http.StatusForbidden, "another site")
			c.unchanged(before, "POST "+r.path+" from "+what)
		}
		for _, method := range []string{"GET", "HEAD"} {
			c.ann.send(method, r.path+"?"+values(r.fields).Encode(), "", nil)
		}
		if !slices.Contains([]string{"/signup", "/login", "/logout", "/drawings", "/hood/kill"}, r.route) { // Guests send them.
			for what, v := range strangers {
				got := v.post(r.path, r.fields...)
				if got.status != http.StatusForbidden && (got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/login")) {
					t.Errorf("POST %s with %s: want 403 or a redirect to log in, got %d to %s", r.path, what, got.status, got.header.Get("Location"))
				}
			}
		}
		c.unchanged(before, "GET of "+r.path+", or POST from a stranger")
	}
}

func (c *community) withCookie(value string) *visitor {
	v := c.visitor()
	v.setCookie(value)
	return v
}

func TestMember_CannotTouchWhatBelongsToAnother(t *testing.T) {
	c := newCommunity(t)
	version := valueOf(c.ann.fields("/edit/"+c.page, "/edit/"+c.page), "version")
	edited, trashed := c.past()
	before := c.state()
	for _, r := range []request{
		{path: "/edit/" + c.page, fields: []string{"version", version, "title", "Ben's now", "body", "x", "topics", ""}},
		{path: "/edit/" + c.page, fields: []string{"version", version, "title", "Ben's now", "body", "x", "topics", "", "do", "preview"}},
		{path: "/delete/" + c.page, fields: []string{"version", version}},
		{path: "/restore/" + trashed},
		{path: "/write", fields: []string{"id", c.page, "title", "Ben's now", "body", "x"}},
		{path: "/settings/password", fields: []string{"old", "wrong horse 17", "password", "another horse 18"}},
	} {
		got := c.ben.post(r.path, r.fields...)
		if got.status < 300 || got.status >= 500 || strings.Contains(shown(got.body), "One cup.") {
			t.Errorf("POST %s from ben: want it refused, got %d:\n%s", r.path, got.status, shown(got.body))
		}
		c.unchanged(before, "POST "+r.path+" from ben")
	}
	for _, path := range []string{"/edit/" + c.page, "/edit/" + edited + "?edit=1", "/history/" + edited} {
		c.ben.want(c.ben.get(path), http.StatusForbidden)
	}
	c.ben.post("/settings/sessions/end")
	if !c.ann.signedIn() || !c.annElsewhere.signedIn() || c.ben.signedIn() {
		t.Error("want ben logged out everywhere, and nobody else")
	}
}

func TestLogIn_LeadsOnWithinTheSite(t *testing.T) {
	c := newCommunity(t)
	base, err := url.Parse(c.url + "/login")
	c.must(err)
	for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "/p/tea\r\nSet-Cookie: a=b"} {
		c.later()
		got := c.visitor().post("/login", "handle", "ann", "password", password, "next", next)
		to := got.header.Get("Location")
		target, err := base.Parse(to)
		if err != nil || got.status != http.StatusSeeOther || target.Host != base.Host || target.Scheme != base.Scheme || strings.ContainsAny(to, "\\\t\r\n") || strings.HasPrefix(to, "//") {
			t.Errorf("next %q: want a redirect within the site, got %d to %q", next, got.status, to)
		}
		if len(got.header.Values("Set-Cookie")) > 1 {
			t.Errorf("next %q set a cookie: %q", next, got.header.Values("Set-Cookie"))
		}
	}
	for _, path := range []string{"/write", "/edit/" + c.page, "/feed", "/footprints", "/settings"} {
		v := c.visitor()
		form := v.get(path).header.Get("Location")
		if got := v.fill(form, "/login", "handle", "ann", "password", password); got.header.Get("Location") != path {
			t.Errorf("%s: want to return there, got %d to %q", path, got.status, got.header.Get("Location"))
		}
	}
}
