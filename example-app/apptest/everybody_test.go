package apptest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/ringtree/ringtree/internal/proof/servers"
)

// sight is something to be seen in a browser.
type sight struct {
	name string
	page *tab
	show func()
}

// sights are all pages as a member and as a stranger see them, and those that
// only a form leads to.
func (c *community) sights(t *testing.T, chromium context.Context) []sight {
	ann, stranger := newWalker(t, chromium, c.url, "ann", true), newWalker(t, chromium, c.url, "", true)
	ann.Open("/login")
	ann.logIn()
	var all []sight
	for _, path := range c.paths() {
		if strings.Contains(path, ".") || path == "/healthz" || path == "/metrics" {
			continue // These are no pages.
		}
		all = append(all, sight{"ann " + path, ann.tab, func() { ann.Open(path) }})
		if c.nobody.get(path).status != 303 {
			all = append(all, sight{"stranger " + path, stranger.tab, func() { stranger.Open(path) }})
		}
	}
	forms := map[string]func(){
		"refused page": func() {
			ann.Open("/write")
			ann.Fill("Title", "A bell:")
			ann.Fill("Text", "Text")
			ann.Fill("Address", "No address!")
			ann.Submit("Save page")
		},
		"preview": func() {
			ann.Open("/write")
			ann.Fill("Title", "A bell")
			ann.Fill("Text", "## Bronze\n\n> cast\n\n`code` and *words* and [a link](/p/tea)")
			ann.Fill("Topics", "bells")
			ann.Submit("Preview")
		},
		"conflict": func() {
			ann.Open("/edit/" + c.page)
			page, err := c.app.Models.Pages.Get(t.Context(), c.page)
			c.must(err)
			ann.Eval("document.querySelector('[name=version]').value = 1", nil)
			ann.Fill("Text", page.Body+" And another one.")
			ann.Submit("Save page")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		all = append(all, sight{name, ann.tab, forms[name]})
	}
	return append(all, sight{"refused log-in", stranger.tab, func() {
		stranger.Open("/login")
		stranger.Fill("Handle", "ann")
		stranger.Fill("Password", "wrong horse 17")
		stranger.Submit("Log in")
	}})
}

// Every page can be used with a keyboard, a screen reader, poor sight, by night,
// and on a phone.
func TestPages_AreForEverybody(t *testing.T) {
	servers.Need(t, program)
	c := newCommunity(t)
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "body", "One cup, or two."), 303)
	c.ann.want(c.ann.post("/t/drinks/follow"), 303)
	c.ben.want(c.ben.post("/m/ann/follow"), 303)
	for _, s := range c.sights(t, startBrowser(t)) {
		s.show()
		for _, width := range []int64{phoneWidth, desktopWidth} {
			s.page.SetViewport(width)
			for _, colours := range []string{"light", "dark"} {
				s.page.SetColors(colours)
				for _, complaint := range s.page.Audit() {
					t.Errorf("%s, %d px, %s: %s", s.name, width, colours, complaint)
				}
			}
		}
	}
}

// With the keyboard alone one gets from the top of a page to its first link, and
// sees where one is.
func TestPages_ShowWhereTheKeyboardIs(t *testing.T) {
	servers.Need(t, program)
	c := newCommunity(t)
	w := newWalker(t, startBrowser(t), c.url, "", true)
	w.Open("/")
	var first, last, reached int
	w.Press(kb.Tab)
	w.Eval("document.activeElement.matches('.skip') ? 1 : 0", &first)
	if first != 1 {
		t.Error("want the first Tab to reach the way past the navigation")
	}
	w.Press(kb.Enter)
	w.Press(kb.Tab)
	w.Eval("document.activeElement.closest('main') ? 1 : 0", &last)
	if last != 1 {
		t.Errorf("want the next Tab to be on the page itself, got %s", activeElement(w))
	}
	for range 8 {
		w.Press(kb.Tab)
		var visible bool
		w.Eval("(() => { const s = getComputedStyle(document.activeElement); return parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== 'none'; })()", &visible)
		if visible {
			reached++
		}
		if !visible && activeElement(w) != "BODY" {
			t.Errorf("the focus is not to be seen on %s", activeElement(w))
		}
	}
	if reached == 0 {
		t.Error("no element showed that it has the focus")
	}
}

func activeElement(w *walker) string {
	w.t.Helper()
	var name string
	w.Eval("document.activeElement.tagName + ' ' + (document.activeElement.className || '')", &name)
	return strings.TrimSpace(name)
}
