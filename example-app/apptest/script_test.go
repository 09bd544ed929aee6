package apptest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// written has the tags that Markdown may produce, and those of the notice about too
// many attempts.
var written = []string{"p", "p dir", "em", "code", "a href rel", "h2", "blockquote", "br", "p class role"}

// An audit knows the tags of harmless pages.
type audit struct {
	*community
	fair map[string]bool // by shape
}

// learn records the tags of a harmless page.
func (a *audit) learn(what string, got reply) {
	a.t.Helper()
	if got.status >= 500 {
		a.t.Fatalf("%s: status %d", what, got.status)
	}
	for _, tag := range shape(got.body) {
		a.fair[tag] = true
	}
}

// fairAddress matches the addresses that a page may have.
var fairAddress = regexp.MustCompile(`^(/([^/\\]|$)|#|https?://\w)`)

// check wants a page to have no tag, attribute or kind of address that harmless pages
// do not have.
func (a *audit) check(what, payload string, got reply) {
	a.t.Helper()
	if got.status >= 500 {
		a.t.Errorf("%s with %s: status %d", what, payload, got.status)
	}
	for _, tag := range tags(got.body) {
		if !a.fair[tag.shape()] {
			a.t.Errorf("%s with %s: a new tag %q", what, payload, tag.shape())
		}
		for _, name := range []string{"href", "src", "action", "formaction", "data-live", "data-to", "data-hood", "data-found"} {
			if value, has := tag.attrs[name]; has && !fairAddress.MatchString(value) {
				a.t.Errorf("%s with %s: %s leads to %q", what, payload, tag.shape(), value)
			}
		}
	}
}

// places returns all pages that show what ann wrote.
func (c *community) places() map[string]func() reply {
	return map[string]func() reply{
		"page":                 func() reply { return c.guest.get("/p/tea") },
		"page to a member":     func() reply { return c.ben.get("/p/tea") },
		"page to ann":          func() reply { return c.ann.get("/p/tea") },
		"home":                 func() reply { return c.guest.get("/") },
		"home to a member":     func() reply { return c.ben.get("/") },
		"newest":               func() reply { return c.guest.get("/newest") },
		"feed":                 func() reply { return c.ben.get("/feed") },
		"ranking":              func() reply { return c.guest.get("/ranking") },
		"ranking to ann":       func() reply { return c.ann.get("/ranking?span=all&page=tea") },
		"profile":              func() reply { return c.guest.get("/m/ann") },
		"own profile":          func() reply { return c.ann.get("/m/ann") },
		"followers":            func() reply { return c.guest.get("/m/ben/followers") },
		"topic":                func() reply { return c.guest.get("/t/drinks") },
		"followers of a topic": func() reply { return c.guest.get("/t/drinks/followers") },
		"topics":               func() reply { return c.guest.get("/topics") },
		"form":                 func() reply { return c.ann.get("/edit/" + c.page) },
		"settings":             func() reply { return c.ann.get("/settings") },
		"footprints":           func() reply { return c.ben.get("/footprints") },
		"search":               func() reply { return c.guest.get("/search") },
		"titles":               func() reply { return c.guest.get("/search/titles") },
		"hood":                 func() reply { return c.guest.get("/hood?page=tea") },
	}
}

func newAudit(t *testing.T) *audit {
	t.Helper()
	c := newCommunity(t)
	for _, path := range []string{"/m/ann/follow", "/t/drinks/follow"} {
		c.ben.want(c.ben.post(path), http.StatusSeeOther)
	}
	c.ann.want(c.ann.post("/m/ben/follow"), http.StatusSeeOther)
	c.ann.want(c.ann.post("/t/drinks/follow"), http.StatusSeeOther)
	c.ann.want(c.ann.get("/m/ben"), 200)
	a := &audit{c, map[string]bool{}}
	for _, tag := range written {
		a.fair[tag], a.fair["/"+strings.Fields(tag)[0]] = true, true
	}
	for i := range 2 {
		a.store(fmt.Sprintf("Plain words, and nothing else: %d.", i), i)
		for what, look := range a.places() {
			a.learn(what, look())
			a.learn(what, look()) // After the first view, the page is in the ranking.
		}
		a.settle()
		for n := range 30 { // Enough comments for a pager.
			a.store(fmt.Sprintf("Plain words, and nothing else: %d.", 10+n), 10+n)
		}
	}
	a.wantEqual(33, a.comments())
	return a
}

func (c *community) wantEqual(want, got int) {
	c.t.Helper()
	if got != want {
		c.t.Fatalf("want %d, got %d", want, got)
	}
}

func (a *audit) comments() int {
	a.t.Helper()
	page, err := a.app.Models.Pages.Get(a.t.Context(), a.page)
	a.must(err)
	return int(page.Comments)
}

// store puts a text into every field that is stored, as the forms would.
func (a *audit) store(text string, n int) {
	a.t.Helper()
	ctx := a.t.Context()
	ann, err := a.app.Find(ctx, "ann")
	a.must(err)
	page, err := a.app.Own(ctx, ann.ID, a.page)
	a.must(err)
	title := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	_, err = a.app.Edit(ctx, ann.ID, a.page, ashiato.Draft{
		Slug: "tea", Title: title, Body: strings.ReplaceAll(text, "\f", " "), Topics: []string{"drinks"}, Version: page.Version,
	})
	a.must(err)
	_, err = a.app.Comment(ctx, ann.ID, a.page, newID(100+n), strings.ReplaceAll(text, "\f", " "))
	a.must(err)
	_, err = a.app.Describe(ctx, ann.ID, strings.ReplaceAll(text, "\f", " "))
	a.must(err)
}

func TestStoredText_IsNeverMarkup(t *testing.T) {
	a := newAudit(t)
	for i, payload := range payloads {
		a.store(payload, 100+i)
		for what, look := range a.places() {
			got := look()
			a.check(what, payload, got)
			if what == "page" && !strings.Contains(shown(got.body), strings.Join(strings.Fields(payload), " ")) {
				t.Errorf("%s with %s: the title is not shown as typed", what, payload)
			}
		}
	}
}

// A refused form and a preview show again what was typed.
func TestTypedText_IsNeverMarkup(t *testing.T) {
	a := newAudit(t)
	fields := map[string]func(text string) reply{
		"preview title": func(text string) reply {
			return a.ann.post("/write", "id", newID(1), "title", text, "body", "x", "slug", "new", "do", "preview")
		},
		"preview text": func(text string) reply {
			return a.ann.post("/write", "id", newID(1), "title", "x", "body", text, "slug", "new", "do", "preview")
		},
		"topics": func(text string) reply {
			return a.ann.post("/write", "id", newID(1), "title", "x", "body", "x", "slug", "new", "topics", text+" ?!")
		},
		"slug": func(text string) reply {
			return a.ann.post("/write", "id", newID(1), "title", "x", "body", "x", "slug", text+" ?!")
		},
		"title": func(text string) reply {
			return a.ann.post("/write", "id", newID(1), "title", text, "body", "", "slug", "new")
		},
		"conflict": func(text string) reply {
			return a.ann.post("/edit/"+a.page, "version", "1", "title", text, "body", text, "slug", "tea", "topics", "drinks")
		},
		"comment": func(text string) reply {
			return a.ann.post("/comment/"+a.page, "id", newID(1), "text", text+strings.Repeat("x", 5000))
		},
		"handle": func(text string) reply {
			return a.guest.post("/signup", "id", newID(1), "handle", text+"?", "password", password)
		},
		"password": func(text string) reply {
			return a.guest.post("/signup", "id", newID(1), "handle", "x", "password", text)
		},
		"log-in": func(text string) reply {
			return a.guest.post("/login", "handle", text, "password", "wrong", "next", text)
		},
		"about": func(text string) reply {
			return a.ann.post("/settings/profile", "about", text+strings.Repeat("x", 5000))
		},
		"session": func(text string) reply { return a.ann.post("/settings/session/end", "session", text) },
		"form id": func(text string) reply {
			return a.ann.post("/write", "id", text, "title", "x", "body", "x", "slug", "new")
		},
		"next":        func(text string) reply { return a.guest.get("/login?next=" + url.QueryEscape(text)) },
		"cursor":      func(text string) reply { return a.guest.get("/newest?at=" + url.QueryEscape(text)) },
		"span":        func(text string) reply { return a.guest.get("/ranking?span=" + url.QueryEscape(text)) },
		"place":       func(text string) reply { return a.guest.get("/ranking?from=" + url.QueryEscape(text)) },
		"ranked page": func(text string) reply { return a.guest.get("/ranking?page=" + url.QueryEscape(text)) },
		"search":      func(text string) reply { return a.guest.get("/search?q=" + url.QueryEscape(text)) },
		"titles":      func(text string) reply { return a.guest.get("/search/titles?q=" + url.QueryEscape(text)) },
		"hood list":   func(text string) reply { return a.guest.get("/hood?list=" + url.QueryEscape(text)) },
		"hood way":    func(text string) reply { return a.guest.get("/hood?list=titles&of=" + url.QueryEscape(text)) },
		"hood":        func(text string) reply { return a.guest.get("/hood?page=" + url.QueryEscape(text)) },
		"member":      func(text string) reply { return a.guest.get("/m/" + url.PathEscape(text)) },
		"topic":       func(text string) reply { return a.guest.get("/t/" + url.PathEscape(text)) },
		"page":        func(text string) reply { return a.guest.get("/p/" + url.PathEscape(text)) },
		"nowhere":     func(text string) reply { return a.guest.get("/" + url.PathEscape(text)) },
		"comments":    func(text string) reply { return a.guest.get("/p/tea?comments=" + url.QueryEscape(text)) },
	}
	for what, send := range fields {
		for _, harmless := range []string{"plain", "p", ""} {
			a.learn(what, send(harmless))
		}
	}
	for what, send := range fields {
		for _, payload := range payloads {
			a.later()
			a.check(what, payload, send(payload))
		}
	}
}

// The name of a browser is untrusted text as well, and the settings show it.
func TestBrowserName_IsNeverMarkup(t *testing.T) {
	a := newAudit(t)
	for _, payload := range payloads {
		a.later()
		v := a.visitor()
		v.agent = strings.ReplaceAll(payload, "\f", " ")
		v.want(v.logIn("ben", password), http.StatusSeeOther)
		v.want(v.post("/logout"), http.StatusSeeOther)
	}
	v := a.visitor()
	v.agent = payloads[0]
	v.logIn("ann", password)
	a.check("settings", payloads[0], a.ann.get("/settings"))
}
