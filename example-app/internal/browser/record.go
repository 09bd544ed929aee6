package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
)

// record is what a page has done, as Chromium tells of it.
type record struct {
	documents int      // so many came to be shown
	url       string   // of the one that is
	status    int      // that the server gave it
	requests  []string // their URLs
	problems  []string
}

// event is any of those that matter here; each has some of the fields.
type event struct {
	RequestID string `json:"requestId"`
	Request   struct{ URL string }
	Response  struct {
		URL    string
		Status int
	}
	Frame struct{ ID, ParentID, URL string }
	URL   string

	Type, Message, ErrorText string
	Canceled                 bool
	Args                     []struct {
		Value       any
		Description string
	}
	ExceptionDetails struct {
		Text      string
		Exception struct{ Description string }
	}
	Entry struct{ Source, Level, Text, URL string }
}

// hear notes an event.
func (p *Page) hear(m message) {
	var e event
	if err := json.Unmarshal(m.Params, &e); err != nil {
		p.complain("an event that cannot be read: %s: %v", m.Params, err)
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		p.noteRequest(e)
	case "Network.responseReceived":
		p.noteResponse(e)
	case "Network.loadingFailed":
		p.noteFailure(e)
	case "Page.frameNavigated":
		if e.Frame.ParentID == "" {
			p.noteDocument(e.Frame.URL)
		}
	case "Page.navigatedWithinDocument":
		p.noteDocument(e.URL)
	case "Page.javascriptDialogOpening":
		p.complain("dialog: %s", e.Message)
		// Answered elsewhere, because the answer comes after this event.
		go p.dismiss()
	case "Runtime.exceptionThrown":
		p.complain("script failed: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "assert" || e.Type == "warning" {
			p.complain("console %s: %v", e.Type, e.Args)
		}
	case "Log.entryAdded":
		// What the network refused is told of by its own events.
		if e.Entry.Source != "network" && (e.Entry.Level == "error" || e.Entry.Level == "warning") {
			p.complain("console %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	}
	p.wake()
}

func (p *Page) noteRequest(e event) {
	p.mu.Lock()
	p.record.requests = append(p.record.requests, e.Request.URL)
	p.asked[e.RequestID] = e.Request.URL
	p.mu.Unlock()
	if u, err := url.Parse(e.Request.URL); err != nil || u.Host != p.site.Host && u.Scheme != "data" {
		p.complain("request to another host: %s", e.Request.URL)
	}
}

func (p *Page) noteResponse(e event) {
	if e.Type == "Document" {
		p.mu.Lock()
		p.record.status = e.Response.Status
		p.mu.Unlock()
		return
	}
	if e.Response.Status >= 400 {
		p.complain("%s: status %d", e.Response.URL, e.Response.Status)
	}
}

func (p *Page) noteFailure(e event) {
	if e.Canceled {
		return
	}
	p.mu.Lock()
	asked := p.asked[e.RequestID]
	p.mu.Unlock()
	p.complain("%s: %s", asked, e.ErrorText)
}

func (p *Page) noteDocument(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record.documents++
	p.record.url = url
}

func (p *Page) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record.problems = append(p.record.problems, fmt.Sprintf("browser: "+format+" (on "+p.record.url+")", args...))
}

func (p *Page) dismiss() {
	// A page that is gone has no dialog any more.
	_ = p.call("Page.handleJavaScriptDialog", params{"accept": false}, nil)
}

// wake lets a step look whether what it waits for has come.
func (p *Page) wake() {
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

// now returns the record as it is.
func (p *Page) now() record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record
}

// Problems returns what went wrong on the page so far, and forgets it: a test
// that expects a problem takes it from here.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := p.record.problems
	p.record.problems = nil
	return problems
}

// Requests returns the URL of each request so far, in their order.
func (p *Page) Requests() []string { return slices.Clone(p.now().requests) }

// Status is what the server answered with the document that is shown.
func (p *Page) Status() int { return p.now().status }
