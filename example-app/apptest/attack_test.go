package apptest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A cookie that is not quite ann's is nobody's, and harms nobody.
func TestCookie_TamperedOrHugeIsNobodys(t *testing.T) {
	c := newCommunity(t)
	good := c.ann.cookie()
	before := c.state()
	for what, value := range map[string]string{
		"its first half":       good[:len(good)/2],
		"another first letter": string(good[0]^1) + good[1:],
		"another last letter":  good[:len(good)-2] + swapCase(good[len(good)-2:]),
		"one letter more":      good + "A",
		"two of them":          good + good,
		"ben's end":            good[:len(good)-20] + c.ben.cookie()[len(c.ben.cookie())-20:],
		"8 KB":                 strings.Repeat("A", 8<<10),
		"it and 8 KB":          good + strings.Repeat("A", 8<<10),
	} {
		v := c.withCookie(value)
		if got := v.get("/"); got.status != 200 || !strings.Contains(shown(got.body), "Log in") {
			t.Errorf("%s: want the page of a guest, got %d", what, got.status)
		}
		if v.signedIn() {
			t.Errorf("%s: someone is logged in", what)
		}
	}
	c.unchanged(before, "a tampered cookie")
}

// swapCase returns a text that differs in each letter.
func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r ^ 0x20
		}
		return 'A'
	}, text)
}

// raw sends text as it is, and returns the answer.
func (s *site) raw(text string) (*http.Response, error) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	// It sends nothing more, as one that has gone away.
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		s.t.Fatal(err)
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}

func TestPath_HostileOnesAreNotFound(t *testing.T) {
	c := newCommunity(t)
	before := c.state()
	for _, bad := range []string{
		"%00", "%ff", "%ff%fe", "a%00b", strings.Repeat("a", 5<<10), strings.Repeat("%ff", 5<<10), "%0d%0aSet-Cookie:%20a=b",
		"..%2f..%2fetc%2fpasswd", "%2e%2e", "tea%2f..", "%c0%af", "%ed%a0%80", "%E2%80%AE",
	} {
		for _, place := range []string{"/p/", "/m/", "/t/", "/m/%s/followers", "/t/%s/followers", "/style/", "/nowhere/"} {
			path := place + bad
			if strings.Contains(place, "%s") {
				path = fmt.Sprintf(place, bad)
			}
			got := c.guest.get(path)
			if got.status != http.StatusNotFound && got.status != http.StatusMovedPermanently && got.status != http.StatusTemporaryRedirect {
				t.Errorf("%.60s: want it not found, got %d", path, got.status)
			}
			if got.header.Get("Set-Cookie") != "" {
				t.Errorf("%.60s: it has set %q", path, got.header.Get("Set-Cookie"))
			}
		}
	}
	c.unchanged(before, "a hostile path")
}

// What a visitor sends is never a header of the answer.
func TestAnswer_HasNoHeadersOfTheVisitor(t *testing.T) {
	c := newCommunity(t)
	const inject = "%0d%0aX-Evil:%201%0d%0a%0d%0a<script>"
	for what, send := range map[string]func(v *visitor) reply{
		"the address of a member to follow": func(v *visitor) reply { return v.post("/m/" + inject + "/follow") },
		"the address of a topic to follow":  func(v *visitor) reply { return v.post("/t/" + inject + "/follow") },
		"the address of a page for members": func(v *visitor) reply { return v.get("/edit/" + inject) },
		"a query":                           func(v *visitor) reply { return v.get("/settings?done=" + inject) },
		"next": func(v *visitor) reply {
			return v.post("/login", "handle", "ann", "password", password, "next", "/p/tea\r\nX-Evil: 1")
		},
		"a wish": func(v *visitor) reply {
			return v.post("/login", "handle", "ann", "password", password, "next", "/p/tea", "wish", "/m/ben/follow\r\nX-Evil: 1")
		},
	} {
		got := send(c.visitor())
		if got.header.Get("X-Evil") != "" || got.status >= 500 || strings.Contains(got.body, "<script>") {
			t.Errorf("%s: got status %d with %v:\n%s", what, got.status, got.header, got.body)
		}
		for name, values := range got.header {
			for _, value := range values {
				if strings.ContainsAny(value, "\r\n") {
					t.Errorf("%s: %s has a line end: %q", what, name, value)
				}
			}
		}
	}
}

func TestForms_RefuseBrokenBodies(t *testing.T) {
	c := newCommunity(t)
	before := c.state()
	head := func(more string) string {
		return "POST /write HTTP/1.1\r\nHost: a\r\nCookie: ashiato=" + c.ann.cookie() + "\r\nContent-Type: application/x-www-form-urlencoded\r\n" + more + "\r\n\r\n"
	}
	form := values([]string{"id", newID(1), "slug", "milk", "title", "Milk", "body", "None."}).Encode()
	for what, text := range map[string]string{
		"cut short":                head(fmt.Sprint("Content-Length: ", len(form)+10)) + form,
		"chunks cut short":         head("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n", len(form), form),
		"no chunks":                head("Transfer-Encoding: chunked") + form,
		"a length below zero":      head("Content-Length: -1") + form,
		"two lengths":              head("Content-Length: 5\r\nContent-Length: 6") + form,
		"a length that is a word":  head("Content-Length: five") + form,
		"a header without a colon": head("Evil") + form,
	} {
		resp, err := c.raw(text)
		// A visitor who has gone away before the answer gets a 503, if the server answers at all.
		if err == nil && (resp.StatusCode < 400 || resp.StatusCode == 500) {
			t.Errorf("%s: want it refused, got %d", what, resp.StatusCode)
		}
	}
	c.unchanged(before, "a broken body")
}
