package apptest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/internal/proof"
)

// payloads become scripts if a page fails to escape them.
var payloads = []string{
	`<script>alert(1)</script>`,
	`<img/src=x/onerror=alert(1)//`,
	`<svg><a xlink:href="javascript:alert(1)"><text y=20>x</text></a>`,
	`<iframe srcdoc="<script>parent.alert(1)</script>">`,
	`<base href=https://evil.example/>`,
	`<!--><script>alert(1)</script-->`,
	`</title></textarea></script></style><script>alert(1)</script>`,
	`</svg></math></p></li></ul></main><script>alert(1)</script>`,
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`" autofocus onfocus="alert(1)`,
	"` onmouseover=alert(1) `",
	`&quot;><img src=x onerror=alert(1)>`,
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	`%3Cscript%3Ealert(1)%3C/script%3E`,
	`[x](javascript:alert(1)) [x](data:text/html,x) [x](//evil.example/) [x](/\evil.example)`,
	`[x](https://ok.example/"onmouseover="alert(1))`,
	"## `<script>alert(1)</script>` *<img src=x onerror=alert(1)>*",
}

func (c *community) store(text string, n int) {
	c.t.Helper()
	ctx, ann := c.t.Context(), c.id("ann")
	page, err := c.app.Own(ctx, ann, c.page)
	c.must(err)
	_, err = c.app.Edit(ctx, ann, c.page, ashiato.Draft{Title: text, Body: text, Topics: []string{"drinks"}, Version: page.Version})
	c.must(err)
	_, err = c.app.Comment(ctx, ann, c.page, newID(100+n), text)
	c.must(err)
	err = c.app.Describe(ctx, ann, text)
	c.must(err)
}

// answersTo returns all answers that may show text, stored or typed.
func (c *community) answersTo(text string, n int) map[string]reply {
	c.t.Helper()
	c.store(text, n)
	c.settle()
	all := map[string]reply{}
	for _, path := range c.paths() {
		all["ann "+path], all["ben "+path], all["guest "+path] = c.ann.get(path), c.ben.get(path), c.guest.get(path)
	}
	typed := url.QueryEscape(text)
	for _, path := range []string{"/login?next=", "/newest?at=", "/ranking?span=", "/ranking?page=", "/search?q=", "/hood?list=", "/hood?list=Page.ByTopics&of=", "/edit/" + c.page + "?edit=", "/feed?at="} {
		all[path] = c.guest.get(path + typed)
	}
	c.later()
	all["refused"] = c.ann.post("/write", "id", newID(1), "title", text, "body", text, "topics", text+" ?!")
	all["conflict"] = c.ann.post("/edit/"+c.page, "version", "1", "title", text, "body", text, "topics", "drinks")
	all["comment"] = c.ann.post("/comment/"+c.page, "id", newID(1), "text", text+strings.Repeat("x", 5000))
	all["about"] = c.ann.post("/settings/profile", "about", text+strings.Repeat("x", 5000))
	all["sign-up"] = c.guest.post("/signup", "id", newID(1), "handle", text+"?", "password", password)
	all["log-in"] = c.guest.post("/login", "handle", text, "password", "wrong", "next", text)
	return all
}

var fairAddress = regexp.MustCompile(`^(/([^/\\]|$)|#|https?://\w)`)

// No text makes a tag, an attribute or an address that pages of harmless texts do not have.
func TestText_IsNeverMarkup(t *testing.T) {
	c := newCommunity(t)
	fair := map[string]bool{}
	for n, harmless := range []string{"Plain words.", "p", "Words,\n\n## more *words*, `code`, and [a link](https://ok.example/)."} {
		if n == 2 {
			for range 30 { // enough comments for a pager
				_, err := c.app.Comment(t.Context(), c.id("ben"), c.page, c.app.NewID(), c.app.NewID())
				c.must(err)
			}
			harmless = strings.ReplaceAll(harmless, "\n", " ")
		}
		for _, got := range c.answersTo(harmless, n) {
			for _, tag := range tags(got.body) {
				fair[tag.shape()] = true
			}
		}
	}
	for _, tag := range []string{"p", "em", "code", "a href rel", "h2"} { // of Markdown
		fair[tag] = true
	}
	for n, payload := range payloads {
		for what, got := range c.answersTo(payload, 10+n) {
			if got.status >= 500 {
				t.Errorf("%s with %s: status %d", what, payload, got.status)
			}
			for _, tag := range tags(got.body) {
				if !fair[tag.shape()] {
					t.Errorf("%s with %s: a new tag %q", what, payload, tag.shape())
				}
				for _, name := range []string{"href", "src", "action", "formaction", "data-live"} {
					if value, has := tag.attrs[name]; has && !fairAddress.MatchString(value) {
						t.Errorf("%s with %s: %s leads to %q", what, payload, tag.shape(), value)
					}
				}
			}
		}
	}
}

// Pages, refused forms, files and failures have strict headers. Each script has the nonce of its
// page, which no other answer has, and nothing of a page is a style or a script by itself.
func TestEveryAnswer_IsStrict(t *testing.T) {
	c := newCommunity(t)
	all := c.answersTo("Plain words.", 1)
	all["other site"] = c.ann.send("POST", "/write", "", http.Header{"Sec-Fetch-Site": {"cross-site"}})
	all["bad form"] = c.ann.post("/write", "id", "%zz")
	for _, path := range []string{"/healthz", "/mark.svg", "/live.js"} {
		all[path] = c.ann.get(path)
	}
	nonces, scripts := map[string]string{}, 0
	for what, got := range all {
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			proof.Equal(t, got.header.Get(name), want, "%s: %s", what, name)
		}
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "style-src 'self'"} {
			proof.Contains(t, policy, want)
		}
		if regexp.MustCompile(`unsafe|\*|https?:|blob:|(script|style)-src[^;]*data:`).MatchString(policy) {
			t.Errorf("%s: a loose policy: %q", what, policy)
		}
		if strings.HasPrefix(what, "ann ") && got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: want no-store, got %q", what, got.header.Get("Cache-Control"))
		}
		nonce := ""
		if found := regexp.MustCompile(`script-src 'nonce-([^']{16,})'`).FindStringSubmatch(policy); found != nil {
			if nonce = found[1]; nonces[nonce] != "" {
				t.Errorf("%s has the nonce of %s", what, nonces[nonce])
			}
			nonces[nonce] = what
		}
		for _, tag := range tags(got.body) {
			if tag.name == "script" {
				scripts++
				if tag.attrs["nonce"] != nonce || nonce == "" || strings.TrimSpace(tag.text) != "" {
					t.Errorf("%s: a script without the nonce, or inline: %v", what, tag)
				}
			}
			if tag.name == "style" && !strings.HasSuffix(what, ".svg") || has(tag.attrs, "style") || regexp.MustCompile(` on\w`).MatchString(tag.shape()) {
				t.Errorf("%s: an inline style or script: <%s>", what, tag.shape())
			}
		}
	}
	if scripts == 0 {
		t.Error("want at least one page with a script, or this test proves nothing")
	}
}

func TestRequests_ThatAreMalformedChangeNothing(t *testing.T) {
	c := newCommunity(t)
	edit, before := "/edit/"+c.page, c.state()
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/write", "", 400},
		{"/write", "id=%zz", 400},
		{"/write", "id=r:Page:1&title=a&body=a", 400},
		{edit, "version=-1&title=a&body=a", 400},
		{edit, "version=1&title=Tea&body=Half+sent.", 400},
		{edit, "version=1;title=Tea;body=x;topics=", 400},
		{edit, "version=1&body=" + strings.Repeat("a", 300<<10), 413},
		{"/write", strings.Repeat("a=b&", 100<<10), 413},
		{"/delete/" + c.page, "version=99999999999999999999", 400},
		{"/delete/" + c.page, "version=7", 409},
		{"/comment/never", "text=hello&id=" + newID(1), 404},
		{"/m/nobody/follow", "", 404},
		{"/m/ann/follow", "", 403},
		{"/p/tea/like", "", 403},
		{"/footprints/seen", "until=soon", 400},
		{"/settings/profile", "", 400},
		{"/nowhere", "", 405},
	} {
		if got := c.ann.send("POST", test.path, test.body, http.Header{"Sec-Fetch-Site": {"same-origin"}}); got.status != test.status {
			t.Errorf("POST %s %.40q: want status %d, got %d", test.path, test.body, test.status, got.status)
		}
	}
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x"} {
		got := c.ann.send("POST", "/settings/profile", "about=", http.Header{"Content-Type": {kind}})
		c.ann.want(got, http.StatusUnsupportedMediaType, "This form was not accepted")
	}
	for _, bad := range []string{"%00", "%ff%fe", strings.Repeat("a", 5<<10), "%0d%0aSet-Cookie:%20a=b", "..%2f..%2fetc%2fpasswd", "%c0%af", "%E2%80%AE"} {
		for _, place := range []string{"/p/%s", "/m/%s", "/t/%s", "/style/%s", "/nowhere/%s"} {
			if got := c.guest.get(fmt.Sprintf(place, bad)); got.status != http.StatusNotFound || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%.60s: want it not found, got %d", got.path, got.status)
			}
		}
	}
	c.unchanged(before, "what is malformed")
}

var fromElsewhere = map[string]http.Header{
	"cross-site":                   {"Sec-Fetch-Site": {"cross-site"}},
	"a sibling's site":             {"Sec-Fetch-Site": {"same-site"}},
	"cross-site with the origin":   {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
	"an old browser":               {"Origin": {"https://evil.example"}},
	"a hidden origin":              {"Origin": {"null"}},
	"an origin with the same name": {"Origin": {"https://127.0.0.1.evil.example"}},
}

func TestForms_FromElsewhereOrFromStrangersChangeNothing(t *testing.T) {
	c := newCommunity(t)
	requests, before := c.requests(), c.state()
	strangers := map[string]*visitor{"a guest": c.guest, "a made-up cookie": c.withCookie("x"), "half a cookie": c.withCookie(c.ann.cookie()[:40])}
	for _, r := range requests {
		for what, header := range fromElsewhere {
			c.ann.want(c.ann.send("POST", r.path, values(r.fields).Encode(), header), http.StatusForbidden, "another site")
			c.unchanged(before, "POST "+r.path+" from "+what)
		}
		for _, method := range []string{"GET", "HEAD"} {
			c.ann.send(method, r.path+"?"+values(r.fields).Encode(), "", nil)
		}
		if !slices.Contains([]string{"/signup", "/login", "/logout", "/drawings", "/hood/kill"}, r.route) { // Guests send them.
			for what, v := range strangers {
				got := v.post(r.path, r.fields...)
				if got.status != http.StatusForbidden && (got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/login")) {
					t.Errorf("POST %s with %s: want 403 or a redirect to log in, got %d to %s", r.path, what, got.status, got.header.Get("Location"))
				}
			}
		}
		c.unchanged(before, "GET of "+r.path+", or POST from a stranger")
	}
}

func (c *community) withCookie(value string) *visitor {
	v := c.visitor()
	v.setCookie(value)
	return v
}

func TestMember_CannotTouchWhatBelongsToAnother(t *testing.T) {
	c := newCommunity(t)
	version := valueOf(c.ann.fields("/edit/"+c.page, "/edit/"+c.page), "version")
	edited, trashed := c.past()
	before := c.state()
	for _, r := range []request{
		{path: "/edit/" + c.page, fields: []string{"version", version, "title", "Ben's now", "body", "x", "topics", ""}},
		{path: "/edit/" + c.page, fields: []string{"version", version, "title", "Ben's now", "body", "x", "topics", "", "do", "preview"}},
		{path: "/delete/" + c.page, fields: []string{"version", version}},
		{path: "/restore/" + trashed},
		{path: "/write", fields: []string{"id", c.page, "title", "Ben's now", "body", "x"}},
		{path: "/settings/password", fields: []string{"old", "wrong horse 17", "password", "another horse 18"}},
	} {
		got := c.ben.post(r.path, r.fields...)
		if got.status < 300 || got.status >= 500 || strings.Contains(shown(got.body), "One cup.") {
			t.Errorf("POST %s from ben: want it refused, got %d:\n%s", r.path, got.status, shown(got.body))
		}
		c.unchanged(before, "POST "+r.path+" from ben")
	}
	for _, path := range []string{"/edit/" + c.page, "/edit/" + edited + "?edit=1", "/history/" + edited} {
		c.ben.want(c.ben.get(path), http.StatusForbidden)
	}
	c.ben.post("/settings/sessions/end")
	if !c.ann.signedIn() || !c.annElsewhere.signedIn() || c.ben.signedIn() {
		t.Error("want ben logged out everywhere, and nobody else")
	}
}

func TestLogIn_LeadsOnWithinTheSite(t *testing.T) {
	c := newCommunity(t)
	base, err := url.Parse(c.url + "/login")
	c.must(err)
	for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "/p/tea\r\nSet-Cookie: a=b"} {
		c.later()
		got := c.visitor().post("/login", "handle", "ann", "password", password, "next", next)
		to := got.header.Get("Location")
		target, err := base.Parse(to)
		if err != nil || got.status != http.StatusSeeOther || target.Host != base.Host || target.Scheme != base.Scheme || strings.ContainsAny(to, "\\\t\r\n") || strings.HasPrefix(to, "//") {
			t.Errorf("next %q: want a redirect within the site, got %d to %q", next, got.status, to)
		}
		if len(got.header.Values("Set-Cookie")) > 1 {
			t.Errorf("next %q set a cookie: %q", next, got.header.Values("Set-Cookie"))
		}
	}
	for _, path := range []string{"/write", "/edit/" + c.page, "/feed", "/footprints", "/settings"} {
		v := c.visitor()
		form := v.get(path).header.Get("Location")
		if got := v.fill(form, "/login", "handle", "ann", "password", password); got.header.Get("Location") != path {
			t.Errorf("%s: want to return there, got %d to %q", path, got.status, got.header.Get("Location"))
		}
	}
}
