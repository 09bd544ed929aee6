package apptest

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof/servers"
)

const frame = `<!doctype html><html lang="en"><title>Test</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><main>%s</main></html>`

// serve serves each body within a frame at its path. At /echo it serves what a form
// sent.
func serve(t *testing.T, bodies map[string]string) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range bodies {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, frame, body) })
	}
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, frame, "<h1>Got "+r.PostFormValue("title")+"</h1>")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// complaints runs test with a testing.TB of its own, and returns what test reported.
func complaints(t *testing.T, test func(testing.TB)) []string {
	t.Helper()
	fake := &fakeT{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer fake.end()
		test(fake)
	}()
	<-done
	return fake.said
}

type fakeT struct {
	testing.TB
	said  []string
	after []func()
}

func (f *fakeT) Helper()           {}
func (f *fakeT) Cleanup(do func()) { f.after = append(f.after, do) }
func (f *fakeT) Error(args ...any) { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *fakeT) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) end() {
	for len(f.after) > 0 {
		last := f.after[len(f.after)-1]
		f.after = f.after[:len(f.after)-1]
		last()
	}
}

func wantOne(t *testing.T, said []string, want string) {
	t.Helper()
	if len(said) != 1 || !strings.Contains(said[0], want) {
		t.Errorf("want one complaint that says %q, got %q", want, said)
	}
}

const formBody = `<h1>Form</h1><form action="/echo" method="post"><label for="t">Title</label><input id="t" name="title" value="old"><button>Send it</button></form>
<a href="/next"><svg aria-hidden="true"></svg> Next
page</a><button type="button" id="b">Count</button><p id="n">0</p>
<script>b.onclick = () => n.textContent++</script>`

func TestTab_DoesWhatAVisitorDoes(t *testing.T) {
	p := newTab(t, chromium(t), serve(t, map[string]string{"/form": formBody, "/next": "<h1>Next</h1>"}))
	p.Open("/form")
	p.do("click", p.click("control", "Count"))
	p.Wait("the count", "n.textContent === '1'")
	p.Follow("Next page")
	if got := p.where(); got != p.site+"/next" {
		t.Errorf("want %s/next, got %s", p.site, got)
	}
	p.Back()
	p.Wait("the field as it was", "t.value === 'old'")
	p.Fill("Title", `new “ü” \ '`)
	p.Submit("Send it")
	p.WantText(`Got new “ü” \ '`)
	p.WithoutText("old")
	if got := p.status; got != http.StatusAccepted {
		t.Errorf("want the server's status 202, got %d", got)
	}
}

func TestTab_RunsNoScriptsOnceTheyAreOff(t *testing.T) {
	p := newTab(t, chromium(t), serve(t, map[string]string{"/form": formBody}))
	p.SetScripts(false)
	p.Open("/form")
	p.do("click", p.click("control", "Count"))
	p.Fill("Title", "")
	p.Follow("Send it")
	p.Back()
	if got := p.Text("#n"); got != "0" {
		t.Errorf("want a button that does nothing, got %q", got)
	}
}

func TestTab_KeepsCookiesPerVisitor(t *testing.T) {
	b, url := chromium(t), serve(t, map[string]string{"/form": formBody})
	one, other := newTab(t, b, url), newTab(t, b, url)
	one.Open("/form")
	one.Follow("Send it")
	want := []string{"seen=yes Path=/ HttpOnly=true SameSite=Lax"}
	for p, want := range map[*tab][]string{one: want, openTab(t, one.ctx, url): want, other: nil} {
		if diff := cmp.Diff(want, cookies(p)); diff != "" {
			t.Errorf("cookies mismatch (-want +got):\n%s", diff)
		}
	}
}

func cookies(p *tab) (all []string) {
	p.t.Helper()
	got, err := chromedp.Call(p.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{p.site}})
	if err != nil {
		p.fail("cookies: %v", err)
	}
	for _, c := range got.Cookies {
		all = append(all, fmt.Sprintf("%s=%s Path=%s HttpOnly=%t SameSite=%s", c.Name, c.Value, c.Path, c.HTTPOnly, c.SameSite))
	}
	return all
}

func TestTab_ReportsErrorsInTheBackground(t *testing.T) {
	b := chromium(t)
	for body, want := range map[string]string{
		`<script>console.error("oh", 1)</script>`: `console error: ["oh" 1]`,
		`<script>nothing.at.all()</script>`:       `script failed: exception "Uncaught" (1:45): ReferenceError: nothing is not defined`,
		`<script>alert("boo")</script>`:           "dialog: boo",
		`<img src="/missing.png" alt="">`:         "/missing.png: status 404",
		`<meta http-equiv="Content-Security-Policy" content="style-src 'none'"><p style="color: red">`: "console error",
	} {
		url := serve(t, map[string]string{"/{$}": body})
		wantOne(t, complaints(t, func(t testing.TB) { newTab(t, b, url).Open("/") }), want)
	}
}

func TestTab_ReportsARequestToAnotherHost(t *testing.T) {
	b, url := chromium(t), serve(t, map[string]string{"/{$}": `<img src="http://other.example/x.png" alt="">`})
	said := complaints(t, func(t testing.TB) {
		p := newTab(t, b, url)
		p.Open("/")
		if diff := cmp.Diff([]string{url + "/", "http://other.example/x.png"}, p.requests); diff != "" {
			t.Errorf("requests mismatch (-want +got):\n%s", diff)
		}
	})
	if len(said) != 2 || !strings.Contains(said[0], "another host: http://other.example/x.png") || !strings.Contains(said[1], "ERR_NAME_NOT_RESOLVED") {
		t.Errorf("want the request and its end, got %q", said)
	}
}

func TestTab_ScreenshotHasTheWholePageInItsWidthAndColors(t *testing.T) {
	p := newTab(t, chromium(t), serve(t, map[string]string{"/{$}": `<style>body {margin: 0; height: 2000px; background: white}
		@media (prefers-color-scheme: dark) {body {background: black}}</style>`}))
	p.SetViewport(phoneWidth)
	for scheme, want := range map[string]uint32{"light": 0xffff, "dark": 0} {
		p.SetColors(scheme)
		p.Open("/")
		img, err := png.Decode(bytes.NewReader(p.Screenshot()))
		if err != nil {
			t.Fatal(err)
		}
		if size := img.Bounds().Size(); size.X != phoneWidth || size.Y != 2000 {
			t.Errorf("want %d x 2000, got %v", phoneWidth, size)
		}
		if r, _, _, _ := img.At(1, 1).RGBA(); r != want {
			t.Errorf("%s: want red %d, got %d", scheme, want, r)
		}
	}
}

func TestTab_FailedStepSaysWhatItWaitedFor(t *testing.T) {
	b, url := chromium(t), serve(t, map[string]string{"/form": formBody, "/covered": `<button>Under</button><div style="position: fixed; inset: 0">Over</div>`})
	for want, step := range map[string]func(*tab){
		`click control "Nowhere": waited 500ms: there are only ["Send it","Next page","Count"]`: func(p *tab) { p.Follow("Nowhere") },
		`click field "Name": waited 500ms: there are only ["Title"]`:                            func(p *tab) { p.Fill("Name", "x") },
		`follow "Count": waited 500ms: no other page came`:                                      func(p *tab) { p.Follow("Count") },
		`click button "Next page": waited 500ms: there are only ["Send it","Count"]`:            func(p *tab) { p.Submit("Next page") },
		`wait for a miracle: waited 500ms: 1 > 2 is not true`:                                   func(p *tab) { p.Wait("a miracle", "1 > 2") },
		`text of h6: waited 500ms: there is no h6`:                                              func(p *tab) { p.Text("h6") },
		`eval no.thing: ReferenceError: no is not defined`:                                      func(p *tab) { p.Eval("no.thing", nil) },
		`want "Tea" on the page`:                                                                func(p *tab) { p.WantText("Form", "Tea") },
		`want no "Form" on the page`:                                                            func(p *tab) { p.WithoutText("Tea", "Form") },
	} {
		wantOne(t, complaints(t, func(t testing.TB) {
			p := newTab(t, b, url)
			p.Open("/form")
			p.patience = time.Second / 2
			step(p)
		}), want)
	}
	wantOne(t, complaints(t, func(t testing.TB) {
		p := newTab(t, b, url)
		p.Open("/covered")
		p.patience = time.Second / 2
		p.Follow("Under")
	}), `it is covered by <div style`)
}

func TestStart_NamesAMissingChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	wantOne(t, complaints(t, func(t testing.TB) { startBrowser(t) }), `"chromium": executable file not found`)
}

func TestStart_LeavesNothingBehind(t *testing.T) {
	servers.Need(t, program)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var pid int
	if said := complaints(t, func(t testing.TB) { pid = chromedp.FromContext(startBrowser(t)).Browser.Process().Pid }); len(said) > 0 {
		t.Errorf("want no complaint, got %q", said)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("want process %d to have ended, got %v", pid, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("want no file left, got %v", left)
	}
}
