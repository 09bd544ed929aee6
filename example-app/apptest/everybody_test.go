package apptest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/ringtree/ringtree/internal/proof"
)

// sight is something to see in a browser.
type sight struct {
	name string
	page *tab
	show func()
}

// sights returns all pages as a member and as a stranger see them, and the pages that
// only a form leads to.
func (c *community) sights(t *testing.T, chromium context.Context) []sight {
	ann, stranger := newWalker(t, chromium, c.url, "ann", true), newWalker(t, chromium, c.url, "", true)
	ann.Open("/login")
	ann.logIn()
	var all []sight
	for _, path := range c.paths() {
		if strings.Contains(path, ".") || strings.HasPrefix(path, "/search/") || path == "/healthz" || path == "/metrics" {
			continue // These are not pages.
		}
		all = append(all, sight{"ann " + path, ann.tab, func() { ann.Open(path) }})
		if c.guest.get(path).status != 303 {
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

// Every page is usable with a keyboard, with a screen reader, with poor sight, at
// night, and on a phone, and none is wider than its window.
func TestMatrix_PagesAreForEveryone(t *testing.T) {
	browser, c := chromium(t), newCommunity(t)
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "body", "One cup, or two."), 303)
	c.ann.want(c.ann.post("/t/drinks/follow"), 303)
	c.ben.want(c.ben.post("/m/ann/follow"), 303)
	looks := []look{{phoneWidth, "light"}, {desktopWidth, "dark"}}
	if proof.Long() {
		looks = append(looks, look{phoneWidth, "dark"}, look{desktopWidth, "light"})
	}
	all := c.sights(t, browser)
	shown := 0
	for s := range proof.Part(t, all, all) {
		fits := widths
		if shown++; !proof.Long() {
			// The narrowest for each page, and one of the others in turn.
			fits = []int64{widths[0], widths[1+shown%(len(widths)-1)]}
		}
		s.show()
		for _, l := range looks {
			s.page.SetViewport(l.width)
			s.page.SetColors(l.colors)
			for _, complaint := range s.page.Audit() {
				t.Errorf("%s, %d px, %s: %s", s.name, l.width, l.colors, complaint)
			}
		}
		s.page.wantFit(s.name, fits...)
	}
}

// look is how a page is looked at.
type look struct {
	width  int64
	colors string
}

// The keyboard alone leads from the top of a page to its first link, and the focus is
// always visible.
func TestPages_ShowTheFocus(t *testing.T) {
	c := newCommunity(t)
	w := newWalker(t, chromium(t), c.url, "", true)
	w.Open("/")
	var first, last, reached int
	w.Press(kb.Tab)
	w.Eval("document.activeElement.matches('.skip') ? 1 : 0", &first)
	if first != 1 {
		t.Error("want the first Tab to reach the link past the navigation")
	}
	w.Press(kb.Enter)
	w.Press(kb.Tab)
	w.Eval("document.activeElement.closest('main') ? 1 : 0", &last)
	if last != 1 {
		t.Errorf("want the next Tab to reach the content, got %s", activeElement(w))
	}
	for range 8 {
		w.Press(kb.Tab)
		var visible bool
		w.Eval("(() => { const s = getComputedStyle(document.activeElement); return parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== 'none'; })()", &visible)
		if visible {
			reached++
		}
		if !visible && activeElement(w) != "BODY" {
			t.Errorf("the focus is invisible on %s", activeElement(w))
		}
	}
	if reached == 0 {
		t.Error("no element showed the focus")
	}
}

func activeElement(w *walker) string {
	w.t.Helper()
	var name string
	w.Eval("document.activeElement.tagName + ' ' + (document.activeElement.className || '')", &name)
	return strings.TrimSpace(name)
}
