package browser

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
	PhoneWidth   = 390
	DesktopWidth = 1280
)

var (
	//go:embed names.js
	names string
	//go:embed audit.js
	audits string
)

// Tab is a page in the browser, as a visitor of one site sees it. Tests find links, buttons and
// fields by the beginning of the names that screen readers announce, so a passing test proves that
// the names exist.
//
// Each exported method is a step. If it takes longer than patience, it fails the test and reports
// the condition it waited for. The test also fails for each console error, failed script, dialog,
// refused file and request to another host.
type Tab struct {
	t      testing.TB
	ctx    context.Context
	site   string
	status int
	record
}

// Open opens an empty tab for a new visitor, without cookies.
func Open(t testing.TB, site string) *Tab {
	t.Helper()
	return open(t, start(t), site, chromedp.WithNewBrowserContext())
}

func (p *Tab) Another() *Tab {
	p.t.Helper()
	return open(p.t, p.ctx, p.site)
}

func open(t testing.TB, parent context.Context, site string, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	p := &Tab{t: t, site: site, record: record{asked: map[string]string{}}}
	ctx, end, err := launch(parent, append(options, chromedp.WithListener(p.hear))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	p.ctx = ctx
	p.do("focus", command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	p.SetViewport(DesktopWidth)
	t.Cleanup(p.report)
	return p
}

func (p *Tab) Status() int { return p.status }

func (p *Tab) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("browser: on %s: "+format, append([]any{p.Where()}, args...)...)
}

func (p *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.fail("%s: %v", what, err)
	}
}

func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// Eval stores the value of an expression in into, unless that is nil. It works even if the page's
// scripts are off.
func (p *Tab) Eval(expression string, into any) {
	p.t.Helper()
	if err := p.eval(expression, into); err != nil {
		p.fail("eval %.200s: %v", expression, err)
	}
}

func (p *Tab) eval(expression string, into any) error {
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

func (p *Tab) await(what, expression string, into any) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := p.eval(expression, into)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.fail("%s: waited %v: %v", what, patience, err)
		}
	}
}

func named(function string, args ...string) string {
	list, _ := json.Marshal(args)
	return fmt.Sprintf("%s.%s(...%s)", names, function, list)
}

// Wait returns when the expression is true. Errors describe it by name.
func (p *Tab) Wait(name, expression string) {
	p.t.Helper()
	p.await("wait for "+name, fmt.Sprintf("%s.holds(%s, %q)", names, expression, expression), nil)
}

// Text waits for an element that matches a selector, and returns its visible text with single
// spaces.
func (p *Tab) Text(selector string) (text string) {
	p.t.Helper()
	p.await("text of "+selector, named("textIn", selector), &text)
	return text
}

func (p *Tab) has(text string) bool {
	p.t.Helper()
	return strings.Contains(p.Text("body"), strings.Join(strings.Fields(text), " "))
}

func (p *Tab) WantText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if !p.has(want) {
			p.t.Errorf("browser: on %s: want %q on the page, which shows:\n%s", p.Where(), want, p.Text("body"))
		}
	}
}

func (p *Tab) WithoutText(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if p.has(want) {
			p.t.Errorf("browser: on %s: want no %q on the page, which shows:\n%s", p.Where(), want, p.Text("body"))
		}
	}
}

func (p *Tab) load(what string, step chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, step)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.fail("%s: waited %v: no other page came", what, patience)
	case err != nil:
		p.fail("%s: %v", what, err)
	case response != nil:
		p.status = int(response.Status)
	}
}

// Open shows the page at a path of the site. Its status may be an error.
func (p *Tab) Open(path string) {
	p.t.Helper()
	p.load("open "+path, chromedp.Navigate(p.site+path))
}

func (p *Tab) Reload() {
	p.t.Helper()
	p.load("reload", chromedp.Reload())
}

func (p *Tab) Back() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	// The browser may restore a cached page without loading it.
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.FrameNavigated, nil, chromedp.Evaluate[chromedp.Void]("history.back()"))); err != nil {
		p.fail("back: %v", err)
	}
	p.Wait("the page to be complete", "document.readyState === 'complete'")
}

// click waits until nothing covers the control.
func (p *Tab) click(kind, name string) chromedp.Action[chromedp.Void] {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.await(fmt.Sprintf("click %s %q", kind, name), named("place", kind, name), &at)
	return chromedp.MouseClickXY(at.X, at.Y)
}

// Follow clicks a link or button, and waits until the target page has loaded.
func (p *Tab) Follow(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("follow %q", name), p.click("control", name))
}

// Submit clicks a button that sends a form, and waits until the resulting page has loaded.
func (p *Tab) Submit(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("submit %q", name), p.click("button", name))
}

func (p *Tab) Fill(label, text string) {
	p.t.Helper()
	write := command(input.InsertText, input.InsertTextParams{Text: text})
	if text == "" {
		write = chromedp.KeyEvent(kb.Delete)
	}
	p.do("fill", p.click("field", label), chromedp.Evaluate[chromedp.Void]("document.activeElement.select()"), write)
}

func (p *Tab) Enter() {
	p.t.Helper()
	p.load("enter", chromedp.KeyEvent(kb.Enter))
}

func (p *Tab) Press(key string) {
	p.t.Helper()
	p.do("press", chromedp.KeyEvent(key))
}

// SetViewport sets the width of the tab in pixels. A narrow tab acts like a phone.
func (p *Tab) SetViewport(width int64) {
	p.t.Helper()
	var options []chromedp.EmulateViewportOption
	if width < 640 {
		options = append(options, chromedp.EmulateMobile)
	}
	p.do("viewport", chromedp.EmulateViewport(width, 900, options...))
}

// SetColors sets the visitor's preference to "light" or "dark".
func (p *Tab) SetColors(scheme string) {
	p.t.Helper()
	p.do("colors", command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

func (p *Tab) SetScripts(on bool) {
	p.t.Helper()
	p.do("scripts", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}

func (p *Tab) Screenshot() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSS("html")))
	if err != nil {
		p.fail("screenshot: %v", err)
	}
	return picture
}

// Audit returns a sentence for each obstacle on the page, in its current width and colors.
func (p *Tab) Audit() (complaints []string) {
	p.t.Helper()
	p.Eval("("+audits+")("+names+")", &complaints)
	return complaints
}
