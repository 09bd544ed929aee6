package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// Profile is one visitor of one site: its pages share cookies, which no other
// profile has.
type Profile struct {
	t       testing.TB
	browser *Browser
	site    *url.URL
	id      string
}

// Profile returns a visitor of site, whose URL has neither path nor query.
func (b *Browser) Profile(t testing.TB, site string) *Profile {
	t.Helper()
	p := &Profile{t: t, browser: b}
	var err error
	if p.site, err = url.Parse(site); err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID string `json:"browserContextId"`
	}
	p.must("", "Target.createBrowserContext", params{"disposeOnDetach": true}, &made)
	p.id = made.ID
	t.Cleanup(func() { p.must("", "Target.disposeBrowserContext", params{"browserContextId": p.id}, nil) })
	return p
}

// params are those of a command.
type params map[string]any

// must calls, and fails the test if the command does.
func (p *Profile) must(session, method string, with params, result any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := p.browser.pipe.call(ctx, session, method, with, result); err != nil {
		p.t.Fatalf("chromium: %v", err)
	}
}

// Cookies returns the cookies of the profile, as far as a test cares about them.
func (p *Profile) Cookies() []http.Cookie {
	p.t.Helper()
	var got struct {
		Cookies []struct {
			Name, Value, Path string
			HTTPOnly          bool `json:"httpOnly"`
			Secure            bool
			SameSite          string
		}
	}
	p.must("", "Storage.getCookies", params{"browserContextId": p.id}, &got)
	var all []http.Cookie
	for _, c := range got.Cookies {
		all = append(all, http.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, HttpOnly: c.HTTPOnly, Secure: c.Secure, SameSite: sameSite[c.SameSite]})
	}
	return all
}

var sameSite = map[string]http.SameSite{"Strict": http.SameSiteStrictMode, "Lax": http.SameSiteLaxMode, "None": http.SameSiteNoneMode}

// Page opens an empty tab, as wide as a desktop's.
func (p *Profile) Page() *Page {
	p.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	p.must("", "Target.createTarget", params{"url": "about:blank", "browserContextId": p.id, "newWindow": true}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	p.must("", "Target.attachToTarget", params{"targetId": target.ID, "flatten": true}, &attached)
	page := &Page{Profile: p, session: attached.Session, heard: make(chan struct{}, 1), asked: map[string]string{}}
	p.browser.pipe.listen(page.session, page.hear)
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		page.must(domain+".enable", nil, nil)
	}
	page.must("Emulation.setFocusEmulationEnabled", params{"enabled": true}, nil)
	page.SetViewport(Desktop)
	p.t.Cleanup(page.report)
	return page
}

func (p *Page) must(method string, with params, result any) {
	p.t.Helper()
	p.Profile.must(p.session, method, with, result)
}

// report fails the test with what went wrong on the page without a step having
// noticed.
func (p *Page) report() {
	p.t.Helper()
	for _, problem := range p.Problems() {
		p.t.Error(problem)
	}
}

func (p *Page) String() string { return fmt.Sprintf("page %s", p.where()) }
