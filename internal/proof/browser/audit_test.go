package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

const wellMade = `<h1>Well made</h1><p style="color: #555">Text, <a href="#end">a link</a></p>
<form><label>Name <input></label><label for="about">About</label><textarea id="about"></textarea><button>Send</button></form>
<h2>Pictures</h2><img src="data:," alt=""><svg role="img" width="20" height="20"><title>A dot</title></svg><svg aria-hidden="true"></svg>
<h3 id="end">End</h3><div style="overflow-x: auto" tabindex="0"><p style="width: 3000px">Wide</p></div>
<p style="font-size: 24px; color: #888">Large</p><ul><li>Item</li></ul><h2>Again</h2>`

const frame = `<!doctype html><html lang="en"><title>Test</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><main>%s</main></html>`

func show(t *testing.T, body string) *Tab {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, frame, body) }))
	t.Cleanup(server.Close)
	p := Open(t, server.URL)
	p.Open("/")
	return p
}

func TestAudit_FindsNothingOnAGoodPage(t *testing.T) {
	p := show(t, wellMade)
	for _, complaint := range p.Audit() {
		t.Error(complaint)
	}
}

func TestTab_ReportsErrorsInTheBackground(t *testing.T) {
	for body, want := range map[string]string{
		`<script>console.error("oh", 1)</script>`:       `console error: ["oh" 1]`,
		`<script>nothing.at.all()</script>`:             "nothing is not defined",
		`<script>alert("boo")</script>`:                 "dialog: boo",
		`<img src="http://other.example/x.png" alt="">`: "request to another host: http://other.example/x.png",
	} {
		p := show(t, body)
		p.mu.Lock()
		if got := strings.Join(p.problems, "; "); !strings.Contains(got, want) {
			t.Errorf("%s: want %q reported, got %q", body, want, got)
		}
		p.problems = nil
		p.mu.Unlock()
	}
}

func TestAudit_FindsEachFault(t *testing.T) {
	p := show(t, "")
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
		`<a href="/" tabindex="3">x</a>`:                                            "the focus order differs from the page's",
		`<div aria-hidden="true"><a href="/">x</a></div>`:                           "the focus can reach a hidden element",
		`<i id="x"></i><i id="x"></i>`:                                              "an id appears twice",
		`<p aria-describedby="nothing">x</p>`:                                       "aria-describedby names nothing",
		`<a href="#nothing">x</a>`:                                                  "a link leads nowhere",
		`<input aria-label="x" aria-invalid="true">`:                                "a wrong field does not say what is wrong",
		`<ul><p>x</p></ul>`:                                                         "a list has a child that is not an item",
		`<li>x</li>`:                                                                "an item is outside of a list",
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

func TestMain(m *testing.M) {
	code := m.Run()
	End()
	os.Exit(code)
}
