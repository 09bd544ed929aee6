package apptest

import (
	"net/http"
	"strings"
	"testing"
)

// public has the forms that anyone may send.
var public = map[string]bool{"/signup": true, "/login": true, "/logout": true}

func TestPost_FromAStrangerChangesNothing(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	for _, r := range requests {
		if public[r.route] {
			continue
		}
		for what, v := range map[string]*visitor{"a guest": c.guest, "a made-up cookie": c.withCookie("x"), "the id of a page as the cookie": c.withCookie(c.page)} {
			got := v.post(r.path, r.fields...)
			if got.status != http.StatusForbidden && (got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/login")) {
				t.Errorf("POST %s with %s: want 403 or a redirect to log in, got %d to %s", r.path, what, got.status, got.header.Get("Location"))
			}
		}
		c.unchanged(before, "POST "+r.path+" from a stranger")
	}
}

func (c *community) withCookie(value string) *visitor {
	v := c.visitor()
	v.setCookie(value)
	return v
}

func TestGet_ForMembersSendsAStrangerToLogInAndBack(t *testing.T) {
	c := newCommunity(t)
	for _, path := range []string{"/write", "/edit/" + c.page, "/feed", "/footprints", "/settings"} {
		v := c.visitor()
		got := v.get(path)
		v.want(got, http.StatusSeeOther)
		form := got.header.Get("Location")
		if !strings.HasPrefix(form, "/login?next=") {
			t.Fatalf("%s: want a redirect to log in, got %q", path, form)
		}
		if got = v.fill(form, "/login", "handle", "ann", "password", password); got.header.Get("Location") != path {
			t.Errorf("%s: want to return there, got %d to %q", path, got.status, got.header.Get("Location"))
		}
		v.want(v.get(path), 200)
	}
}

// Ben can neither see nor change what belongs to ann.
func TestMember_CannotTouchWhatBelongsToAnother(t *testing.T) {
	c := newCommunity(t)
	version := valueOf(c.ann.fields("/edit/"+c.page, "/edit/"+c.page), "version")
	session, before := c.otherSession(c.ann), c.state()
	for _, r := range []request{
		{path: "/edit/" + c.page, fields: []string{"version", version, "slug", "tea", "title", "Ben's now", "body", "x"}},
		{path: "/edit/" + c.page, fields: []string{"version", version, "slug", "tea", "title", "Ben's now", "body", "x", "do", "preview"}},
		{path: "/edit/" + c.page, fields: []string{"version", "999", "slug", "tea", "title", "Ben's now", "body", "x"}},
		{path: "/delete/" + c.page, fields: []string{"version", version}},
		{path: "/write", fields: []string{"id", c.page, "slug", "mine", "title", "Ben's now", "body", "x"}},
		{path: "/settings/session/end", fields: []string{"session", session}},
		{path: "/settings/password", fields: []string{"old", "wrong horse 17", "password", "another horse 18"}},
	} {
		got := c.ben.post(r.path, r.fields...)
		if got.status < 300 || got.status >= 500 {
			t.Errorf("POST %s from ben: want it refused, got %d", r.path, got.status)
		}
		if strings.Contains(shown(got.body), "One cup.") {
			t.Errorf("POST %s shows ben ann's form:\n%s", r.path, shown(got.body))
		}
		c.unchanged(before, "POST "+r.path+" from ben")
	}
	c.ben.want(c.ben.get("/edit/"+c.page), http.StatusForbidden)
	c.ben.post("/footprints/seen")
	c.ben.post("/settings/sessions/end")
	if !c.ann.signedIn() || !c.annElsewhere.signedIn() || c.ben.signedIn() {
		t.Error("want ben logged out everywhere, and nobody else")
	}
	if got := c.unread("ann"); got != 1 {
		t.Errorf("want ann's footprint to stay unread, got %d", got)
	}
}

func TestMember_SeesOnlyTheirOwnSettings(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.post("/settings/profile", "about", "Only tea."), http.StatusSeeOther)
	for _, path := range []string{"/settings", "/footprints", "/feed"} {
		if text := shown(c.ben.get(path).body); strings.Contains(text, "Only tea.") || strings.Contains(text, "ann") {
			t.Errorf("%s for ben mentions ann:\n%s", path, text)
		}
	}
}

func TestPages_ForMembersAreNotCached(t *testing.T) {
	c := newCommunity(t)
	for _, path := range []string{"/", "/p/tea", "/settings", "/footprints", "/edit/" + c.page, "/feed", "/m/ann"} {
		if got := c.ann.get(path).header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s for ann: want no-store, got %q", path, got)
		}
	}
}

func TestPages_ContainNoSecrets(t *testing.T) {
	c := newCommunity(t)
	for _, path := range []string{"/settings", "/metrics", "/hood", "/nowhere"} {
		for _, secret := range []string{c.ann.cookie(), password, "$argon2id$"} {
			if strings.Contains(c.ann.get(path).body, secret) {
				t.Errorf("%s shows the secret %.12q", path, secret)
			}
		}
	}
}
