package apptest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// bad has values that no field accepts.
var bad = map[string]string{
	"invalid UTF-8":       "a\xff\xfeb",
	"half a character":    "a\xc3",
	"a surrogate":         "a\xed\xa0\x80b",
	"NUL":                 "a\x00b",
	"escape":              "a\x1b[2Jb",
	"delete":              "a\x7fb",
	"an old control byte": "a\u0085b",
}

func TestForms_RefuseInvalidTextAtItsField(t *testing.T) {
	c := newCommunity(t)
	before := c.state()
	for what, value := range bad {
		for name, send := range map[string]func() reply{
			"title": func() reply {
				return c.ann.post("/write", "id", newID(9), "title", value, "body", "Kept.", "slug", "bad")
			},
			"body": func() reply {
				return c.ann.post("/write", "id", newID(9), "title", "Kept.", "body", value, "slug", "bad")
			},
			"slug": func() reply {
				return c.ann.post("/write", "id", newID(9), "title", "Kept.", "body", "x", "slug", value)
			},
			"topics": func() reply {
				return c.ann.post("/write", "id", newID(9), "title", "Kept.", "body", "x", "slug", "bad", "topics", value)
			},
			"comment": func() reply { return c.ann.post("/comment/"+c.page, "id", newID(9), "text", value) },
			"about":   func() reply { return c.ann.post("/settings/profile", "about", value) },
			"handle":  func() reply { return c.guest.post("/signup", "id", newID(9), "handle", value, "password", password) },
		} {
			got := send()
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `aria-invalid="true"`) {
				t.Errorf("%s as %s: want it refused at the field, got %d:\n%s", what, name, got.status, shown(got.body))
			}
			if (name == "title" || name == "topics") && !strings.Contains(got.body, "Kept.") {
				t.Errorf("%s as %s: the other fields are lost", what, name)
			}
		}
	}
	c.unchanged(before, "bad text")
}

func TestForms_RefuseEmptyFields(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	for _, r := range requests {
		if len(r.fields) == 0 {
			continue
		}
		// The site has no form without fields, but anyone can send one.
		if got := c.ann.post(r.path); got.status >= 500 {
			t.Errorf("POST %s with nothing: want it refused, got %d", r.path, got.status)
		}
	}
	c.ann.want(c.ann.fill("/write", "/write", "title", " ", "body", "\n"), http.StatusUnprocessableEntity)
	c.ann.want(c.ann.fill("/p/tea", "/comment/"+c.page, "text", " \r\n "), http.StatusUnprocessableEntity)
	c.guest.want(c.guest.fill("/signup", "/signup"), http.StatusUnprocessableEntity)
	c.guest.want(c.guest.fill("/login", "/login"), http.StatusUnprocessableEntity)
	// Only the text about oneself may be empty, and ann's was empty before.
	if diff := c.state(); diff != before {
		c.unchanged(before, "an empty form")
	}
}

func TestForms_RefuseHugeBodies(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	for _, r := range requests {
		huge := values(append(r.fields, "more", strings.Repeat("a", 1<<20))).Encode()
		got := c.ann.send("POST", r.path, huge, http.Header{"Sec-Fetch-Site": {"same-origin"}})
		switch r.route {
		case "/restore/{id}", "/p/{slug}/like", "/p/{slug}/unlike", "/m/{handle}/follow", "/m/{handle}/unfollow", "/t/{topic}/follow", "/t/{topic}/unfollow", "/footprints/seen", "/logout", "/settings/sessions/end":
			// These read no form, so its size does not matter.
			if got.status >= 500 {
				t.Errorf("POST %s of 1 MiB: status %d", r.path, got.status)
			}
			before = c.state()
			continue
		}
		c.ann.want(got, http.StatusRequestEntityTooLarge)
		c.unchanged(before, "POST "+r.path+" of 1 MiB")
	}
}

func TestForms_KeepTheLongestTextsWhole(t *testing.T) {
	c := newCommunity(t)
	title, body := strings.Repeat("𝄞", limits["title"]), strings.Repeat("ä𝄞<", limits["body"]/3)
	c.ann.write("long", title, body, "")
	page, err := c.app.Models.Pages.BySlug.Find(t.Context(), "long")
	c.must(err)
	if page.Title != title || page.Body != body {
		t.Errorf("want %d and %d bytes kept, got %d and %d", len(title), len(body), len(page.Title), len(page.Body))
	}
	c.ann.want(c.ann.fill("/write", "/write", "slug", "longer", "title", title+"x", "body", "x"), http.StatusUnprocessableEntity, fmt.Sprint(limits["title"]+1))
}

func TestForms_SentTwiceWorkOnce(t *testing.T) {
	c := newCommunity(t)
	draft := append(c.ann.fields("/write", "/write"), "slug", "once", "title", "Once", "body", "x")
	remark := append(c.ann.fields("/p/tea", "/comment/"+c.page), "text", "Once only.")
	for range 2 {
		c.ann.want(c.ann.post("/write", draft...), http.StatusSeeOther)
		c.ann.want(c.ann.post("/comment/"+c.page, remark...), http.StatusSeeOther)
		c.ann.want(c.ann.post("/m/ben/follow"), http.StatusSeeOther)
	}
	if n := strings.Count(c.guest.get("/newest").body, `href="/p/once"`); n != 1 {
		t.Errorf("want the page once, got it %d times", n)
	}
	if n := strings.Count(c.guest.get("/p/tea").body, "Once only."); n != 1 {
		t.Errorf("want the comment once, got it %d times", n)
	}
	ben, err := c.app.Find(t.Context(), "ben")
	c.must(err)
	if ben.Followers != 1 {
		t.Errorf("want one follower, got %d", ben.Followers)
	}
}

func TestForms_NameTakenValues(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.fill("/write", "/write", "slug", "tea", "title", "More", "body", "Kept."), http.StatusUnprocessableEntity, "tea", "taken")
	for _, handle := range []string{"ann", "ANN", "Ben"} {
		c.guest.want(c.guest.fill("/signup", "/signup", "handle", handle, "password", password), http.StatusUnprocessableEntity, "taken")
	}
}

// Two tabs edit one page. The second is shown what the first saved, keeps its own text,
// and can save it.
func TestEdit_InTwoTabsLosesNothing(t *testing.T) {
	c := newCommunity(t)
	path := "/edit/" + c.page
	first, second := c.ann.fields(path, path), c.ann.fields(path, path)
	c.ann.want(c.ann.post(path, append(first, "body", "Saved in the first tab.")...), http.StatusSeeOther)
	got := c.ann.post(path, append(second, "body", "Typed in the second tab.")...)
	c.ann.want(got, http.StatusConflict, "Saved in the first tab.", "Typed in the second tab.")
	for _, f := range forms(got.body) {
		if f.action == path {
			if f.fields["body"] != "Typed in the second tab." {
				t.Errorf("want the second tab's text in its form, got %q", f.fields["body"])
			}
			c.ann.want(c.ann.post(path, append(c.ann.fields(path, path), "body", f.fields["body"])...), http.StatusSeeOther)
		}
	}
	c.guest.want(c.guest.get("/p/tea"), 200, "Typed in the second tab.")
}

// cursors has cursors that no listing of the site hands out.
var cursors = []string{
	"x", "0", "-1", "99999999999999999999", "%", "a:b", "{}", "\x00", "\xff", strings.Repeat("A", 300), strings.Repeat("z", 5000),
	"AAAA", "////", "MTIz", "null", "../..", "<b>",
}

func TestCursor_TamperingCausesNoFailure(t *testing.T) {
	c := newCommunity(t)
	for i := range 45 {
		_, err := c.app.Comment(t.Context(), c.id("ben"), c.page, newID(100+i), "One more.")
		c.must(err)
	}
	for i := range 45 {
		c.addPage("ann", i)
	}
	for _, at := range []struct{ path, name string }{
		{"/newest", "at"}, {"/feed", "at"}, {"/m/ann", "at"}, {"/t/drinks", "at"}, {"/p/tea", "comments"}, {"/m/ann/followers", "at"},
		{"/t/drinks/followers", "at"}, {"/topics", "at"}, {"/ranking", "from"}, {"/footprints", "from"},
	} {
		all := cursors
		if real := cursorIn(c.ann.get(at.path), at.name); real != "" {
			all = append(all, real[:len(real)-1], real+"A", "A"+real, strings.ToUpper(real), swapped(real))
		}
		for _, cursor := range all {
			got := c.ann.get(at.path + "?" + at.name + "=" + url.QueryEscape(cursor))
			if got.status != 200 && got.status != 400 && got.status != 404 {
				t.Errorf("%s?%s=%q: want it shown or refused, got %d", at.path, at.name, cursor, got.status)
			}
		}
	}
}

// cursorIn returns the cursor of the link to more, or "".
func cursorIn(got reply, name string) string {
	for _, tag := range tags(got.body) {
		if u, err := url.Parse(tag.attrs["href"]); err == nil && u.Query().Get(name) != "" {
			return u.Query().Get(name)
		}
	}
	return ""
}

// swapped returns a cursor with its first two letters swapped.
func swapped(cursor string) string {
	if len(cursor) < 2 {
		return cursor
	}
	return cursor[1:2] + cursor[:1] + cursor[2:]
}

func TestListing_ReachesEveryPageAndEnds(t *testing.T) {
	c := newCommunity(t)
	for i := range 65 {
		c.addPage("ann", i)
	}
	seen, path := map[string]bool{}, "/newest"
	for range 20 {
		got := c.guest.get(path)
		c.guest.want(got, 200)
		for _, tag := range tags(got.body) {
			if slug, ok := strings.CutPrefix(tag.attrs["href"], "/p/"); ok {
				seen[slug] = true
			}
		}
		next := linkNamed(got, "Older")
		if next == "" {
			break
		}
		path = next
	}
	if len(seen) != 66 {
		t.Errorf("want all 66 pages listed, got %d; the last was %s", len(seen), path)
	}
	if next := linkNamed(c.guest.get(path), "Older"); next != "" {
		t.Errorf("want an end, got %s", next)
	}
	c.guest.want(c.guest.get("/ranking?from=100000"), 200)
	c.guest.want(c.guest.get("/ranking?from=9999999999"), 200)
}

// linkNamed returns the address of the first link with the text, or "".
func linkNamed(got reply, text string) string {
	href := ""
	for _, tag := range tags(got.body) {
		if tag.name == "a" {
			href = tag.attrs["href"]
		}
		if href != "" && strings.Contains(tag.text, text) {
			return href
		}
		if tag.name == "/a" {
			href = ""
		}
	}
	return ""
}

// A deleted page disappears from every list. A page whose author is gone remains
// readable.
func TestPages_SurviveTheirAuthorAndEndWhenDeleted(t *testing.T) {
	c := newCommunity(t)
	c.addPage("ann", 1)
	path := "/edit/" + c.page
	c.ann.want(c.ann.post("/delete/"+c.page, "version", valueOf(c.ann.fields(path, path), "version")), http.StatusSeeOther)
	for _, list := range []string{"/", "/newest", "/m/ann", "/t/drinks", "/ranking?span=all", "/ranking?span=today"} {
		got := c.guest.get(list)
		c.guest.want(got, 200)
		if strings.Contains(got.body, `href="/p/tea"`) {
			t.Errorf("%s: the deleted page is still listed", list)
		}
	}
	if got := c.guest.get("/p/tea"); got.status != http.StatusNotFound && got.status != http.StatusGone {
		t.Errorf("want the page gone, got %d", got.status)
	}
	c.ann.want(c.ann.get(path), http.StatusGone)
	c.ann.post(path, "version", "1", "title", "Back", "body", "x", "slug", "tea")

	c.must(c.app.Models.Members.Delete(t.Context(), c.id("ann")))
	for _, path := range []string{"/", "/newest", "/p/page-1", "/t/words", "/ranking?span=all", "/m/ann", "/m/ben"} {
		for _, v := range []*visitor{c.guest, c.ben, c.ann} {
			if got := v.get(path); got.status >= 500 {
				t.Errorf("%s, whose author is gone: status %d", path, got.status)
			}
		}
	}
	c.guest.want(c.guest.get("/p/page-1"), 200, "Page 1")
}
