package apptest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Widths of a viewport, in CSS pixels.
const (
	phoneWidth   = 390
	desktopWidth = 1280
)

var (
	//go:embed names.js
	names string
	//go:embed audit.js
	audits string
)

// tab is a page in the browser, as a visitor of one site sees it. Links, buttons
// and fields go by the names that are read out for them, or by how these begin,
// so a test that passes has also shown that the names are there.
//
// Each exported method is a step. It fails the test, and says what it waited for,
// if patience ends before it is done. When the test ends, it also fails for each
// error that the page wrote to the console, script that failed, dialog, file that
// was refused and request to another host.
type tab struct {
	t        testing.TB
	ctx      context.Context
	site     string // URL without path and query
	patience time.Duration
	status   int // that the server gave the document
	record
}

// newTab opens an empty tab for a new visitor of site, who has no cookies.
func newTab(t testing.TB, browser context.Context, site string) *tab {
	t.Helper()
	return openTab(t, browser, site, chromedp.WithNewBrowserContext())
}

// openTab opens an empty tab for the visitor whose tab parent is.
func openTab(t testing.TB, parent context.Context, site string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	p := &tab{t: t, site: site, patience: patience, record: record{asked: map[string]string{}}}
	p.ctx = begin(t, parent, append(options, chromedp.WithListener(p.hear))...)
	p.do("focus", command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	p.SetViewport(desktopWidth)
	t.Cleanup(p.report)
	return p
}

func (p *tab) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("browser: on %s: "+format, append([]any{p.where()}, args...)...)
}

// do carries out what takes no waiting.
func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.fail("%s: %v", what, err)
	}
}

// command is a command of the DevTools protocol whose answer says nothing.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// Eval stores the value of an expression in into, unless that is nil. It works
// also where the page's own scripts do not.
func (p *tab) Eval(expression string, into any) {
	p.t.Helper()
	if err := p.eval(expression, into); err != nil {
		p.fail("eval %.200s: %v", expression, err)
	}
}

func (p *tab) eval(expression string, into any) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](expression))
	var thrown *chromedp.ExceptionError
	switch {
	case errors.As(err, &thrown) && thrown.Exception != nil:
		text, _, _ := strings.Cut(thrown.Exception.Description, "\n    at ")
		return errors.New(strings.TrimPrefix(text, "Error: "))
	case err != nil || into == nil:
		return err
	}
	return json.Unmarshal(value, into)
}

// await returns once eval is without an error, and fails the test with the last
// one if that takes too long.
func (p *tab) await(what, expression string, into any) {
	p.t.Helper()
	for end := time.Now().Add(p.patience); ; time.Sleep(20 * time.Millisecond) {
		err := p.eval(expression, into)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.fail("%s: waited %v: %v", what, p.patience, err)
		}
	}
}

// named is a call of a function of names.js.
func named(function string, args ...string) string {
	// Strings have no value that cannot be written.
	list, _ := json.Marshal(args)
	return fmt.Sprintf("%s.%s(...%s)", names, function, list)
}

// Wait returns when the expression is true; what says in words what it is.
func (p *tab) Wait(what, expression string) {
	p.t.Helper()
	p.await("wait for "+what, fmt.Sprintf("%s.holds(%s, %q)", names, expression, expression), nil)
}

// Text returns the text that the first element of a selector shows, once there
// is one, with single blanks.
func (p *tab) Text(selector string) (text string) {
	p.t.Helper()
	p.await("text of "+selector, named("textIn", selector), &text)
	return text
}

// has reports whether the page shows the text, whatever the blanks in it.
func (p *tab) has(text string) bool {
	p.t.Helper()
	return strings.Contains(p.Text("body"), strings.Join(strings.Fields(text), " "))
}

// WantText fails the test, and goes on, where the page does not show a text.
func (p *tab) WantText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if !p.has(want) {
			p.t.Errorf("browser: on %s: want %q on the page, which shows:\n%s", p.where(), want, p.Text("body"))
		}
	}
}

// WithoutText fails the test, and goes on, where the page shows a text.
func (p *tab) WithoutText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if p.has(want) {
			p.t.Errorf("browser: on %s: want no %q on the page, which shows:\n%s", p.where(), want, p.Text("body"))
		}
	}
}

// load takes the step that leads to another document, and returns when that is
// complete.
func (p *tab) load(what string, step chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, step)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.fail("%s: waited %v: no other page came", what, p.patience)
	case err != nil:
		p.fail("%s: %v", what, err)
	case response != nil:
		p.status = int(response.Status)
	}
}

// Open shows the page at a path of the site, whatever its status.
func (p *tab) Open(path string) {
	p.t.Helper()
	p.load("open "+path, chromedp.Navigate(p.site+path))
}

// Reload shows the page again, as it is now.
func (p *tab) Reload() {
	p.t.Helper()
	p.load("reload", chromedp.Reload())
}

// Back does what the browser's back button does.
func (p *tab) Back() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.patience)
	defer cancel()
	// A page that the browser has kept comes back without being loaded.
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.FrameNavigated, nil, chromedp.Evaluate[chromedp.Void]("history.back()"))); err != nil {
		p.fail("back: %v", err)
	}
	p.Wait("the page to be complete", "document.readyState === 'complete'")
}

// click waits until nothing covers the link, button or field of that name, and
// returns the click in its middle.
func (p *tab) click(kind, name string) chromedp.Action[chromedp.Void] {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.await(fmt.Sprintf("click %s %q", kind, name), named("place", kind, name), &at)
	return chromedp.MouseClickXY(at.X, at.Y)
}

// Follow clicks the link or button of that name, and returns when the page that
// it leads to is complete.
func (p *tab) Follow(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("follow %q", name), p.click("control", name))
}

// Submit clicks the button of that name, which sends a form, and returns when
// the page that answers it is complete.
func (p *tab) Submit(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("submit %q", name), p.click("button", name))
}

// Fill writes text into the field of that label, in place of what is there.
func (p *tab) Fill(label, text string) {
	p.t.Helper()
	write := command(input.InsertText, input.InsertTextParams{Text: text})
	if text == "" {
		write = chromedp.KeyEvent(kb.Delete)
	}
	p.do("fill", p.click("field", label), chromedp.Evaluate[chromedp.Void]("document.activeElement.select()"), write)
}

// Press presses a key of package kb.
func (p *tab) Press(key string) {
	p.t.Helper()
	p.do("press", chromedp.KeyEvent(key))
}

// SetViewport makes the tab so many pixels wide, and a phone's if that is
// narrow.
func (p *tab) SetViewport(width int64) {
	p.t.Helper()
	var options []chromedp.EmulateViewportOption
	if width < 640 {
		options = append(options, chromedp.EmulateMobile)
	}
	p.do("viewport", chromedp.EmulateViewport(width, 900, options...))
}

// SetColors makes the visitor prefer "light" or "dark".
func (p *tab) SetColors(scheme string) {
	p.t.Helper()
	p.do("colors", command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// SetScripts turns the scripts of the pages that come on or off.
func (p *tab) SetScripts(on bool) {
	p.t.Helper()
	p.do("scripts", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}

// Screenshot returns the whole page as a PNG.
func (p *tab) Screenshot() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSS("html")))
	if err != nil {
		p.fail("screenshot: %v", err)
	}
	return picture
}

// Audit returns a sentence for everything that a visitor with a keyboard, a screen
// reader, poor sight or a narrow screen would stumble over on the page as it is
// shown now, in its present width and colors.
func (p *tab) Audit() (complaints []string) {
	p.t.Helper()
	p.Eval("("+audits+")("+names+")", &complaints)
	return complaints
}
