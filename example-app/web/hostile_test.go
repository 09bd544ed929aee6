package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// hostile are texts that some layer could take for something else.
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
	"right-left": "\u202egnirts",
	"astral":     "𝄞 👩‍👩‍👧",
}

func TestWrite_HostileTextIsShownAsItIs(t *testing.T) {
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
			v.want(got, 200, title, strings.ReplaceAll(text, "\r\n", "\n"))
			edit := v.editOf(slug)
			for _, page := range []reply{got, v.get("/"), v.get(edit), v.post(edit, fill(v.get(edit), "slug", "", "title", title, "body", text))} {
				for _, raw := range []string{"<script", "<img", "<svg onload", "onerror=alert(1)>\n<"} {
					v.without(page, raw)
				}
			}
		})
	}
}

func TestWrite_HostileSlugIsRefusedAtTheField(t *testing.T) {
	v := visitMem(t)
	for name, slug := range hostile {
		got := v.write(slug, "Title", "Kept.")
		v.want(got, 422, "An address has small letters", "Kept.")
		v.without(got, "<script")
		v.without(got, "<img")
		if t.Failed() {
			t.Fatalf("slug %s", name)
		}
	}
	v.want(v.write(strings.Repeat("a", 61), "Title", "Kept."), 422, "at most 60 characters; this one has 61", "Kept.")
	v.want(v.write(strings.Repeat("a", 60), "Title", "Kept."), 200, "Kept.")
}

func TestJoin_HostileHandleIsRefusedAtTheField(t *testing.T) {
	v := visitMem(t)
	for _, handle := range hostile {
		v.want(v.signUp(handle), 422, "A handle has letters from a to z")
	}
	v.want(v.signUp("  "), 422, "A member needs a handle.")
	v.want(v.signUp("a"), 422, "2 to 20 characters; this one has 1")
	v.want(v.signUp(strings.Repeat("a", 21)), 422, "this one has 21")
	v.want(v.signUp("\xff\xfe"), 422, "A handle has letters")
}

func TestWrite_WhatIsNoTextIsRefusedAtTheField(t *testing.T) {
	v := visitMem(t)
	for _, test := range []struct{ title, body, want string }{
		{"\xff\xfe", "Kept.", "This title holds bytes that are no text"},
		{"Title", "Kept.\xc3\x28", "This text holds bytes that are no text"},
		{"a\x00b", "Kept.", "This title holds control characters"},
		{"a\nb", "Kept.", "This title holds control characters"},
		{"Title", "Kept.\x1b[2J", "This text holds control characters"},
		{"", "Kept.", "A page needs a title."},
		{"Title", " \r\n\t ", "A page needs a text."},
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
		for _, place := range []string{"/p/", "/m/", "/edit/", "/nowhere/"} {
			got := v.get(place + url.PathEscape(text))
			v.want(got, 404, "There is nothing at this address.")
			v.without(got, "<script")
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
	trash := "/trash/" + edit[len("/edit/"):]
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/write", "", 400},
		{"/write", "id=%zz", 400},
		{"/write", "id=r:Page:1&handle=ann&slug=a&title=a&body=a", 400},
		{"/join", "handle=ben", 400},
		{edit, "slug=tea&title=a&body=a", 400},
		{edit, "version=x&slug=tea&title=a&body=a", 400},
		{edit, "version=-1&slug=tea&title=a&body=a", 400},
		{trash, "version=99999999999999999999", 400},
		{trash, "version=7", 409},
		{edit, "version=1&body=" + strings.Repeat("a", 300<<10), 413},
		{"/write", strings.Repeat("a=b&", 100<<10), 413},
		{"/nowhere", "", 405},
		{"/", "", 405},
	} {
		if got := v.send(v.client, v.form(test.path, test.body)); got.status != test.status {
			t.Errorf("POST %s %.40q: want status %d, got %d", test.path, test.body, test.status, got.status)
		}
	}
	v.want(v.get("/p/tea"), 200, "One cup.", "version 1")
	v.want(v.get("/members"), 200, "1 of at most 50")
}

func TestSite_FormOfAnotherSiteIsRefused(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	for path, fields := range map[string]url.Values{
		"/join":                          fill(v.get("/join"), "handle", "ben"),
		"/write":                         fill(v.get("/write"), "handle", "ann", "slug", "x", "title", "x", "body", "x"),
		edit:                             fill(v.get(edit), "slug", "tea", "title", "x", "body", "x"),
		"/trash/" + edit[len("/edit/"):]: fill(v.get(edit)),
	} {
		for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			req := v.form(path, fields.Encode())
			req.Header.Del("Sec-Fetch-Site")
			req.Header.Set(header, value)
			v.want(v.send(v.client, req), 403, "This form was sent from another site.")
		}
	}
	v.want(v.get("/p/tea"), 200, "One cup.", "version 1")
	v.want(v.get("/"), 200, "1 of at most 50")
	v.want(v.get("/members"), 200, "1 of at most 50")
}

func TestSite_GetChangesNothing(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	id := edit[len("/edit/"):]
	v.want(v.get("/trash/"+id+"?version=1"), 404)
	v.want(v.get(edit+"?version=1&slug=x&title=x&body=x"), 200, "One cup.")
	v.want(v.get("/join?id=00000000000000000000000001&handle=ben"), 200)
	v.want(v.get("/p/tea"), 200, "One cup.", "version 1")
	v.want(v.get("/members"), 200, "1 of at most 50")
}

func TestSite_EveryAnswerIsStrictAboutContent(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	for _, path := range []string{"/", "/p/tea", v.editOf("tea"), "/write", "/join", "/members", "/m/ann", "/nowhere", "/style.css", "/mark.svg"} {
		got := v.get(path)
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: want %s in the policy, got %q", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: want no unsafe and nosniff, got %v", path, got.header)
		}
		for _, inline := range []string{"<script", "<style", " style=", " onclick=", "//"} {
			if body := strings.ReplaceAll(got.body, "http://www.w3.org/2000/svg", ""); strings.Contains(body, inline) {
				t.Errorf("%s: want no %q, got:\n%s", path, inline, got.body)
			}
		}
	}
	if kind := v.get("/style.css").header.Get("Content-Type"); !strings.HasPrefix(kind, "text/css") {
		t.Errorf("style.css: want text/css, got %s", kind)
	}
	if size := len(v.get("/style.css").body); size >= 12_000 {
		t.Errorf("style.css: want under 12,000 bytes, got %d", size)
	}
}

func TestSite_StatusOfUnknownMethodIsNotAllowed(t *testing.T) {
	v := visitMem(t)
	req, err := http.NewRequest("DELETE", v.site+"/p/tea", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	v.want(v.send(v.client, req), 405)
}
