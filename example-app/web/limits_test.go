package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// visitProxied returns a visitor of a site behind a proxy that speaks TLS.
func visitProxied(t *testing.T) *visitor {
	t.Helper()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return visitWith(t, db, web.Config{Token: "a token"})
}

// from sends a form as someone at an address, and returns the status.
func (v *visitor) from(address, path string, fields ...string) int {
	v.t.Helper()
	req := v.form(path, fill(reply{}, fields...).Encode())
	req.Header.Set("X-Forwarded-For", address)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return v.send(client, req).status
}

func TestLogIn_WrongPasswordsElsewhereDoNotLockTheOwnerOut(t *testing.T) {
	v := visitProxied(t)
	v.from("203.0.113.1", "/signup", "id", v.app.NewID(), "handle", "ann", "password", password)
	for i := range 21 {
		want := 422
		if i == 20 {
			want = 429
		}
		if got := v.from("203.0.113.1", "/login", "handle", "Ann", "password", fmt.Sprint("guess number ", i)); got != want {
			t.Errorf("wrong password %d: want status %d, got %d", i+1, want, got)
		}
	}
	if got := v.from("203.0.113.1", "/login", "handle", "ann", "password", password); got != 429 {
		t.Errorf("from there: want status 429, got %d", got)
	}
	if got := v.from("203.0.113.2", "/login", "handle", "ann", "password", password); got != 303 {
		t.Errorf("from elsewhere: want the owner logged in, got status %d", got)
	}
}

func TestLogIn_CountsANetworkOfIPv6AsOne(t *testing.T) {
	v := visitProxied(t)
	for i := range 50 {
		v.from(fmt.Sprintf("2001:db8:1:2::%x", i), "/login", "handle", fmt.Sprint("nobody", i), "password", password)
	}
	if got := v.from("2001:db8:1:2:ffff::1", "/login", "handle", "nobody", "password", password); got != 429 {
		t.Errorf("another address of that network: want status 429, got %d", got)
	}
	if got := v.from("2001:db8:1:3::1", "/login", "handle", "nobody", "password", password); got != 422 {
		t.Errorf("another network: want status 422, got %d", got)
	}
	if got := v.from("::ffff:192.0.2.1", "/login", "handle", "nobody", "password", password); got != 422 {
		t.Errorf("an address of IPv4: want status 422, got %d", got)
	}
}

// signedUp returns the cookie of a new member.
func (v *visitor) signedUp(handle string) *http.Cookie {
	v.t.Helper()
	req := v.form("/signup", fill(reply{}, "id", v.app.NewID(), "handle", handle, "password", password).Encode())
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got := v.send(client, req)
	cookies := (&http.Response{Header: got.header}).Cookies()
	if len(cookies) != 1 {
		v.t.Fatalf("want a cookie, got %v: %s", cookies, got.body)
	}
	return cookies[0]
}

// listen opens a stream from an address. It returns the status, and the lines of the stream.
func (v *visitor) listen(address string, cookies ...*http.Cookie) (status int, lines *bufio.Scanner) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute) // A stream that does not end fails the test.
	v.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", v.site+"/live", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", address)
	for _, c := range cookies {
		req.AddCookie(c)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { resp.Body.Close() })
	return resp.StatusCode, bufio.NewScanner(resp.Body)
}

func TestLive_OneVisitorTakesOnePlace(t *testing.T) {
	v := visitProxied(t)
	_, first := v.listen("192.0.2.1")
	for i := range 64 {
		if status, _ := v.listen("192.0.2.1"); status != 200 {
			t.Fatalf("stream %d of one visitor: want status 200, got %d", i+2, status)
		}
	}
	over := false
	for first.Scan() {
		over = over || first.Text() == "event: over"
	}
	if !over {
		t.Error("want the first stream to say that it is over, and to end")
	}
	for i := range 63 {
		if status, _ := v.listen(fmt.Sprintf("198.51.100.%d", i)); status != 200 {
			t.Fatalf("visitor %d: want status 200, got %d", i+2, status)
		}
	}
	if status, _ := v.listen("192.0.2.2"); status != 503 {
		t.Errorf("visitor 65: want status 503, got %d", status)
	}
}

func TestMetrics_AreForThisMachineOrWithTheToken(t *testing.T) {
	v := visitProxied(t)
	for _, test := range []struct {
		header, value string
		status        int
	}{
		{"", "", 200},
		{"X-Forwarded-For", "192.0.2.1", 403},
		{"X-Forwarded-For", "127.0.0.1", 403},
		{"Forwarded", "for=127.0.0.1", 403},
		{"X-Real-Ip", "127.0.0.1", 403},
		{"Via", "1.1 proxy", 403},
		{"Authorization", "Bearer a token", 200},
	} {
		for _, elsewhere := range []bool{false, true} {
			req := httptest.NewRequest("GET", "/metrics", nil)
			req.RemoteAddr = "127.0.0.1:1234"
			if elsewhere {
				req.RemoteAddr = "192.0.2.1:1234"
			}
			if test.header != "" {
				req.Header.Set(test.header, test.value)
			}
			want := test.status
			if elsewhere && test.header != "Authorization" {
				want = 403
			}
			w := httptest.NewRecorder()
			v.handler.ServeHTTP(w, req)
			if w.Code != want || (w.Code == 200) != strings.Contains(w.Body.String(), "ashiato_requests_total") {
				t.Errorf("%s: %s from %s: want status %d, got %d %q", test.header, test.value, req.RemoteAddr, want, w.Code, w.Body)
			}
		}
	}
	for _, token := range []string{"", "a toke", "a token ", "A TOKEN"} {
		req := httptest.NewRequest("GET", "/metrics", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		if v.handler.ServeHTTP(w, req); w.Code != 403 {
			t.Errorf("token %q: want status 403, got %d", token, w.Code)
		}
	}
}

func TestMetrics_WithoutATokenNoneIsRight(t *testing.T) {
	v := visitMem(t)
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	if v.handler.ServeHTTP(w, req); w.Code != 403 {
		t.Errorf("want status 403, got %d", w.Code)
	}
}

// A browser that still sends its form when the connection ends shows no answer. So the whole
// form is read, up to a limit, and the connection can be used again.
func TestForm_TooBigIsReadToItsEnd(t *testing.T) {
	v := visitMem(t)
	for _, size := range []int{300 << 10, 5 << 20} {
		body := &counted{Reader: strings.NewReader("title=" + strings.Repeat("a", size))}
		req := httptest.NewRequest("POST", "/write", body)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		v.handler.ServeHTTP(w, req)
		if want := len("title=") + size; w.Code != 413 || !strings.Contains(w.Body.String(), "This form is too long: at most 262 KB can be sent.") || body.n != want {
			t.Errorf("%d bytes: want all read and status 413, got %d read and status %d", want, body.n, w.Code)
		}
	}
}

// counted counts what is read of it.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// Members at one address leave room for others.
func TestLive_OneAddressDoesNotTakeAllPlaces(t *testing.T) {
	v := visitProxied(t)
	open := 0
	for i := range 64 {
		member := v.signedUp(fmt.Sprint("member", i))
		if status, _ := v.listen("192.0.2.7", member); status == 200 {
			open++
		}
	}
	if open != 16 {
		t.Errorf("want 16 streams at one address, got %d", open)
	}
	if status, _ := v.listen("198.51.100.1"); status != 200 {
		t.Errorf("elsewhere: want status 200, got %d", status)
	}
}
