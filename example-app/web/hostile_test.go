package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/templates"
)

// hostile has texts that some layer could misinterpret.
var hostile = map[string]string{
	"script":     `<script>alert(1)</script>`,
	"attribute":  `"><img src=x onerror=alert(1)>`,
	"end":        `</textarea></title><svg onload=alert(1)>`,
	"colons":     `a:b:c`,
	"braces":     `{tag}{{.}}{}`,
	"percent":    `%00%2e%2e%2f`,
	"text":       `'; DROP TABLE pages; --`,
	"line ends":  "one\r\ntwo",
	"blanks":     "a b\u00a0c",
	"right-left": "\u202egnirts \u202c",
	"astral":     "𝄞 👩‍👩‍👧",
}

func TestWrite_ShowsHostileTextVerbatim(t *testing.T) {
	v := visitMem(t)
	i := 0
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			v := *v
			v.t = t
			i++
			slug := "page-" + strings.Repeat("x", i)
			title := strings.ReplaceAll(text, "\r\n", " ")
			got := v.write(slug, title, text)
			v.want(got, 200, append(strings.Split(text, "\r\n"), title)...)
			edit := v.editOf(slug)
			for _, page := range []reply{got, v.get("/"), v.get(edit), v.post(edit, fill(v.get(edit), "slug", "", "title", title, "body", text))} {
				for _, raw := range []string{"<script>", "<img", "<svg onload", "onerror=alert(1)>\n<"} {
					v.without(page, raw)
				}
			}
		})
	}
}

func TestWrite_RefusesAHostileSlugAtItsField(t *testing.T) {
	v := visitMem(t)
	for name, slug := range hostile {
		got := v.write(slug, "Title", "Kept.")
		v.want(got, 422, "An address has lowercase letters", "Kept.")
		v.without(got, "<script>")
		v.without(got, "<img")
		if t.Failed() {
			t.Fatalf("slug %s", name)
		}
	}
	v.want(v.write(strings.Repeat("a", 61), "Title", "Kept."), 422, "at most 60 characters; this one has 61", "Kept.")
	v.want(v.write(strings.Repeat("a", 60), "Title", "Kept."), 200, "Kept.")
}

func TestSignUp_RefusesAHostileHandleAtItsField(t *testing.T) {
	v := visitMem(t)
	for _, handle := range hostile {
		v.want(v.signUp(handle), 422, "A handle has letters, digits, - and _ only.")
	}
	v.want(v.signUp("  "), 422, "A member needs a handle.")
	v.want(v.signUp("a"), 422, "2 to 20 characters; this one has 1")
	v.want(v.signUp(strings.Repeat("a", 21)), 422, "this one has 21")
	v.want(v.signUp("\xff\xfe"), 422, "A handle has letters")
}

func TestWrite_RefusesInvalidTextAtItsField(t *testing.T) {
	v := visitMem(t)
	for _, test := range []struct{ title, body, want string }{
		{"\xff\xfe", "Kept.", "This title is not valid UTF-8 text"},
		{"Title", "Kept.\xc3\x28", "This text is not valid UTF-8 text"},
		{"a\x00b", "Kept.", "This title holds control characters"},
		{"a\nb", "Kept.", "This title holds control characters"},
		{"Title", "Kept.\x1b[2J", "This text holds control characters"},
		{"", "Kept.", "A page needs a title."},
		{"Title", " \r\n\t ", "A page needs text."},
		{strings.Repeat("ä", 121), "Kept.", "A title has at most 120 characters; this one has 121."},
		{"Title", strings.Repeat("ä", 10_001), "A text has at most 10000 characters; this one has 10001."},
	} {
		v.want(v.write("tea", test.title, test.body), 422, test.want)
	}
	v.want(v.get("/p/tea"), 404)
	v.want(v.write("tea", strings.Repeat("𝄞", 120), strings.Repeat("𝄞", 10_000)), 200, "𝄞")
}

func TestSite_HostilePathsAreNotFound(t *testing.T) {
	v := visitMem(t)
	for _, text := range append([]string{"\xff", "\x00", strings.Repeat("a", 5000), "u:Page:BySlug:tea"}, values(hostile)...) {
		for _, place := range []string{"/p/", "/m/", "/t/", "/edit/", "/nowhere/"} {
			got := v.get(place + url.PathEscape(text))
			v.want(got, 404, "Page not found")
			v.without(got, "<script>")
		}
	}
}

func values(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func TestSite_BadFormsAreRefusedAndChangeNothing(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	comment := "/comment/" + edit[len("/edit/"):]
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/write", "", 400},
		{"/write", "id=%zz", 400},
		{"/write", "id=r:Page:1&slug=a&title=a&body=a", 400},
		{"/signup", "handle=ben&password=" + password, 400},
		{edit, "slug=tea&title=a&body=a", 400},
		{edit, "version=x&slug=tea&title=a&body=a", 400},
		{edit, "version=-1&slug=tea&title=a&body=a", 400},
		{deleteOf(edit), "version=99999999999999999999", 400},
		{deleteOf(edit), "version=7", 409},
		{comment, "text=hello", 400},
		{comment, "id=" + strings.Repeat("0", 26), 422},
		{"/comment/never", "text=hello&id=" + strings.Repeat("0", 26), 404},
		{"/m/nobody/follow", "", 404},
		{"/m/ann/follow", "", 403},
		{"/p/nothing/like", "", 404},
		{"/p/tea/like", "", 403},
		{"/t/nothing/follow", "", 404},
		{"/footprints/seen", "until=soon", 400},
		{"/settings/password", "old=wrong&password=" + password, 422},
		{edit, "version=1&title=Tea&slug=tea&body=Half+sent.", 400},
		{edit, "version=1&title=Tea&slug=tea&topics=", 400},
		{edit, "version=1;title=Tea;slug=tea;body=x;topics=", 400},
		{"/settings/profile", "", 400},
		{edit, "version=1&body=" + strings.Repeat("a", 300<<10), 413},
		{"/write", strings.Repeat("a=b&", 100<<10), 413},
		{"/nowhere", "", 405},
		{"/", "", 405},
	} {
		if got := v.send(v.client, v.form(test.path, test.body)); got.status != test.status {
			t.Errorf("POST %s %.40q: want status %d, got %d", test.path, test.body, test.status, got.status)
		}
	}
	v.want(v.get("/p/tea"), 200, "One cup.", "0 comments")
	v.wantVersion(edit, "1")
	v.want(v.get("/m/ben"), 404)
}

// What is not sent as browsers send a form has no fields, and would be saved as an empty one.
func TestSite_TakesFormsAsBrowsersSendThem(t *testing.T) {
	v := visitMem(t)
	v.want(v.post("/settings/profile", url.Values{"about": {"I like tea."}}), 200, "Your profile has been saved")
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x"} {
		req := v.form("/settings/profile", "about=")
		req.Header.Set("Content-Type", kind)
		v.want(v.send(v.client, req), 415, "This form was not accepted")
	}
	v.want(v.get("/m/ann"), 200, "I like tea.")
}

// paths returns the paths of all pages, for a site with one page by ann.
func paths(v *visitor) []string {
	return []string{
		"/", "/newest", "/feed", "/ranking", "/ranking?span=today", "/ranking?span=all", "/topics", "/t/kitchen", "/t/kitchen/followers",
		"/p/tea", "/write", v.editOf("tea"), "/m/ann", "/m/ann/followers", "/footprints", "/signup", "/login", "/settings", "/hood", "/search", "/search?q=te",
	}
}

// furnish returns two members of a site with a page, a comment and a footprint.
func furnish(t *testing.T) (ann, ben *visitor) {
	ann = visitMem(t)
	ann.want(ann.post("/write", fill(ann.get("/write"), "slug", "tea", "title", "Tea", "body", "One cup.", "topics", "kitchen, water")), 200, "kitchen")
	ben = ann.as("ben")
	ben.want(ben.get("/m/ann"), 200)
	form := regexp.MustCompile(`action="(/comment/[^"]+)"`).FindStringSubmatch(ben.get("/p/tea").body)
	if form == nil {
		t.Fatal("no form for comments")
	}
	ben.want(ben.post(form[1], fill(ben.get("/p/tea"), "text", "Green or black?")), 200, "Green or black?", "1 comment")
	return ann, ben
}

func TestSite_RefusesFormsFromOtherSites(t *testing.T) {
	ann, _ := furnish(t)
	for _, route := range web.Forms() {
		for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			path := strings.NewReplacer("{id}", ann.editOf("tea")[len("/edit/"):], "{handle}", "ben", "{topic}", "kitchen", "{slug}", "tea").Replace(route)
			req := ann.form(path, fill(ann.get("/write"), "version", "1", "title", "x", "body", "x", "text", "x").Encode())
			req.Header.Del("Sec-Fetch-Site")
			req.Header.Set(header, value)
			ann.want(ann.send(ann.client, req), 403, "This form was sent from another site")
		}
	}
	ann.want(ann.get("/p/tea"), 200, "One cup.", "1 comment")
	ann.wantVersion(ann.editOf("tea"), "1")
}

func TestSite_SendsGuestsToLogInAndBack(t *testing.T) {
	ann, _ := furnish(t)
	edit := ann.editOf("tea")
	guest := ann.another()
	for _, path := range []string{"/feed", "/write", edit, "/footprints", "/settings"} {
		got := guest.get(path)
		guest.want(got, 200, "Log in")
		if next := fill(got).Get("next"); got.path != "/login" || next != path {
			t.Errorf("%s: want /login with it as next, got %s with %q", path, got.path, next)
		}
	}
	got := guest.post("/login", fill(guest.get("/settings"), "handle", "Ann", "password", password))
	if guest.want(got, 200, "Settings"); got.path != "/settings" {
		t.Errorf("want to arrive at the settings, got %s", got.path)
	}
}

func TestSite_GuestsChangeNothing(t *testing.T) {
	ann, _ := furnish(t)
	edit := ann.editOf("tea")
	guest := ann.another()
	for _, route := range web.Forms() {
		if route == "/signup" || route == "/login" || route == "/logout" {
			continue
		}
		path := strings.NewReplacer("{id}", edit[len("/edit/"):], "{handle}", "ben", "{topic}", "kitchen", "{slug}", "tea").Replace(route)
		fields := fill(ann.get("/write"), "version", "1", "slug", "tea", "title", "x", "body", "x", "text", "x", "until", "1", "about", "x")
		got := guest.post(path, fields)
		if strings.HasSuffix(route, "/follow") || strings.HasSuffix(route, "/like") {
			guest.want(got, 200, "Log in", "Then you’ll ")
			continue
		}
		guest.want(got, 403, "You are not logged in")
	}
	ann.want(ann.get("/p/tea"), 200, "One cup.", "1 comment")
	ann.wantVersion(edit, "1")
}

func TestLogIn_RedirectsOnlyWithinTheSite(t *testing.T) {
	ann := visitMem(t)
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", "evil", "", "/\t/evil.example", "/%2f/evil.example/..//"} {
		form := fill(ann.get("/login"), "handle", "ann", "password", password, "next", next)
		got := ann.postOnce("/login", form)
		to, err := url.Parse(got.header.Get("Location"))
		if got.status != 303 || err != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.String(), "/") || strings.HasPrefix(to.String(), "//") {
			t.Errorf("next %q: want to stay on the site, got %d to %q", next, got.status, got.header.Get("Location"))
		}
	}
}

func TestLogIn_LooksTheSameForAnUnknownHandle(t *testing.T) {
	v := visitMem(t).another()
	one := v.post("/login", fill(v.get("/login"), "handle", "ann", "password", "not the password"))
	other := v.post("/login", fill(v.get("/login"), "handle", "nobody", "password", "not the password"))
	v.want(one, 422, "Wrong handle or password.")
	if got := strings.ReplaceAll(comparable(other.body), "nobody", "ann"); got != comparable(one.body) {
		t.Errorf("want the same page, got\n%s\nand\n%s", comparable(one.body), got)
	}
}

// comparable returns a page without the parts that always differ.
func comparable(body string) string {
	body = regexp.MustCompile(`nonce="[^"]*"`).ReplaceAllString(body, "")
	return regexp.MustCompile(`(?s)<ul class="cost".*?</ul>`).ReplaceAllString(body, "")
}

func TestLogIn_ChangesTheCookie(t *testing.T) {
	ann := visitMem(t)
	before := ann.cookie()
	ann.post("/login", fill(ann.get("/login"), "handle", "ann", "password", password))
	if after := ann.cookie(); before == "" || before == after {
		t.Errorf("want another cookie, got %.8q and then %.8q", before, after)
	}
	old := ann.another()
	old.setCookie(before)
	old.want(old.get("/"), 200, "Log in")
}

func TestSettings_LogOutOneSessionOrAll(t *testing.T) {
	ann := visitMem(t)
	second := ann.another()
	second.want(second.post("/login", fill(second.get("/login"), "handle", "ann", "password", password)), 200)
	page := ann.get("/settings")
	ann.want(page, 200, "this browser")
	ann.want(ann.post("/settings/session/end", fill(page)), 200, "That session has been logged out.")
	second.want(second.get("/settings"), 200, "Log in")
	ann.want(ann.get("/settings"), 200, "this browser")

	second.want(second.post("/login", fill(second.get("/login"), "handle", "ann", "password", password)), 200)
	ann.want(ann.post("/settings/sessions/end", nil), 200, "Log in")
	second.want(second.get("/settings"), 200, "Log in")
	ann.want(ann.get("/settings"), 200, "Log in")
}

func TestSettings_CannotEndAnotherMembersSession(t *testing.T) {
	ann := visitMem(t)
	twin := ann.another()
	twin.want(twin.post("/login", fill(twin.get("/login"), "handle", "ann", "password", password)), 200)
	ben := ann.as("ben")
	form := fill(twin.get("/settings"))
	ben.want(ben.post("/settings/session/end", url.Values{"session": form["session"]}), 200)
	ann.want(ann.get("/settings"), 200, "this browser")
	twin.want(twin.get("/settings"), 200, "this browser")
}

func TestSettings_ChangedPasswordEndsAllOtherSessions(t *testing.T) {
	ann := visitMem(t)
	second := ann.another()
	second.want(second.post("/login", fill(second.get("/login"), "handle", "ann", "password", password)), 200)
	before := ann.cookie()
	ann.want(ann.post("/settings/password", url.Values{"old": {password}, "password": {"another figure two"}}), 200, "Your password has been changed")
	if ann.cookie() == before {
		t.Error("want another cookie after the password has changed")
	}
	second.want(second.get("/settings"), 200, "Log in")
	second.want(second.post("/login", fill(second.get("/login"), "handle", "ann", "password", password)), 422)
	second.want(second.post("/login", fill(second.get("/login"), "handle", "ann", "password", "another figure two")), 200)
}

func TestFootprints_AreNewUntilTheyAreSeen(t *testing.T) {
	ann, _ := furnish(t)
	ann.want(ann.get("/"), 200, `<span class="count">1<span class="sr"> unread`)
	page := ann.get("/footprints")
	ann.want(page, 200, "ben", "1 new visitor", "Mark all as seen", `class="unread"`)
	ann.want(ann.get("/footprints"), 200, "1 new visitor")
	ann.want(ann.post("/footprints/seen", fill(page)), 200, "ben", "No new visitors")
	ann.without(ann.get("/"), `class="count"`)
}

func TestFootprints_OnlyAVisitLeavesOne(t *testing.T) {
	ann := visitMem(t)
	ben := ann.as("ben")
	for header, value := range map[string]string{"Sec-Fetch-Dest": "image", "Sec-Purpose": "prefetch;prerender", "Purpose": "prefetch"} {
		req, err := http.NewRequest("GET", ben.site+"/m/ann", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		ben.want(ben.send(ben.client, req), 200)
	}
	ann.another().get("/m/ann")
	ann.get("/m/ann")
	ann.want(ann.get("/footprints"), 200, "No visitors yet.")
}

func TestFollow_SendsAGuestToLogInAndDoesItThen(t *testing.T) {
	ann, ben := furnish(t)
	guest := ann.another()
	form := guest.post("/m/ann/follow", nil)
	guest.want(form, 200, "Log in", "Then you’ll follow ann.")
	got := guest.post("/login", fill(form, "handle", "ben", "password", password))
	guest.want(got, 200, "You follow ann")
	if got.path != "/m/ann" {
		t.Errorf("want to arrive at ann, got %s", got.path)
	}
	ben.want(ben.get("/m/ann"), 200, "You follow ann")

	guest = ann.another()
	guest.want(guest.post("/t/water/follow", nil), 200, "Then you’ll follow water.")
	got = guest.post("/signup", fill(guest.get("/signup?next=/t/water"), "handle", "carol", "password", password))
	guest.want(got, 200, "You follow", "Unfollow")
	guest.without(guest.get("/login?next=/t/water"), `name="wish"`)
}

func TestLike_SendsAGuestToLogInAndDoesItThen(t *testing.T) {
	ann, ben := furnish(t)
	ann.write("likable", "Likable", "Warm.")
	guest := ann.another()
	guest.want(guest.get("/p/likable"), 200, `action="/p/likable/like"`)
	form := guest.post("/p/likable/like", nil)
	guest.want(form, 200, "Log in", "Then you’ll like likable.")
	got := guest.post("/login", fill(form, "handle", "ben", "password", password))
	guest.want(got, 200, "Take back your like")
	if got.path != "/p/likable" {
		t.Errorf("want to arrive at the page, got %s", got.path)
	}
	ben.settle()
	ben.want(ben.get("/p/likable"), 200, "Take back your like", "<bdi>1</bdi></a></b> like</li>")
	ben.want(ben.get("/ranking?span=liked"), 200, "Likable", `1</b> <span class="unit">like`)
	ben.want(ben.post("/p/likable/unlike", nil), 200, ">Like<")
	ann.without(ann.get("/p/likable"), "/p/likable/like")
	ann.want(ann.post("/p/likable/like", nil), 403, "You cannot like your own page")
	guest = ann.another()
	guest.want(guest.post("/p/likable/unlike", nil), 403, "You are not logged in")
}

// No link and no form of another makes anybody follow: the browser must have asked for it.
func TestFollow_IsDoneOnlyForTheBrowserThatAskedForIt(t *testing.T) {
	ann, ben := furnish(t)
	logIn := func(v *visitor, fields ...string) {
		t.Helper()
		form := fill(v.get("/login?next=/m/ann"), append([]string{"handle", "ben", "password", password}, fields...)...)
		v.want(v.post("/login", form), 200)
		ben.without(ben.get("/m/ann"), "You follow ann")
	}
	logIn(ann.another(), "wish", "/m/ann/follow", "next", "/m/ann")

	asked := ann.another()
	asked.want(asked.post("/m/ann/follow", nil), 200, "Then you’ll follow ann.")
	asked.without(asked.get("/login?next=/settings"), `name="wish"`)
	logIn(asked, "wish", "")
	asked = ann.another()
	asked.want(asked.post("/m/ann/follow", nil), 200, "Then you’ll follow ann.")
	logIn(asked, "next", "/")

	for _, wish := range []string{"/m/ann/unfollow", "/m/ann/follow/follow", "/m//follow", "/settings/sessions/end", "//evil.example/m/ann/follow", "/delete/x"} {
		v := ann.another()
		at, err := url.Parse(v.site)
		if err != nil {
			t.Fatal(err)
		}
		v.client.Jar.SetCookies(at, []*http.Cookie{{Name: "ashiato-wish", Value: wish, Path: "/"}})
		v.without(v.get("/login?next=/m/ann"), `name="wish"`)
		logIn(v, "wish", wish)
	}
}

func TestFollow_FillsTheFeed(t *testing.T) {
	ann, ben := furnish(t)
	ben.want(ben.get("/feed"), 200, "will appear here")
	ben.want(ben.post("/m/ann/follow", nil), 200, "You follow ann", "Unfollow", "1</bdi>")
	ben.want(ben.post("/m/ann/follow", nil), 200, "You follow ann")
	ann.write("coffee", "Coffee", "Black.")
	ann.settle()
	ben.want(ben.get("/feed"), 200, "Coffee")
	ben.want(ben.get("/"), 200, "From your feed", "Coffee")
	ann.want(ann.get("/m/ann/followers"), 200, "ben", "1 member follows ann.")
	ben.want(ben.post("/m/ann/unfollow", nil), 200, "Follow ann")

	ben.want(ben.post("/t/water/follow", nil), 200, "You follow", "Unfollow")
	ann.want(ann.post("/write", fill(ann.get("/write"), "title", "Tides", "body", "Two numbers.", "topics", "water")), 200)
	ann.settle()
	ben.want(ben.get("/feed"), 200, "Tides")
	ann.want(ann.get("/t/water/followers"), 200, "ben")
	ben.want(ben.post("/t/water/unfollow", nil), 200, "Follow")
}

func TestSite_GetChangesNothing(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	for _, route := range web.Forms() {
		path := strings.NewReplacer("{id}", edit[len("/edit/"):], "{handle}", "ann", "{topic}", "kitchen", "{slug}", "tea").Replace(route)
		v.get(path + "?version=1&slug=x&title=x&body=x&id=00000000000000000000000001&handle=ben&password=" + url.QueryEscape(password))
	}
	v.want(v.get("/p/tea"), 200, "One cup.")
	v.want(v.get("/settings"), 200, "this browser")
	v.wantVersion(edit, "1")
	v.want(v.get("/m/ben"), 404)
}

func TestSite_EveryPageIsSmallAndStrictAboutContent(t *testing.T) {
	ann, _ := furnish(t)
	for _, path := range append(paths(ann), "/nowhere", "/style/"+templates.StyleName(), "/mark.svg", "/live.js", "/healthz", "/metrics") {
		got := ann.get(path)
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: want %s in the policy, got %q", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: want no unsafe and nosniff, got %v", path, got.header)
		}
		for _, inline := range []string{"<style", " style=", " onclick=", "<img", `="//`, `="http`} {
			if strings.Contains(got.body, inline) && !strings.HasSuffix(path, ".svg") {
				t.Errorf("%s: want no %q, got:\n%s", path, inline, got.body)
			}
		}
		if size := len(got.body); size > 60_000 {
			t.Errorf("%s: want at most 60,000 bytes, got %d", path, size)
		}
	}
}

func TestSite_DoesNotLetBrowsersCacheMembersPages(t *testing.T) {
	ann, _ := furnish(t)
	for _, path := range paths(ann) {
		if kept := ann.get(path).header.Get("Cache-Control"); kept != "no-store" {
			t.Errorf("%s: want no-store, got %q", path, kept)
		}
	}
}

func TestSite_ScriptNeedsItsNonce(t *testing.T) {
	v := visitMem(t)
	seen := map[string]bool{}
	for range 3 {
		got := v.get("/")
		nonce := regexp.MustCompile(`<script src="/live.js" nonce="([^"]+)" defer></script>`).FindStringSubmatch(got.body)
		if nonce == nil || !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'nonce-"+nonce[1]+"';") {
			t.Fatalf("want the script with the nonce of the policy, got %q and %q", nonce, got.header.Get("Content-Security-Policy"))
		}
		seen[nonce[1]] = true
	}
	if len(seen) != 3 {
		t.Errorf("want a nonce for each answer, got %v", seen)
	}
}

func TestSite_ReportsBadCursors(t *testing.T) {
	ann, _ := furnish(t)
	for _, path := range []string{"/newest?at=x", "/feed?at=AQAA", "/topics?at=%00", "/t/kitchen?at=x", "/m/ann?at=x", "/p/tea?comments=x", "/m/ann/followers?at=x", "/t/kitchen/followers?at=x"} {
		ann.want(ann.get(path), 400, "This part of the list does not exist")
	}
	ann.want(ann.get("/footprints?from=0"), 404)
	ann.want(ann.get("/footprints?from=99"), 200)
	ann.want(ann.get("/live?since=x"), 400)
}

func TestSite_RefusesAnUnknownMethod(t *testing.T) {
	v := visitMem(t)
	req, err := http.NewRequest("DELETE", v.site+"/p/tea", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	v.want(v.send(v.client, req), 405)
}
