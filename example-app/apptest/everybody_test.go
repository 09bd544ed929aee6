package apptest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
)

type sight struct {
	name string
	page *browser.Tab
	show func()
}

// sights are all pages for a member and a stranger, and pages after a form.
func (c *community) sights(t *testing.T) []sight {
	ann, stranger := newWalker(t, c.url, "ann", true), newWalker(t, c.url, "", true)
	ann.Open("/login")
	ann.logIn()
	var all []sight
	for _, path := range c.paths() {
		all = append(all, sight{"ann " + path, ann.Tab, func() { ann.Open(path) }})
		if c.guest.get(path).status != 303 {
			all = append(all, sight{"stranger " + path, stranger.Tab, func() { stranger.Open(path) }})
		}
	}
	forms := map[string]func(){
		"refused page": func() {
			ann.Open("/write")
			ann.send("Save page", "Title", "A bell", "Text", "## Bronze\n\n> cast\n\n`code` and *words* and [a link](/p/tea)", "Topics", "no-topic!")
		},
		"conflict": func() {
			ann.Open("/edit/" + c.page)
			ann.Eval("document.querySelector('[name=version]').value = 1", nil)
			ann.send("Save page", "Text", "And another one.")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		all = append(all, sight{name, ann.Tab, forms[name]})
	}
	return append(all, sight{"refused log-in", stranger.Tab, func() {
		stranger.Open("/login")
		stranger.send("Log in", "Handle", "ann", "Password", "wrong horse 17")
	}})
}

func TestMatrix_PagesAreForEveryone(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "body", "One cup, or two."), 303)
	c.ann.want(c.ann.post("/t/drinks/follow"), 303)
	c.ben.want(c.ben.post("/m/ann/follow"), 303)
	all := append(c.sights(t), c.inspections(t)...)
	for s := range proof.Part(t, all, all) {
		s.show()
		for width, colors := range map[int64]string{browser.PhoneWidth: "light", browser.DesktopWidth: "dark"} {
			s.page.SetViewport(width)
			s.page.SetColors(colors)
			for _, complaint := range s.page.Audit() {
				t.Errorf("%s, %d px, %s: %s", s.name, width, colors, complaint)
			}
		}
		s.page.SetViewport(320)
		var wide int
		if s.page.Eval("document.documentElement.scrollWidth", &wide); wide > 320 {
			t.Errorf("%s is %d px wide", s.name, wide)
		}
	}
}

func (c *community) inspections(t *testing.T) (all []sight) {
	pages, err := inspect.Handler(inspect.New(c.app.DB()), inspect.HandlerOptions{Guard: func(*http.Request) error { return nil }})
	c.must(err)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	p := browser.Open(t, server.URL)
	for _, index := range []string{"Page.Newest", "Page.TopViews", "Page.ByTopics&value=drinks"} {
		all = append(all, sight{"inspect " + index, p, func() {
			p.Open("/index?n=3&index=" + index)
			p.Wait("a picture", "document.querySelectorAll('figure.picture > svg').length === 1")
		}})
	}
	return all
}

// The keyboard alone leads from the top of a page past the navigation, and the focus is
// always visible.
func TestPages_ShowTheFocus(t *testing.T) {
	c := newCommunity(t)
	w := newWalker(t, c.url, "", true)
	w.Open("/")
	w.Press(kb.Tab)
	w.Wait("the link past the navigation", "document.activeElement.matches('.skip')")
	w.Press(kb.Enter)
	for n := range 6 {
		w.Press(kb.Tab)
		if n == 0 {
			w.Wait("the content", "document.activeElement.closest('main')")
		}
		var hidden string
		w.Eval("(() => { const e = document.activeElement, s = getComputedStyle(e); return parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== 'none' ? '' : e.outerHTML.slice(0, 80); })()", &hidden)
		proof.Equal(t, hidden, "", "the focus is invisible on")
	}
}
