package apptest

import (
	"strconv"
	"strings"
	"testing"
)

// wellMade has one of everything, as it should be.
const wellMade = `<h1>Well made</h1><p style="color: #555">Text, <a href="#end">a link</a></p>
<form><label>Name <input></label><label for="about">About</label><textarea id="about"></textarea><button>Send</button></form>
<h2>Pictures</h2><img src="data:," alt=""><svg role="img" width="20" height="20"><title>A dot</title></svg><svg aria-hidden="true"></svg>
<h3 id="end">End</h3><div style="overflow-x: auto" tabindex="0"><p style="width: 3000px">Wide</p></div>
<p style="font-size: 24px; color: #888">Large</p><ul><li>Item</li></ul><h2>Again</h2>`

func TestAudit_OfAWellMadePageIsEmpty(t *testing.T) {
	p := newTab(t, chromium(t), serve(t, map[string]string{"/": wellMade}))
	p.Open("/")
	for _, width := range []int64{phoneWidth, desktopWidth} {
		p.SetViewport(width)
		for _, complaint := range p.Audit() {
			t.Errorf("%d px: %s", width, complaint)
		}
	}
}

func TestAudit_FindsEachFault(t *testing.T) {
	p := newTab(t, chromium(t), serve(t, map[string]string{"/": ""}))
	p.Open("/")
	for body, want := range map[string]string{
		`<input>`:                "a field has no label: <input>",
		`<input aria-label=" ">`: "a field has no label",
		`<button></button>`:      "a link or button has no name",
		`<a href="/"><svg aria-hidden="true"></svg></a>`:   "a link or button has no name",
		`<img src="data:,">`:                               "an img has no alt",
		`<svg width="9" height="9"></svg>`:                 "a picture has no title",
		`<h3>Deep</h3>`:                                    "a heading skips a level after h1",
		`<h1>Twice</h1>`:                                   "want one h1, got 2",
		`<h2></h2>`:                                        "a heading has no text",
		`<main>x</main>`:                                   "want one main landmark, got 2",
		`<nav>a</nav><nav aria-label="b">b</nav>`:          "one of several navs has no name",
		`<p style="color: #888">Pale</p>`:                  "contrast 3.54, want 4.5",
		`<p style="color: #aaa; font-size: 30px">Pale</p>`: "contrast 2.32, want 3",
		`<p style="color: rgb(0 0 0 / .4)">Pale</p>`:       "contrast 2.85",
		`<div style="background: #000"><p>Dark</p></div>`:  "contrast 1.00",
		`<svg role="img"><title>a</title><text y="9" fill="#eee">Pale</text></svg>`: "contrast 1.16",
		`<p style="width: 3000px">Wide</p>`:                                         "px wide on 1280",
		`<div style="overflow-x: auto"><p style="width: 3000px">Wide</p></div>`:     "cannot be reached by keyboard",
		`<a href="/" tabindex="3">x</a>`:                                            "the order of focus is not that of the page",
		`<div aria-hidden="true"><a href="/">x</a></div>`:                           "the focus can go where nothing is read out",
		`<i id="x"></i><i id="x"></i>`:                                              "an id is there twice",
		`<p aria-describedby="nothing">x</p>`:                                       "aria-describedby names nothing",
		`<a href="#nothing">x</a>`:                                                  "a link leads nowhere",
		`<input aria-label="x" aria-invalid="true">`:                                "a wrong field does not say why",
		`<ul><p>x</p></ul>`:                                                         "a list holds what is no item",
		`<li>x</li>`:                                                                "an item is in no list",
		`<fieldset>x</fieldset>`:                                                    "a fieldset has no legend",
		`<table><tr><td>x</td></tr></table>`:                                        "a table has no header cell",
		`<iframe></iframe>`:                                                         "an iframe has no title",
	} {
		p.Eval("document.querySelector('main').innerHTML = "+strconv.Quote("<h1>Page</h1>"+body), nil)
		if got := p.Audit(); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: want one complaint that says %q, got %q", body, want, got)
		}
	}
	for change, want := range map[string]string{
		"document.documentElement.lang = ''":                                                   "the document has no lang",
		"document.title = ''":                                                                  "the document has no title",
		"document.querySelector('meta[name=viewport]').remove()":                               "the document has no viewport",
		"document.body.append(Object.assign(document.createElement('p'), {textContent: 'x'}))": "text outside of all landmarks",
	} {
		p.Open("/")
		p.Eval("document.querySelector('main').innerHTML = '<h1>Page</h1>'; "+change, nil)
		if got := p.Audit(); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: want one complaint that says %q, got %q", change, want, got)
		}
	}
}
