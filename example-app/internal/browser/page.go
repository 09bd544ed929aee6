package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Widths of a viewport, in CSS pixels.
const (
	Phone   = 390
	Desktop = 1280
)

// Page is a tab. Each method is a step that fails the test if it cannot be
// done within Patience.
type Page struct {
	*Profile
	session string
	heard   chan struct{} // has one when an event came

	mu     sync.Mutex
	record record
	asked  map[string]string // URL of a request by its id
}

func (p *Page) call(method string, with params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.browser.patience)
	defer cancel()
	return p.browser.pipe.call(ctx, p.session, method, with, result)
}

func (p *Page) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("browser: on %s: "+format, append([]any{p.where()}, args...)...)
}

func (p *Page) where() string { return p.now().url }

// await returns once ready is without an error, and fails the test with the
// last one if that takes too long.
func (p *Page) await(what string, ready func() error) {
	p.t.Helper()
	end := time.Now().Add(p.browser.patience)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.fail("%s: waited %v: %v", what, p.browser.patience, err)
		}
		select {
		case <-p.heard:
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// load does what leads to another document, and returns when that is complete.
func (p *Page) load(what string, do func()) {
	p.t.Helper()
	before := p.now().documents
	do()
	p.await(what, func() error {
		if p.now().documents == before {
			return fmt.Errorf("no other page came")
		}
		var state string
		if err := p.eval("document.readyState", &state); err != nil {
			return err
		}
		if state != "complete" {
			return fmt.Errorf("the page is still %s", state)
		}
		return nil
	})
}

// Open shows the page at a path of the site, whatever its status.
func (p *Page) Open(path string) {
	p.t.Helper()
	target, err := p.site.Parse(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.load("open "+path, func() {
		var got struct{ ErrorText string }
		p.must("Page.navigate", params{"url": target.String()}, &got)
		if got.ErrorText != "" {
			p.fail("open %s: %s", path, got.ErrorText)
		}
	})
}

// Reload shows the page again, as it is now.
func (p *Page) Reload() {
	p.t.Helper()
	p.load("reload", func() { p.must("Page.reload", nil, nil) })
}

// Back does what the browser's back button does.
func (p *Page) Back() {
	p.t.Helper()
	var history struct {
		CurrentIndex int
		Entries      []struct{ ID int }
	}
	p.must("Page.getNavigationHistory", nil, &history)
	if history.CurrentIndex == 0 {
		p.fail("back: this is the first page")
	}
	p.load("back", func() {
		p.must("Page.navigateToHistoryEntry", params{"entryId": history.Entries[history.CurrentIndex-1].ID}, nil)
	})
}

// Path returns the path of the page, and its query if there is one.
func (p *Page) Path() string {
	u, err := url.Parse(p.where())
	if err != nil {
		return p.where()
	}
	return u.RequestURI()
}

// Eval stores the value of an expression in into, unless that is nil. It works
// also where the page's own scripts do not.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	if err := p.eval(expression, into); err != nil {
		p.fail("eval %.200s: %v", expression, err)
	}
}

func (p *Page) eval(expression string, into any) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := p.call("Runtime.evaluate", params{"expression": expression, "returnByValue": true}, &got); err != nil {
		return err
	}
	if e := got.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got.Result.Value, into)
}

// Wait returns when the expression is true; what says in words what it is.
func (p *Page) Wait(what, expression string) {
	p.t.Helper()
	p.await("wait for "+what, func() error {
		var is bool
		if err := p.eval("!!("+expression+")", &is); err != nil {
			return err
		}
		if !is {
			return fmt.Errorf("%s is not true", expression)
		}
		return nil
	})
}

// Text returns the text that the first element of a selector shows, once there
// is one, with single blanks.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var text string
	p.await("text of "+selector, func() error {
		found := false
		if err := p.eval("!!document.querySelector("+quote(selector)+")", &found); err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no %s", selector)
		}
		return p.eval("document.querySelector("+quote(selector)+").innerText", &text)
	})
	return strings.Join(strings.Fields(text), " ")
}

// Has tells whether the page shows the text, whatever the blanks in it.
func (p *Page) Has(text string) bool {
	p.t.Helper()
	return strings.Contains(p.Text("body"), strings.Join(strings.Fields(text), " "))
}

// WantText fails the test, and goes on, where the page does not show a text.
func (p *Page) WantText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if !p.Has(want) {
			p.t.Errorf("browser: on %s: want %q on the page, which shows:\n%s", p.where(), want, p.Text("body"))
		}
	}
}

// WithoutText fails the test, and goes on, where the page shows a text.
func (p *Page) WithoutText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if p.Has(want) {
			p.t.Errorf("browser: on %s: want no %q on the page, which shows:\n%s", p.where(), want, p.Text("body"))
		}
	}
}

// SetViewport makes the tab so many pixels wide, and a phone's if that is
// narrow.
func (p *Page) SetViewport(width int) {
	p.t.Helper()
	p.must("Emulation.setDeviceMetricsOverride", params{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 640}, nil)
}

// SetColours makes the visitor prefer "light" or "dark".
func (p *Page) SetColours(scheme string) {
	p.t.Helper()
	p.must("Emulation.setEmulatedMedia", params{"features": []params{
		{"name": "prefers-color-scheme", "value": scheme},
		{"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// SetScripts turns the scripts of the pages that come on or off.
func (p *Page) SetScripts(on bool) {
	p.t.Helper()
	p.must("Emulation.setScriptExecutionDisabled", params{"value": !on}, nil)
}

// Screenshot returns the whole page as a PNG, down to a height.
func (p *Page) Screenshot(height int) []byte {
	p.t.Helper()
	var size struct{ Width, Height int }
	p.Eval("({width: innerWidth, height: Math.ceil(document.documentElement.getBoundingClientRect().height)})", &size)
	var got struct{ Data []byte }
	p.must("Page.captureScreenshot", params{
		"format": "png", "captureBeyondViewport": true,
		"clip": params{"x": 0, "y": 0, "width": size.Width, "height": min(size.Height, height), "scale": 1},
	}, &got)
	if _, err := png.DecodeConfig(bytes.NewReader(got.Data)); err != nil {
		p.fail("screenshot: %v", err)
	}
	return got.Data
}

// quote returns text as a literal of JavaScript.
func quote(text string) string {
	// A string has no value that cannot be written.
	literal, _ := json.Marshal(text)
	return string(literal)
}
