package browser_test

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

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/internal/browser"
	"github.com/ringtree/ringtree/internal/proof/servers"
)

const frame = `<!doctype html><html lang="en"><title>Test</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><main>%s</main></html>`

// site serves each body within a frame at its path, and under /echo what a form
// has sent.
func site(t *testing.T, bodies map[string]string) string {
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

func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	servers.Need(t, browser.Program)
	return browser.Start(t)
}

// complaints runs test with a test of its own, and returns what that reported.
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

const form = `<h1>Form</h1><form action="/echo" method="post"><label for="t">Title</label><input id="t" name="title" value="old"><button>Send it</button></form>
<a href="/next"><svg aria-hidden="true"></svg> Next
page</a><button type="button" id="b">Count</button><p id="n">0</p>
<script>b.onclick = () => n.textContent++</script>`

func TestPage_DoesWhatAVisitorDoes(t *testing.T) {
	p := chromium(t).Profile(t, site(t, map[string]string{"/form": form, "/next": "<h1>Next</h1>"})).Page()
	p.Open("/form")
	p.Click("Count")
	p.Wait("the count", "n.textContent === '1'")
	p.Follow("Next page")
	if got := p.Path(); got != "/next" {
		t.Errorf("want /next, got %s", got)
	}
	p.Back()
	if got := p.Value("Title"); got != "old" {
		t.Errorf("want the field as it was, got %q", got)
	}
	p.Fill("Title", `new “ü” \ '`)
	p.Submit("Send it")
	p.WantText(`Got new “ü” \ '`)
	p.WithoutText("old")
	if got := p.Status(); got != http.StatusAccepted {
		t.Errorf("want the server's status 202, got %d", got)
	}
}

func TestPage_WithoutScriptsHasNone(t *testing.T) {
	p := chromium(t).Profile(t, site(t, map[string]string{"/form": form})).Page()
	p.SetScripts(false)
	p.Open("/form")
	p.Click("Count")
	p.Fill("Title", "")
	p.Follow("Send it")
	p.Back()
	if got := p.Text("#n"); got != "0" {
		t.Errorf("want a button that does nothing, got %q", got)
	}
}

func TestProfile_HasCookiesOfItsOwn(t *testing.T) {
	b, url := chromium(t), site(t, map[string]string{"/form": form})
	one, other := b.Profile(t, url), b.Profile(t, url)
	p := one.Page()
	p.Open("/form")
	p.Follow("Send it")
	want := []http.Cookie{{Name: "seen", Value: "yes", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}}
	if diff := cmp.Diff(want, one.Cookies()); diff != "" {
		t.Errorf("cookies mismatch (-want +got):\n%s", diff)
	}
	if got := other.Cookies(); len(got) > 0 {
		t.Errorf("want no cookie in another profile, got %v", got)
	}
}

func TestPage_ReportsWhatWentWrongUnseen(t *testing.T) {
	b := chromium(t)
	for body, want := range map[string]string{
		`<script>console.error("oh", 1)</script>`: "console error: [{oh",
		`<script>nothing.at.all()</script>`:       "script failed: Uncaught ReferenceError: nothing is not defined",
		`<script>alert("boo")</script>`:           "dialog: boo",
		`<img src="/missing.png" alt="">`:         "/missing.png: status 404",
		`<meta http-equiv="Content-Security-Policy" content="style-src 'none'"><p style="color: red">`: "console error",
	} {
		url := site(t, map[string]string{"/{$}": body})
		wantOne(t, complaints(t, func(t testing.TB) { b.Profile(t, url).Page().Open("/") }), want)
	}
}

func TestPage_ReportsARequestToAnotherHost(t *testing.T) {
	b, url := chromium(t), site(t, map[string]string{"/{$}": `<img src="http://other.example/x.png" alt="">`})
	said := complaints(t, func(t testing.TB) {
		p := b.Profile(t, url).Page()
		p.Open("/")
		if diff := cmp.Diff([]string{url + "/", "http://other.example/x.png"}, p.Requests()); diff != "" {
			t.Errorf("requests mismatch (-want +got):\n%s", diff)
		}
	})
	if len(said) != 2 || !strings.Contains(said[0], "another host: http://other.example/x.png") || !strings.Contains(said[1], "ERR_NAME_NOT_RESOLVED") {
		t.Errorf("want the request and its end, got %q", said)
	}
}

func TestPage_ScreenshotShowsTheWholePageInItsWidthAndColours(t *testing.T) {
	p := chromium(t).Profile(t, site(t, map[string]string{"/{$}": `<style>body {margin: 0; height: 2000px; background: white}
		@media (prefers-color-scheme: dark) {body {background: black}}</style>`})).Page()
	p.SetViewport(browser.Phone)
	for scheme, want := range map[string]uint32{"light": 0xffff, "dark": 0} {
		p.SetColours(scheme)
		p.Open("/")
		img, err := png.Decode(bytes.NewReader(p.Screenshot(5000)))
		if err != nil {
			t.Fatal(err)
		}
		if size := img.Bounds().Size(); size.X != browser.Phone || size.Y != 2000 {
			t.Errorf("want %d x 2000, got %v", browser.Phone, size)
		}
		if r, _, _, _ := img.At(1, 1).RGBA(); r != want {
			t.Errorf("%s: want red %d, got %d", scheme, want, r)
		}
	}
}

func TestPage_StepThatCannotBeDoneSaysWhatItWaitedFor(t *testing.T) {
	b, url := chromium(t), site(t, map[string]string{"/form": form, "/covered": `<button>Under</button><div style="position: fixed; inset: 0">Over</div>`})
	b.Hurry(time.Second / 2)
	for want, step := range map[string]func(*browser.Page){
		`click control "Nowhere": waited 500ms: there are only ["Send it" "Next page" "Count"]`: func(p *browser.Page) { p.Click("Nowhere") },
		`click field "Name": waited 500ms: there are only ["Title"]`:                            func(p *browser.Page) { p.Fill("Name", "x") },
		`follow "Count": waited 500ms: no other page came`:                                      func(p *browser.Page) { p.Follow("Count") },
		`click button "Next page": waited 500ms: there are only ["Send it" "Count"]`:            func(p *browser.Page) { p.Submit("Next page") },
		`wait for a miracle: waited 500ms: 1 > 2 is not true`:                                   func(p *browser.Page) { p.Wait("a miracle", "1 > 2") },
		`text of h6: waited 500ms: there is no h6`:                                              func(p *browser.Page) { p.Text("h6") },
		`value of field "Name": waited 500ms: there is no such field`:                           func(p *browser.Page) { p.Value("Name") },
		`eval no.thing: Uncaught ReferenceError: no is not defined`:                             func(p *browser.Page) { p.Eval("no.thing", nil) },
		`want "Tea" on the page`:                                                                func(p *browser.Page) { p.WantText("Form", "Tea") },
		`want no "Form" on the page`:                                                            func(p *browser.Page) { p.WithoutText("Tea", "Form") },
		`it is covered by <div style`:                                                           func(p *browser.Page) { p.Open("/covered"); p.Click("Under") },
	} {
		wantOne(t, complaints(t, func(t testing.TB) {
			p := b.Profile(t, url).Page()
			p.Open("/form")
			step(p)
		}), want)
	}
}

func TestStart_MissingChromiumIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	wantOne(t, complaints(t, func(t testing.TB) { browser.Start(t) }), `"chromium": executable file not found`)
}

func TestStart_LeavesNothingBehind(t *testing.T) {
	servers.Need(t, browser.Program)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var pid int
	if said := complaints(t, func(t testing.TB) { pid = browser.Start(t).Pid() }); len(said) > 0 {
		t.Errorf("want no complaint, got %q", said)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("want no process %d any more, got %v", pid, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("want no file left, got %v", left)
	}
}
