package apptest

import (
	"fmt"
	"testing"
)

// The widths of common phones, tablets and small windows.
var widths = []int64{320, 360, 375, phoneWidth, 640, 768, 800, 1024}

// oneLine is the width from which the navigation stands on the line of the name.
const oneLine = 768

// crooked returns a sentence for each part of the header that is cut off, wraps or is not
// on its line, and one if the page is wider than its window.
const crooked = `((oneLine) => {
  const said = [];
  const header = document.querySelector("header.site");
  const nav = header.querySelector("nav");
  const line = (what, parts) => {
    const middles = parts.map((e) => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2; });
    if (Math.max(...middles) - Math.min(...middles) > 6) said.push(what + " is more than one line high");
  };
  const ends = [header.querySelector(".name"), header.querySelector("input"), ...header.querySelectorAll(".end > *")];
  line("the navigation", [...nav.children]);
  line("the header", innerWidth < oneLine ? ends : [...ends, ...nav.children]);
  for (const e of header.querySelectorAll("a, button, input, .count")) {
    const r = e.getBoundingClientRect();
    if (r.left < 0 || r.right > innerWidth) said.push(e.innerText + " is cut off");
    if (e.matches("input") && r.width < 64) said.push("the search field is " + r.width + " px wide");
    if (e.matches(".button") && r.height > 50) said.push(e.innerText + " wraps");
  }
  if (nav.scrollWidth > nav.clientWidth) said.push("the navigation is " + nav.scrollWidth + " px wide on " + nav.clientWidth);
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) said.push("the page is " + page.scrollWidth + " px wide");
  return said;
})`

// wantFit reports what does not fit into windows of widths.
func (p *tab) wantFit(what string, widths ...int64) {
	p.t.Helper()
	for _, width := range widths {
		p.SetViewport(width)
		var said []string
		p.Eval(fmt.Sprintf("%s(%d)", crooked, oneLine), &said)
		for _, complaint := range said {
			p.t.Errorf("%s, %d px: %s", what, width, complaint)
		}
	}
}

// The header stays on its lines however many visits are unread.
func TestHeader_FitsNarrowWindows(t *testing.T) {
	browser, c := chromium(t), newCommunity(t)
	ann, stranger := newWalker(t, browser, c.url, "ann", true), newWalker(t, browser, c.url, "", true)
	stranger.Open("/")
	stranger.wantFit("a stranger", widths...)
	ann.Open("/login")
	ann.logIn()
	for _, count := range []string{"", "1", "99+"} {
		ann.Open("/")
		ann.Eval(`document.querySelector(".count")?.remove()`, nil)
		if count != "" {
			ann.Eval(`document.querySelector("header nav a[href='/footprints']").insertAdjacentHTML("beforeend", '<span class="count">`+count+`</span>')`, nil)
		}
		ann.wantFit("ann with "+count+" unread", widths...)
	}
}
