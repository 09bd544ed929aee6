package apptest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/internal/proof"
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
	proof.NoDiff(t, cmp.Diff(answer("ann"), answer("nobody-here")), "answers to a member and to nobody (-member +nobody)")
}

// Visitors can make up the header, but not the address that the proxy saw.
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
		proof.Equal(t, try(52, "203.0.113.8"), want, "proxied %v: from another address", proxied)
	}
}

func TestPassword_ChangingItLocksOthersOut(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.post("/settings/password", "old", "wrong horse 17", "password", "another horse 18"), http.StatusUnprocessableEntity, "This is not your current password.")
	c.ann.want(c.ann.post("/settings/password", "old", password, "password", "another horse 18"), http.StatusSeeOther)
	if !c.ann.signedIn() || c.annElsewhere.signedIn() {
		t.Error("want the session that has changed the password kept, and the other one ended")
	}
	c.guest.want(c.guest.logIn("ann", password), http.StatusUnprocessableEntity)
	c.guest.want(c.guest.logIn("ann", "another horse 18"), http.StatusSeeOther)
}

func TestLive_LeavesPlacesForOthers(t *testing.T) {
	url := inMemory(t, proxied).serve()
	for i := range 18 {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/live", nil)
		must(t, err)
		address, want := "192.0.2.7", http.StatusOK
		if i == 16 {
			want = http.StatusServiceUnavailable
		} else if i > 16 {
			address = "192.0.2.8"
		}
		req.Header.Set("X-Forwarded-For", address)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		proof.Equal(t, resp.StatusCode, want, "stream %d, at %s: status", i, address)
	}
}
