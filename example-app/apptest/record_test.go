package apptest

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// record is what a tab has done, as Chromium reports it.
type record struct {
	mu       sync.Mutex
	shown    string            // URL of the document that is
	requests []string          // their URLs, in their order
	asked    map[string]string // URL of a request by its id
	problems []string
}

// hear notes an event. It must not wait for the browser, which sends nothing
// more until hear returns.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.hearRequest(string(e.RequestID), e.Request.URL)
	case *network.EventResponseReceived:
		if e.Type != network.ResourceTypeDocument && e.Response.Status >= 400 {
			p.complain("%s: status %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			p.complain("%s: %s", p.asked[string(e.RequestID)], e.ErrorText)
		}
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			p.shown = e.Frame.URL
		}
	case *page.EventNavigatedWithinDocument:
		p.shown = e.URL
	case *page.EventJavascriptDialogOpening:
		p.complain("dialog: %s", e.Message)
		// A tab that is closed has no dialog any more.
		go func() {
			_ = chromedp.Do(p.ctx, command(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}))
		}()
	case *runtime.EventExceptionThrown:
		p.complain("script failed: %v", &chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		p.hearConsole(string(e.Type), e.Args)
	case *log.EventEntryAdded:
		// What the network refused has events of its own.
		if e.Entry.Source != log.EntrySourceNetwork {
			p.hearConsole(string(e.Entry.Level), e.Entry.Args, e.Entry.Text, e.Entry.URL)
		}
	}
}

func (p *tab) hearRequest(id, url string) {
	p.requests = append(p.requests, url)
	p.asked[id] = url
	if !strings.HasPrefix(url, p.site+"/") && !strings.HasPrefix(url, "data:") {
		p.complain("request to another host: %s", url)
	}
}

func (p *tab) hearConsole(kind string, args []*runtime.RemoteObject, texts ...string) {
	for _, arg := range args {
		texts = append(texts, cmp.Or(arg.Description, string(arg.Value)))
	}
	if kind == "error" || kind == "assert" || kind == "warning" {
		p.complain("console %s: %s", kind, texts)
	}
}

func (p *tab) complain(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("browser: "+format+" (on "+p.shown+")", args...))
}

func (p *tab) where() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

// report fails the test with what went wrong in the tab without a step having
// noticed.
func (p *tab) report() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error(problem)
	}
}
