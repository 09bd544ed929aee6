package apptest

import (
	"net/http"
	"testing"
)

// An open page under the hood lights up the places of a new page, and of a view.
func TestHood_ShowsWhatPeopleDo(t *testing.T) {
	c := newCommunity(t)
	w := newWalker(t, chromium(t), c.url, "", true)
	c.look("tea", 1)
	w.Open("/hood")
	w.Wait("the stream", "document.querySelector('[data-following]').innerText.startsWith('Live')")
	c.ben.write("coffee", "Coffee", "Black.", "drinks")
	w.Wait("a lit place in the ring", "document.querySelector('.ring .lit') !== null")
	c.look("tea", 1)
	w.Wait("a lit node of the tree", "document.querySelector('.tree .lit') !== null")
	for _, width := range []int64{320, phoneWidth, desktopWidth} {
		w.SetViewport(width)
		for _, complaint := range w.Audit() {
			t.Errorf("%d px: %s", width, complaint)
		}
	}
}

// No text of a picture is smaller than 10 px, and no key takes two lines.
func TestHood_CanBeReadOnAPhone(t *testing.T) {
	c := newCommunity(t)
	c.look("tea", 1)
	w := newWalker(t, chromium(t), c.url, "", true)
	for _, path := range []string{"/hood?page=tea", "/hood?list=titles&of=tea", "/hood?list=topic&of=drinks"} {
		w.Open(path)
		for _, width := range []int64{320, 360, phoneWidth, 640, 900, desktopWidth} {
			w.SetViewport(width)
			var smallest float64
			w.Eval("Math.min(99, ...[...document.querySelectorAll('main svg text')].map((e) => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a))", &smallest)
			if smallest < 10 {
				t.Errorf("%s, %d px: a text of %.1f px", path, width, smallest)
			}
			var wrapped int
			w.Eval("[...document.querySelectorAll('.keys th code')].filter((e) => e.getClientRects().length > 1).length", &wrapped)
			if wrapped > 0 {
				t.Errorf("%s, %d px: %d keys take two lines", path, width, wrapped)
			}
		}
	}
}

func TestHood_AsksForANameWhereAListHasOne(t *testing.T) {
	c := newCommunity(t)
	c.guest.want(c.guest.get("/hood?list=topic"), 200, "Name a topic to see this.", "Pages on a topic")
	c.guest.want(c.guest.get("/hood?list=topic&of=drinks"), 200, "Pages on a topic: drinks", "1 of 1 key read")
	c.guest.want(c.guest.get("/hood?list=topic&of=nothing"), http.StatusNotFound)
	c.guest.want(c.guest.get("/hood?list=trash"), http.StatusNotFound)
	c.guest.want(c.guest.get("/hood?list=titles&of=tea"), 200, "way to tea")
}
