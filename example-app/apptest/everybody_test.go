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

// sight is something to see in a browser.
type sight struct {
	name string
	page *browser.Tab
	show func()
}

// sights returns all pages as a member and as a stranger see them, and the pages that
// only a form leads to.
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
	write := func(address, button string) func() {
		return func() {
			ann.Open("/write")
			ann.Fill("Title", "A bell")
			ann.Fill("Text", "## Bronze\n\n> cast\n\n`code` and *words* and [a link](/p/tea)")
			ann.Fill("Address", address)
			ann.Submit(button)
		}
	}
	forms := map[string]func(){
		"refused page": write("No address!", "Save page"),
		"preview":      write("", "Preview"),
		"conflict": func() {
			ann.Open("/edit/" + c.page)
			ann.Eval("document.querySelector('[name=version]').value = 1", nil)
			ann.Fill("Text", "And another one.")
			ann.Submit("Save page")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		all = append(all, sight{name, ann.Tab, forms[name]})
	}
	return append(all, sight{"refused log-in", stranger.Tab, func() {
		stranger.Open("/login")
		stranger.Fill("Handle", "ann")
		stranger.Fill("Password", "wrong horse 17")
		stranger.Submit("Log in")
	}})
}

// look is how a page is looked at.
type look struct {
	width  int64
	colors string
}

// The widths of common phones, tablets and small windows.
var widths = []int64{320, 360, 375, browser.PhoneWidth, 640, 768, 800, 1024}

// Every page is usable with a keyboard, with a screen reader, with poor sight, at
// night, and on a phone, and none is wider than its window.
func TestMatrix_PagesAreForEveryone(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "body", "One cup, or two."), 303)
	c.ann.want(c.ann.post("/t/drinks/follow"), 303)
	c.ben.want(c.ben.post("/m/ann/follow"), 303)
	looks := []look{{browser.PhoneWidth, "light"}, {browser.DesktopWidth, "dark"}}
	if proof.Long() {
		looks = append(looks, look{browser.PhoneWidth, "dark"}, look{browser.DesktopWidth, "light"})
	}
	all := append(c.sights(t), c.inspections(t)...)
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
		for _, width := range fits {
			s.page.SetViewport(width)
			var said []string
			s.page.Eval(crooked, &said)
			for _, complaint := range said {
				t.Errorf("%s, %d px: %s", s.name, width, complaint)
			}
		}
	}
}

// inspections returns the pages of -inspect with the picture of a ring, of a tree and of a list.
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

// crooked returns a sentence for each part of the header that is cut off, wraps or is not
// on its line, and one if the page is wider than its window. From 768 pixels on the navigation
// stands on the line of the name.
const crooked = `(() => {
  const said = [];
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) said.push("the page is " + page.scrollWidth + " px wide");
  const header = document.querySelector("header.site");
  if (!header?.querySelector("input")) return said;
  const nav = header.querySelector("nav");
  const line = (what, parts) => {
    const middles = parts.map((e) => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2; });
    if (Math.max(...middles) - Math.min(...middles) > 6) said.push(what + " is more than one line high");
  };
  const ends = [header.querySelector(".name"), header.querySelector("input"), ...header.querySelectorAll(".end > *")];
  line("the navigation", [...nav.children]);
  line("the header", innerWidth < 768 ? ends : [...ends, ...nav.children]);
  for (const e of header.querySelectorAll("a, button, input, .count")) {
    const r = e.getBoundingClientRect();
    if (r.left < 0 || r.right > innerWidth) said.push(e.innerText + " is cut off");
    if (e.matches(".button") && r.height > 50) said.push(e.innerText + " wraps");
  }
  if (nav.scrollWidth > nav.clientWidth) said.push("the navigation is " + nav.scrollWidth + " px wide on " + nav.clientWidth);
  return said;
})()`

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
		if hidden != "" {
			t.Errorf("the focus is invisible on %s", hidden)
		}
	}
}
