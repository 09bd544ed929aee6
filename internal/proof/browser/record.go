package browser

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

type record struct {
	mu       sync.Mutex
	shown    string
	asked    map[string]string // URLs by request id
	problems []string
}

// hear records an event. It must not wait for the browser, which sends nothing more until hear
// returns.
func (p *Tab) hear(event any) {
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
		go func() {
			_ = chromedp.Do(p.ctx, command(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}))
		}()
	case *runtime.EventExceptionThrown:
		p.complain("script failed: %v", &chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		p.hearConsole(string(e.Type), e.Args)
	case *log.EventEntryAdded:
		// Failed requests have their own events.
		if e.Entry.Source != log.EntrySourceNetwork {
			p.hearConsole(string(e.Entry.Level), e.Entry.Args, e.Entry.Text, e.Entry.URL)
		}
	}
}

func (p *Tab) hearRequest(id, url string) {
	p.asked[id] = url
	if !strings.HasPrefix(url, p.site+"/") && !strings.HasPrefix(url, "data:") {
		p.complain("request to another host: %s", url)
	}
}

func (p *Tab) hearConsole(kind string, args []*runtime.RemoteObject, texts ...string) {
	for _, arg := range args {
		texts = append(texts, cmp.Or(arg.Description, string(arg.Value)))
	}
	if kind == "error" || kind == "assert" || kind == "warning" {
		p.complain("console %s: %s", kind, texts)
	}
}

func (p *Tab) complain(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("browser: "+format+" (on "+p.shown+")", args...))
}

func (p *Tab) Where() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

func (p *Tab) report() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error(problem)
	}
}
