package apptest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/web"
)

func TestCookie_HasItsFlagsAndIsNew(t *testing.T) {
	for _, config := range []web.Config{development, proxied} {
		v, development := inMemory(t, config).visitor(), config.Development
		v.setCookie("planted")
		got := v.post("/signup", "id", newID(1), "handle", "ann", "password", password)
		cookies := (&http.Response{Header: got.header}).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("want one cookie, got %v", got.header)
		}
		c := cookies[0]
		if strings.HasPrefix(c.Name, "__Host-") == development || c.Value == "planted" {
			t.Errorf("development %v: want a new value, and a name that begins with __Host- unless in development, got %s", development, c)
		}
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure == development {
			t.Errorf("development %v: want HttpOnly, SameSite=Lax, this host only, and Secure unless in development; got %s", development, c)
		}
		if !development && got.header.Get("Strict-Transport-Security") == "" {
			t.Error("want Strict-Transport-Security with TLS")
		}
	}
}

func TestLogOut_EndsTheSessionAndNotJustTheCookie(t *testing.T) {
	c := newCommunity(t)
	cookie := c.ann.cookie()
	c.ann.want(c.ann.post("/logout"), http.StatusSeeOther)
	if c.ann.cookie() != "" || c.withCookie(cookie).signedIn() || !c.annElsewhere.signedIn() {
		t.Error("want the cookie taken away and of no use, and ann's other browser left alone")
	}
}

func TestLogIn_DoesNotRevealWhoIsAMember(t *testing.T) {
	c := newCommunity(t)
	answer := func(handle string) string {
		got := c.visitor().logIn(handle, "wrong horse 17")
		text, _, _ := strings.Cut(shown(got.body), "Under the hood")
		return fmt.Sprint(got.status, len(got.header.Values("Set-Cookie")), strings.ReplaceAll(text, handle, "HANDLE"))
	}
	if diff := cmp.Diff(answer("ann"), answer("nobody-here")); diff != "" {
		t.Errorf("answers to a member and to nobody (-member +nobody):\n%s", diff)
	}
}

// Behind a proxy, the limit applies to the address that the proxy saw, not to one that
// a visitor makes up. Without a proxy, the header is ignored.
func TestLogIn_IsLimitedByTheAddressThatTheProxySaw(t *testing.T) {
	for _, config := range []web.Config{development, proxied} {
		v, proxied := inMemory(t, config).visitor(), !config.Development
		try := func(i int, forwarded string) int {
			form := values([]string{"handle", fmt.Sprintf("nobody%d", i), "password", password}).Encode()
			return v.send("POST", "/login", form, http.Header{"X-Forwarded-For": {forwarded}}).status
		}
		for i := range 51 {
			try(i, fmt.Sprintf("192.0.2.%d, 203.0.113.7", i))
		}
		if got := try(51, "192.0.2.99, 203.0.113.7"); got != http.StatusTooManyRequests {
			t.Errorf("proxied %v: want no more attempts from the same address, got %d", proxied, got)
		}
		want := http.StatusTooManyRequests
		if proxied {
			want = http.StatusUnprocessableEntity
		}
		if got := try(52, "203.0.113.8"); got != want {
			t.Errorf("proxied %v: from another address want %d, got %d", proxied, want, got)
		}
	}
}

// listen opens a stream of the site at a URL, through a proxy that names an address. It returns
// the status, and the lines of the stream.
func listen(t *testing.T, url, address string, cookies ...*http.Cookie) (status int, lines *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // A stream that does not end fails the test.
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", address)
	for _, c := range cookies {
		req.AddCookie(c)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp.StatusCode, bufio.NewScanner(resp.Body)
}

// One visitor has one stream, members at one address have 16, and there are 64.
func TestLive_LeavesPlacesForOthers(t *testing.T) {
	s := inMemory(t, proxied)
	url := s.serve()
	_, first := listen(t, url, "192.0.2.1")
	listen(t, url, "192.0.2.1")
	over := false
	for first.Scan() {
		over = over || first.Text() == "event: over"
	}
	if !over {
		t.Error("want the first stream of the visitor to say that it is over, and to end")
	}
	count := map[int]int{}
	for i := range 20 {
		member := s.member(fmt.Sprint("member", i))
		status, _ := listen(t, url, "192.0.2.7", member.client.Jar.Cookies(member.address())...)
		count[status]++
	}
	for i := range 50 {
		status, _ := listen(t, url, fmt.Sprintf("198.51.100.%d", i))
		count[status]++
	}
	if count[200] != 63 || count[503] != 4+3 {
		t.Errorf("want 16 streams of members at one address and 47 at others beside the first, got %v by status", count)
	}
}

func TestMetrics_AreForThisMachineOrWithTheToken(t *testing.T) {
	s := inMemory(t, proxied)
	for _, test := range []struct {
		from, header, value string
		status              int
	}{
		{"127.0.0.1", "", "", 200},
		{"192.0.2.1", "", "", 403},
		{"127.0.0.1", "X-Forwarded-For", "127.0.0.1", 403},
		{"127.0.0.1", "Forwarded", "for=127.0.0.1", 403},
		{"127.0.0.1", "X-Real-Ip", "127.0.0.1", 403},
		{"127.0.0.1", "Via", "1.1 proxy", 403},
		{"192.0.2.1", "Authorization", "Bearer a token", 200},
		{"192.0.2.1", "Authorization", "Bearer a toke", 403},
		{"192.0.2.1", "Authorization", "Bearer ", 403},
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.RemoteAddr = test.from + ":1234"
		r.Header.Set(test.header, test.value)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != test.status || (w.Code == 200) != strings.Contains(w.Body.String(), "ashiato_requests_total") {
			t.Errorf("%s: %s from %s: want status %d, got %d %q", test.header, test.value, test.from, test.status, w.Code, w.Body)
		}
	}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	if inMemory(t, development).handler.ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("without a token none is right: want status 403, got %d", w.Code)
	}
}
