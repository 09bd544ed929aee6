package apptest

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// An attacker who plants a cookie in ann's browser before she logs in gains nothing.
func TestLogIn_SetsAnUnknowableCookie(t *testing.T) {
	c := newCommunity(t)
	for what, cookie := range map[string]string{
		"ben's": c.ben.cookie(), "made up": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "ended": endedCookie(c), "empty": "",
	} {
		for how, enter := range map[string]func(v *visitor) reply{
			"log in": func(v *visitor) reply { return v.post("/login", "handle", "ann", "password", password) },
			"sign up": func(v *visitor) reply {
				return v.post("/signup", "id", c.app.NewID(), "handle", "new-"+strings.ToLower(c.app.NewID()[20:]), "password", password)
			},
		} {
			v := c.withCookie(cookie)
			v.want(enter(v), http.StatusSeeOther)
			if v.cookie() == cookie || !v.signedIn() {
				t.Errorf("%s with the cookie %s: want a new cookie that is logged in", how, what)
			}
			thief := c.withCookie(cookie)
			if got := thief.get("/settings"); got.status == 200 && strings.Contains(shown(got.body), "ann") {
				t.Errorf("%s with the cookie %s: its planter is logged in as ann", how, what)
			}
		}
	}
}

// endedCookie returns a cookie that was good until its owner logged out.
func endedCookie(c *community) string {
	v := c.visitor()
	v.logIn("ann", password)
	cookie := v.cookie()
	v.post("/logout")
	return cookie
}

func TestLogOut_EndsTheSessionAndNotJustTheCookie(t *testing.T) {
	c := newCommunity(t)
	cookie := c.ann.cookie()
	c.ann.want(c.ann.post("/logout"), http.StatusSeeOther)
	if c.ann.cookie() != "" {
		t.Error("want the cookie taken away")
	}
	if c.withCookie(cookie).signedIn() {
		t.Error("the old cookie still signs in")
	}
	if !c.annElsewhere.signedIn() {
		t.Error("want ann's other browser left alone")
	}
}

func TestSession_RevokedIsLoggedOut(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.post("/settings/session/end", "session", c.otherSession(c.ann)), http.StatusSeeOther)
	if !c.ann.signedIn() || c.annElsewhere.signedIn() {
		t.Error("want the other browser logged out, and not this one")
	}
	c.annElsewhere.logIn("ann", password)
	c.annElsewhere.want(c.annElsewhere.post("/settings/sessions/end"), http.StatusSeeOther)
	if c.ann.signedIn() || c.annElsewhere.signedIn() {
		t.Error("want ann logged out everywhere")
	}
}

func TestPassword_ChangeEndsTheOtherSessions(t *testing.T) {
	c := newCommunity(t)
	old := c.ann.cookie()
	c.ann.want(c.ann.post("/settings/password", "old", password, "password", "another horse 18"), http.StatusSeeOther)
	if !c.ann.signedIn() || c.ann.cookie() == old {
		t.Error("want this session to continue under a new cookie")
	}
	if c.annElsewhere.signedIn() || c.withCookie(old).signedIn() {
		t.Error("want all other sessions ended")
	}
	c.guest.want(c.guest.logIn("ann", password), http.StatusUnprocessableEntity)
	c.guest.want(c.guest.logIn("ann", "another horse 18"), http.StatusSeeOther)
}

func TestCookie_HasItsFlags(t *testing.T) {
	for _, development := range []bool{true, false} {
		db, err := kvmodel.Open(memkv.New(memkv.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		app := ashiato.NewSite(db, ashiato.Options{Hash: cheap})
		s := &site{t: t, url: serveOnce(t, newHandler(t, app, development)), app: app}
		got := s.visitor().fill("/signup", "/signup", "handle", "ann", "password", password)
		cookies := (&http.Response{Header: got.header}).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("want one cookie, got %v", got.header)
		}
		if c := cookies[0]; strings.HasPrefix(c.Name, "__Host-") == development {
			t.Errorf("development %v: want the name to begin with __Host- unless in development, got %s", development, c.Name)
		}
		if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure == development {
			t.Errorf("development %v: want HttpOnly, SameSite=Lax, this host only, and Secure unless in development; got %s", development, c)
		}
		if !development && got.header.Get("Strict-Transport-Security") == "" {
			t.Error("want Strict-Transport-Security with TLS")
		}
	}
}

// Behind a proxy, the limit applies to the address that the proxy saw, not to one that
// a visitor makes up. Without a proxy, the header is ignored.
func TestLogIn_IsLimitedByTheAddressThatTheProxySaw(t *testing.T) {
	for _, proxied := range []bool{true, false} {
		db, err := kvmodel.Open(memkv.New(memkv.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		app := ashiato.NewSite(db, ashiato.Options{Hash: cheap})
		v := (&site{t: t, url: serveOnce(t, newHandler(t, app, !proxied)), app: app}).visitor()
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

// A failed login does not reveal whether the handle exists.
func TestLogIn_DoesNotRevealWhoIsAMember(t *testing.T) {
	c := newCommunity(t)
	answer := func(handle, password string) string {
		got := c.visitor().logIn(handle, password)
		text := strings.ReplaceAll(shown(got.body), handle, "HANDLE")
		return fmt.Sprint(got.status, strings.Contains(got.body, `aria-invalid`), len(got.header.Values("Set-Cookie")), withoutCost(text))
	}
	known := answer("ann", "wrong horse 17")
	for _, handle := range []string{"nobody-here", "ann2", "xyzzy"} {
		if got := answer(handle, "wrong horse 17"); got != known {
			t.Errorf("want the same answer for an unknown handle:\n%s\ngot:\n%s", known, got)
		}
	}
}

// withoutCost returns a page's text up to the footer, which shows the cost.
func withoutCost(text string) string {
	text, _, _ = strings.Cut(text, "Under the hood")
	return text
}

// A login does the same work for an unknown handle, and so takes as long. What takes long is
// to hash the password, which needs as much memory each time.
func TestLogIn_HashesThePasswordForAnUnknownHandle(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	const memory = 64 << 20
	app := ashiato.NewSite(db, ashiato.Options{Hash: guard.HashCost{Passes: 1, Memory: memory >> 10, Threads: 1}})
	if _, err := app.SignUp(t.Context(), ashiato.Joining{ID: newID(1), Handle: "ann", Password: password}); err != nil {
		t.Fatal(err)
	}
	for _, handle := range []string{"ann", "nobody"} {
		used := allocated(func() {
			if _, err := app.LogIn(t.Context(), handle, "wrong horse 17", "10.0.0.1", nil); err == nil {
				t.Errorf("%s logged in with a wrong password", handle)
			}
		})
		if used < memory || used > 2*memory {
			t.Errorf("%s: given %d KB, and one hash takes %d", handle, used>>10, memory>>10)
		}
	}
}

// allocated returns how many bytes of memory f is given.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// No matter how many attempts come at once, few of them get to try a password, and
// made-up headers do not help them.
func TestLogIn_AThousandAtOnceTryFewPasswords(t *testing.T) {
	c := newCommunity(t)
	const tries = 1000
	statuses := make([]int, tries)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 100)
	for i := range tries {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			body := values([]string{"handle", "ann", "password", fmt.Sprintf("guess number %d", i)}).Encode()
			address := fmt.Sprintf("10.0.%d.%d", i/256, i%256)
			got, err := c.visitor().try("POST", "/login", body, http.Header{
				"X-Forwarded-For": {address}, "X-Real-Ip": {address}, "Forwarded": {"for=" + address},
			})
			if err == nil {
				statuses[i] = got.status
			}
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	t.Logf("answers by status: %v", count)
	if tried := count[http.StatusUnprocessableEntity]; tried == 0 || tried > 50 || tried+count[http.StatusTooManyRequests] != tries {
		t.Errorf("want a few of %d attempts to try a password and all others to be told to wait, got %v by status", tries, count)
	}
	got := c.visitor().post("/login", "handle", "ann", "password", password)
	c.guest.want(got, http.StatusTooManyRequests, "Too many attempts")
	if got.header.Get("Retry-After") == "" {
		t.Error("want a Retry-After")
	}
	if !c.ann.signedIn() {
		t.Error("want ann to stay logged in")
	}
}
