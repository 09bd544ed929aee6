package apptest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// newLibrary returns a community with titles in several scripts, one of which is in the
// trash.
func newLibrary(t *testing.T) *community {
	t.Helper()
	c := newCommunity(t)
	for slug, title := range map[string]string{
		"teapot": "teapot", "teahouse": "Téa house", "snow": "雪の朝", "peace": "שלום", "bridge": "Мост",
		"bold": "<b>Te</b>", "gone": "Tea, gone",
	} {
		id := c.ben.write(slug, title, "Text.", "")
		if slug == "gone" {
			c.ben.want(c.ben.fill("/edit/"+id, "/delete/"+id), 303)
		}
	}
	return c
}

func TestSearch_FindsTitlesByTheirFirstLettersInAnyScript(t *testing.T) {
	c := newLibrary(t)
	for query, want := range map[string][]string{
		"TEA": {"Tea", "Téa house", "teapot"}, "téa": {"Tea", "Téa house", "teapot"}, "  teap": {"teapot"},
		"雪": {"雪の朝"}, "של": {"שלום"}, "мо": {"Мост"}, "<b": {"<b>Te</b>"}, "tea, g": nil, "house": nil, "\u200bteah": nil,
	} {
		found, err := c.app.Search(t.Context(), query, "", 20)
		c.must(err)
		var titles []string
		for _, p := range found.Entries {
			titles = append(titles, p.Title)
		}
		if strings.Join(titles, "|") != strings.Join(want, "|") || found.Of != len(want) {
			t.Errorf("%q: want %q, got %q and %d", query, want, titles, found.Of)
		}
	}
}

func TestSearch_SaysWhatItFound(t *testing.T) {
	c := newLibrary(t)
	c.guest.want(c.guest.get("/search?q=tea"), 200, "3 titles begin with “tea”.", "Téa house")
	c.guest.want(c.guest.get("/search?q=teap"), 200, "1 title begins with “teap”.")
	c.guest.want(c.guest.get("/search?q=zebra"), 200, "No title begins with “zebra”.", "All titles from A to Z")
	c.guest.want(c.guest.get("/search"), 200, "7 pages from A to Z", "Мост")
	c.guest.want(c.guest.get("/search?q=tea&at=broken"), 400)
	empty := openMem(t).visitor()
	empty.want(empty.get("/search"), 200, "No pages yet.")
}

func TestSearch_ShowsTitlesWhileOneTypesAndGoesByKeyboard(t *testing.T) {
	c := newLibrary(t)
	w := newWalker(t, chromium(t), c.url, "", true)
	w.Open("/")
	w.Fill("Search titles", "tea")
	w.Wait("the titles", "!found.hidden && found.querySelectorAll('a').length === 3")
	w.Wait("the words for a screen reader", "document.querySelector('.search [role=status]').innerText === '3 titles begin with “tea”.'")
	for _, width := range []int64{320, phoneWidth, desktopWidth} {
		w.SetViewport(width)
		var inside bool
		w.Eval("(() => { const r = found.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.top >= search.getBoundingClientRect().bottom; })()", &inside)
		if !inside {
			t.Errorf("%d px: the titles are cut off or cover the field", width)
		}
		for _, complaint := range w.Audit() {
			t.Errorf("%d px: %s", width, complaint)
		}
	}
	w.Press(kb.ArrowDown)
	w.Press(kb.ArrowDown)
	w.Wait("the second title to have the focus", "document.activeElement.innerText === 'Téa house'")
	w.Press(kb.Escape)
	w.Wait("the titles to be gone, and the focus in the field", "found.hidden && document.activeElement === search")
	w.Fill("Search titles", "zebra")
	w.Wait("the words that there is none", "found.innerText.includes('No title begins with “zebra”.')")
	w.Fill("Search titles", "teap")
	w.Wait("one title", "found.querySelectorAll('a').length === 1")
	w.Press(kb.Tab)
	w.load("follow the title", chromedp.KeyEvent(kb.Enter))
	w.wantHeading("teapot")
}

func TestSearch_WorksWithoutScripts(t *testing.T) {
	c := newLibrary(t)
	w := newWalker(t, chromium(t), c.url, "", false)
	w.Open("/topics")
	w.Fill("Search titles", "tea")
	w.load("send the form", chromedp.KeyEvent(kb.Enter))
	w.WantText("3 titles begin with “tea”.")
	w.Follow("Téa house")
	w.wantHeading("Téa house")
}
