package kvsession_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func TestNew_RefusesOptionsByName(t *testing.T) {
	for want, o := range map[string]kvsession.Options{
		"Keys is empty":            {},
		"Keys[1] has 31 bytes":     {Keys: [][]byte{testKey, testKey[:31]}},
		"Lifetime -1s":             {Keys: [][]byte{testKey}, Lifetime: -time.Second},
		"Lifetime 100000h0m0s":     {Keys: [][]byte{testKey}, Lifetime: 100_000 * time.Hour},
		"Idle 2h0m0s":              {Keys: [][]byte{testKey}, Lifetime: time.Hour, Idle: 2 * time.Hour},
		"Idle 1ms":                 {Keys: [][]byte{testKey}, Idle: time.Millisecond},
		"PerUser -1":               {Keys: [][]byte{testKey}, PerUser: -1},
		"Insecure with SameSite=N": {Keys: [][]byte{testKey}, Insecure: true, SameSite: http.SameSiteNoneMode},
	} {
		if _, err := kvsession.New(newMem(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestStore_Save_CookieHasTheFlags(t *testing.T) {
	flags := func(change func(*kvsession.Options)) http.Cookie {
		v := new(browser).mustOpen(t, open(t, newMem(), change))
		v.Values["a"] = 1
		must(t, v.save())
		c := v.cookies()[0]
		return http.Cookie{Name: c.Name, Path: c.Path, Domain: c.Domain, MaxAge: c.MaxAge, Secure: c.Secure, HttpOnly: c.HttpOnly, SameSite: c.SameSite}
	}
	for _, test := range []struct {
		change func(*kvsession.Options)
		want   http.Cookie
	}{
		{func(*kvsession.Options) {},
			http.Cookie{Name: "app", Path: "/", MaxAge: 14 * 86400, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}},
		{func(o *kvsession.Options) {
			*o = kvsession.Options{Keys: o.Keys, Path: "/x", Domain: "example.org", Idle: time.Hour, Insecure: true, SameSite: http.SameSiteStrictMode}
		}, http.Cookie{Name: "app", Path: "/x", Domain: "example.org", MaxAge: 3600, HttpOnly: true, SameSite: http.SameSiteStrictMode}},
	} {
		proof.NoDiff(t, cmp.Diff(test.want, flags(test.change)), "cookie")
	}
}

func TestStore_Save_ValuesComeBackAndFlashesGo(t *testing.T) {
	s, b := open(t, newMem()), new(browser)
	v := b.mustOpen(t, s)
	if !v.IsNew || v.ID != "" {
		t.Errorf("without a cookie: want a new session without an id, got IsNew %v and %q", v.IsNew, v.ID)
	}
	v.Values["name"] = "jo"
	v.AddFlash("hello")
	must(t, v.save())

	v = b.mustOpen(t, s)
	if diff := cmp.Diff([]any{"hello"}, v.Flashes()); diff != "" || v.IsNew {
		t.Errorf("IsNew is %v; flashes mismatch (-want +got):\n%s", v.IsNew, diff)
	}
	must(t, v.save())
	proof.NoDiff(t, cmp.Diff(map[any]any{"name": "jo"}, b.values(t, s)), "values")
}

func TestStore_Save_ANewSessionWithoutValuesIsNotStored(t *testing.T) {
	store := newMem()
	v := new(browser).mustOpen(t, open(t, store))
	must(t, v.save())
	if store.Len() != 0 || v.sentCookie() {
		t.Errorf("want nothing, got %d items, cookie %v", store.Len(), v.sentCookie())
	}
}

func TestStore_Get_AForeignCookieIsNoSession(t *testing.T) {
	store := newMem()
	s, b := open(t, store), new(browser)
	b.set(t, s, "a", 1)
	good := b.cookie.Value
	foreign, _ := securecookie.New(bytes.Repeat([]byte("x"), 32), nil).Encode(cookieName, "id")
	for _, value := range []string{"", "x", good[:len(good)-1], good + "x", strings.Repeat("a", 5000), foreign, strings.ToLower(good)} {
		b.cookie.Value = value
		ctx, meter := kv.Metered(t.Context())
		v, err := b.open(ctx, open(t, kv.Count(store)))
		if err != nil || !v.IsNew || len(v.Values) > 0 || meter.Cost().Trips > 0 {
			t.Errorf("cookie %.20q: want an empty new session without a trip, got %v, IsNew %v, %v", value, err, v.IsNew, meter.Cost())
		}
	}
	b.cookie.Value = good
	if len(b.values(t, s)) != 1 {
		t.Error("the good cookie is no longer good")
	}
}

func TestStore_Get_ACookieIsGoodUnderItsOwnNameOnly(t *testing.T) {
	s, b := open(t, newMem()), new(browser)
	b.set(t, s, "a", 1)
	b.cookie.Name = "other"
	v := b.mustOpen(t, s)
	other, err := s.Get(v.r, "other")
	if err != nil || !other.IsNew {
		t.Errorf("want a new session, got %v, IsNew %v", err, other.IsNew)
	}
}

func TestStore_Keys_RotateWithoutLosingASession(t *testing.T) {
	store, b := newMem(), new(browser)
	next := bytes.Repeat([]byte("n"), 32)
	keys := func(keys ...[]byte) *kvsession.Store {
		return open(t, store, func(o *kvsession.Options) { o.Keys = keys })
	}
	b.set(t, keys(testKey), "a", 1)
	old := b.copied()

	v := b.mustOpen(t, keys(next, testKey))
	must(t, v.save())
	if !v.sentCookie() || v.Values["a"] != 1 {
		t.Errorf("with both keys: want the value and a new signature, got %v, cookie %v", v.Values["a"], v.sentCookie())
	}
	proof.Equal(t, b.values(t, keys(next))["a"], 1, "newly signed cookie: 1")
	if v := old.mustOpen(t, keys(next)); !v.IsNew {
		t.Error("a cookie signed with a key that is gone is still good")
	}
}

func TestStore_Save_OfOneKeyTheLastSavedCounts(t *testing.T) {
	s, b := open(t, newMem()), new(browser)
	b.set(t, s, "k", "first")
	one, two, three := b.mustOpen(t, s), b.mustOpen(t, s), b.mustOpen(t, s)
	one.Values["k"] = "one"
	must(t, one.save())
	two.Values["k"] = "two"
	must(t, two.save())
	proof.Equal(t, b.values(t, s)["k"], "two", "two")
	delete(three.Values, "k")
	must(t, three.save())
	if got, ok := b.values(t, s)["k"]; ok {
		t.Errorf("want it deleted, got %v", got)
	}
}

func TestStore_Save_TwiceInOneRequestKeepsWhatOthersSavedBetween(t *testing.T) {
	s, b := open(t, newMem()), new(browser)
	v := b.mustOpen(t, s)
	v.Values["a"] = 1
	must(t, v.save())
	b.set(t, s, "other", true)
	v.Values["b"] = []any{"x"}
	must(t, v.save())
	b.set(t, s, "other", false)
	v.Values["b"].([]any)[0] = "changed in place"
	must(t, v.save())
	want := map[any]any{"a": 1, "b": []any{"changed in place"}, "other": false}
	proof.NoDiff(t, cmp.Diff(want, b.values(t, s)), "values")
	proof.Equal(t, len(v.cookies()), 1, "one cookie in the response")
}

func TestStore_Save_ALateOneNeverRevivesWhatHasEnded(t *testing.T) {
	for name, end := range map[string]func(*kvsession.Store, *browser) error{
		"signed out": func(s *kvsession.Store, b *browser) error { return b.mustOpen(t, s).signOut() },
		"max age": func(s *kvsession.Store, b *browser) error {
			v := b.mustOpen(t, s)
			v.Options.MaxAge = -1
			return v.save()
		},
		"regenerated": func(s *kvsession.Store, b *browser) error { return b.mustOpen(t, s).regenerate() },
		"revoked": func(s *kvsession.Store, b *browser) error {
			return s.Revoke(t.Context(), "jo", b.mustOpen(t, s).ID)
		},
		"all revoked": func(s *kvsession.Store, b *browser) error { return s.RevokeAll(t.Context(), "jo") },
	} {
		t.Run(name, func(t *testing.T) {
			store := newMem()
			s := open(t, store)
			b := signedIn(t, s, "jo")
			late, old := b.mustOpen(t, s), b.copied()
			must(t, end(s, b))
			keys := store.Len()

			late.Values["a"] = 1
			cookie := b.cookie
			wantErr(t, kvsession.ErrEnded, late.save())
			wantErr(t, kvsession.ErrEnded, late.regenerate())
			wantErr(t, kvsession.ErrEnded, late.signIn("jo"))
			if late.sentCookie() || store.Len() > keys+1 || b.cookie != cookie {
				t.Errorf("cookie sent %v, %d items after %d", late.sentCookie(), store.Len(), keys)
			}
			if v := old.mustOpen(t, s); !v.IsNew || v.user() != "" {
				t.Errorf("the old cookie finds a session of %q", v.user())
			}
		})
	}
}

func TestStore_Save_ARequestUnderWayWithTheOldCookieDoesNotReplaceTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := open(t, newMem()), new(browser)
		b.set(t, s, "a", 1)
		slow := b.copied()
		must(t, b.mustOpen(t, s).signIn("jo"))

		v := slow.mustOpen(t, s)
		v.AddFlash("please sign in")
		wantErr(t, kvsession.ErrEnded, v.save())
		if v.sentCookie() {
			t.Error("it was sent another cookie")
		}
		must(t, slow.copied().mustOpen(t, s).signIn("jo"))

		time.Sleep(time.Minute)
		slow.set(t, s, "b", 1)
		proof.Equal(t, slow.values(t, s)["b"], 1, "a minute later: session as any other")
	})
}

func TestStore_SignIn_AnotherUserSeesNothingOfTheFirst(t *testing.T) {
	s := open(t, newMem())
	b := signedIn(t, s, "jo")
	b.set(t, s, "secret", "of jo")
	v := b.mustOpen(t, s)
	v.Values["hello"] = "al"
	must(t, v.signIn("al"))
	want := map[any]any{"hello": "al"}
	proof.NoDiff(t, cmp.Diff(want, v.Values), "values in the request")
	proof.NoDiff(t, cmp.Diff(want, b.values(t, s)), "stored values")
	if infos, err := s.List(t.Context(), "jo"); err != nil || len(infos) > 0 {
		t.Errorf("jo is still signed in: %v, %v", infos, err)
	}
	if err := b.mustOpen(t, s).signIn(""); err == nil {
		t.Error("an empty user is signed in")
	}
}

func TestStore_Regenerate_KeepsWhatOthersHaveSavedSince(t *testing.T) {
	store := &before{Store: newMem(), kind: kv.CompareAndSwap}
	s, b := open(t, store), new(browser)
	must(t, b.mustOpen(t, s).signIn("jo"))
	v, other := b.mustOpen(t, s), b.mustOpen(t, s)
	v.Values["mine"] = 1
	store.happen = func() {
		other.Values["theirs"] = 2
		must(t, other.save())
	}
	must(t, v.regenerate())
	v = b.mustOpen(t, s)
	if diff := cmp.Diff(map[any]any{"mine": 1, "theirs": 2}, v.Values); diff != "" || v.user() != "jo" {
		t.Errorf("user %q, values mismatch (-want +got):\n%s", v.user(), diff)
	}
}

func TestStore_SignOut_EmptiesAndTheNextSaveIsAnotherSession(t *testing.T) {
	store := newMem()
	s := open(t, store)
	b := signedIn(t, s, "jo")
	old := b.copied()
	v := b.mustOpen(t, s)
	v.Values["secret"] = 1
	must(t, v.signOut())
	if b.cookie != nil || len(v.Values) > 0 || v.user() != "" || v.ID != "" {
		t.Errorf("left: cookie %v, %d values, user %q, id %q", b.cookie, len(v.Values), v.user(), v.ID)
	}
	v.AddFlash("bye")
	must(t, v.save())
	if v := b.mustOpen(t, s); v.user() != "" || len(v.Flashes()) != 1 {
		t.Errorf("want an anonymous session with a flash, got user %q", v.user())
	}
	if v := old.mustOpen(t, s); !v.IsNew {
		t.Error("the old cookie is still good")
	}
}

func TestStore_Expiry_SlidesWithAWriteATenth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := kv.Count(newMem())
		s, b := open(t, store, func(o *kvsession.Options) { o.Idle, o.Lifetime = 10*day, 100*day }), new(browser)
		b.set(t, s, "a", 1)
		writes := 0
		for range 40 {
			time.Sleep(day / 2)
			ctx, meter := kv.Metered(t.Context())
			v, err := b.open(ctx, s)
			must(t, err)
			must(t, v.save())
			if v.IsNew || v.sentCookie() != (meter.Cost().Wrote > 0) {
				t.Fatalf("IsNew %v, cookie %v, %v", v.IsNew, v.sentCookie(), meter.Cost())
			}
			if v.sentCookie() {
				writes++
				proof.Equal(t, b.cookie.MaxAge, int(10*day/time.Second), "cookie for ten days")
			}
		}
		proof.Equal(t, writes, 20, "20 days of use every half day: 20 writes")
		time.Sleep(10*day + 2*time.Second)
		if v := b.mustOpen(t, s); !v.IsNew {
			t.Error("it outlives its idle time")
		}
	})
}

func TestStore_Expiry_NoUseLengthensTheLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := open(t, newMem(), func(o *kvsession.Options) { o.Idle, o.Lifetime = 4*day, 10*day }), new(browser)
		b.set(t, s, "a", 1)
		for range 9 {
			time.Sleep(day)
			v := b.mustOpen(t, s)
			must(t, v.regenerate())
			if v.IsNew {
				t.Fatal("it ended before its time")
			}
		}
		if want := int(day / time.Second); b.cookie.MaxAge != want {
			t.Errorf("on the ninth day of ten: want a cookie for %d s, got %d", want, b.cookie.MaxAge)
		}
		late := b.mustOpen(t, s)
		time.Sleep(day)
		if v := b.mustOpen(t, s); !v.IsNew {
			t.Error("it outlives its lifetime")
		}
		late.Values["b"] = 1
		wantErr(t, kvsession.ErrEnded, late.save())
	})
}

func TestStore_Expiry_MaxAgeOfASessionIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := open(t, newMem()), new(browser)
		v := b.mustOpen(t, s)
		v.Values["a"], v.Options.MaxAge = 1, 3600
		must(t, v.save())
		v = b.mustOpen(t, s)
		proof.Equal(t, v.Options.MaxAge, 3600, "3600")
		v.Options.MaxAge = 0
		must(t, v.save())
		if b.cookie.MaxAge != 0 || !b.cookie.Expires.IsZero() {
			t.Errorf("want a cookie that goes with the browser, got %d s", b.cookie.MaxAge)
		}
		time.Sleep(13 * day)
		v = b.mustOpen(t, s)
		v.Options.MaxAge = 1 << 62
		must(t, v.save())
		proof.Equal(t, b.cookie.MaxAge, int(77*day/time.Second), "77 days that are left of the lifetime")
		v = b.mustOpen(t, s)
		v.Options.MaxAge = 60
		must(t, v.save())
		time.Sleep(62 * time.Second)
		if v := b.mustOpen(t, s); !v.IsNew {
			t.Error("it outlives its minute")
		}
	})
}

func TestStore_Outage_LogsNoOneOut(t *testing.T) {
	for _, down := range []error{kv.ErrUnavailable, kv.ErrLost} {
		store := &breaker{Store: newMem()}
		s := open(t, store)
		b := signedIn(t, s, "jo")
		cookie := b.cookie
		before, anonymous := b.mustOpen(t, s), new(browser).mustOpen(t, s)
		g := generation(t, s, "jo")

		store.set(down)
		v, err := b.open(t.Context(), s)
		wantErr(t, down, err)
		if !v.IsNew || len(v.Values) > 0 || v.user() != "" {
			t.Errorf("want no user's data, got user %q, %v", v.user(), v.Values)
		}
		v.Values["a"] = 1
		before.Values["a"] = 1
		for name, err := range map[string]error{
			"Save of what could not be read": v.save(), "SignIn": v.signIn("jo"), "Regenerate": v.regenerate(),
			"SignInIf": anonymous.signInIf(g),
			"Save":     before.save(), "SignOut": before.signOut(), "Regenerate of what was read": before.regenerate(),
			"RevokeAll": s.RevokeAll(t.Context(), "jo"), "Revoke": s.Revoke(t.Context(), "jo", before.ID),
		} {
			if !errors.Is(err, down) {
				t.Errorf("%s: want %v, got %v", name, down, err)
			}
		}
		_, err = s.List(t.Context(), "jo")
		wantErr(t, down, err)
		_, err = s.Generation(t.Context(), "jo")
		wantErr(t, down, err)
		store.set(nil)
		// A session that could not be read must not be saved even now: it would be another session.
		wantErr(t, down, v.save())
		if v.sentCookie() || b.cookie != cookie {
			t.Error("a cookie was sent")
		}
		if anonymous.sentCookie() || anonymous.user() != "" {
			t.Errorf("SignInIf: cookie %v, user %q", anonymous.sentCookie(), anonymous.user())
		}
		must(t, before.save())
		if v := b.mustOpen(t, s); v.user() != "jo" || v.Values["a"] != 1 {
			t.Errorf("afterwards: want jo with 1, got %q with %v", v.user(), v.Values["a"])
		}
	}
}

func TestStore_ContextsAreHonored(t *testing.T) {
	s := open(t, newMem())
	b := signedIn(t, s, "jo")
	ctx, cancel := context.WithCancel(t.Context())
	v, err := b.open(ctx, s)
	must(t, err)
	v.Values["a"] = 1
	cancel()
	wantErr(t, context.Canceled, v.save())
	wantErr(t, context.Canceled, v.regenerate())
	wantErr(t, context.Canceled, v.signOut())
	wantErr(t, context.Canceled, s.RevokeAll(ctx, "jo"))
	_, err = b.open(ctx, s)
	wantErr(t, context.Canceled, err)
	if v := b.mustOpen(t, s); v.user() != "jo" {
		t.Error("the session has gone")
	}
}

func TestStore_ShowsNoSecret(t *testing.T) {
	const value = "s3cretvalue"
	var shown strings.Builder
	mem := newMem()
	store := &breaker{Store: kv.Trace(mem, func(_ context.Context, trip kv.Trip) {
		for _, op := range trip.Ops {
			fmt.Fprintln(&shown, op.Kind, op.Key, op.Err(), trip.Err)
		}
	})}
	s, b := open(t, store), new(browser)
	b.set(t, s, "k", value)
	v := b.mustOpen(t, s)
	fmt.Fprintln(&shown, v.ID, v.Session.ID)
	show := func(err error) {
		if err == nil {
			t.Error("want an error to look at")
		}
		fmt.Fprintln(&shown, err)
	}
	type unknown struct{ Secret string }
	v.Values["bad"] = []any{unknown{value}}
	show(v.save())
	delete(v.Values, "bad")
	v.Values["big"] = strings.Repeat(value, 1<<17)
	show(v.save())
	store.set(kv.ErrUnclear)
	show(v.save())
	show(v.signIn("jo"))
	store.set(nil)
	for _, key := range mem.Keys() {
		got, err := kv.One(t.Context(), mem, kv.OpGet(key))
		must(t, err)
		for at := range got.Value {
			broken := slices.Clone(got.Value)
			broken[at] = 0xc1
			proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet(key, broken)))
			if _, err := b.open(t.Context(), s); err != nil {
				fmt.Fprintln(&shown, err)
			}
		}
	}
	var secret []byte
	must(t, securecookie.New(testKey, nil).SetSerializer(securecookie.NopEncoder{}).Decode(cookieName, b.cookie.Value, &secret))
	if len(secret) != 32 {
		t.Fatalf("the secret has %d bytes", len(secret))
	}
	for _, hidden := range []string{value, b.cookie.Value, string(secret), fmt.Sprintf("%x", secret), string(testKey)} {
		if strings.Contains(shown.String(), hidden) {
			t.Errorf("%q is shown in:\n%s", hidden, shown.String())
		}
	}
	fmt.Fprintf(&shown, "%+v", s)
	if strings.Contains(shown.String(), string(testKey)) {
		t.Error("a printed Store shows its key")
	}
}

func TestStore_Get_CorruptIsAnErrorAndSignOutEndsIt(t *testing.T) {
	mem := newMem()
	s, b := open(t, mem), new(browser)
	b.set(t, s, "a", 1)
	for _, broken := range []string{"", "\x80", "\xdd\xff\xff\xff\xff", "\xc0", "not msgpack"} {
		proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet(mem.Keys()[0], []byte(broken))))
		v, err := b.open(t.Context(), s)
		wantErr(t, codec.ErrCorrupt, err)
		if len(v.Values) > 0 || !v.IsNew {
			t.Errorf("%q: want an empty session, got %v", broken, v.Values)
		}
		v.Values["a"] = 2
		wantErr(t, codec.ErrCorrupt, v.save())
	}
	v, _ := b.open(t.Context(), s)
	must(t, v.signOut())
	if mem.Len() != 0 || b.cookie != nil {
		t.Errorf("%d items and cookie %v are left", mem.Len(), b.cookie)
	}
}

func TestStore_Save_ASessionMadeElsewhereIsANewOne(t *testing.T) {
	s, b := open(t, newMem()), new(browser)
	v := b.mustOpen(t, s)
	v.Session = sessions.NewSession(s, cookieName)
	v.Session.ID, v.Session.Options, v.Session.Values = "chosen", nil, nil
	must(t, v.signIn("jo"))
	if v := b.mustOpen(t, s); v.user() != "jo" || v.ID == "chosen" || !b.cookie.HttpOnly {
		t.Errorf("want jo under an id of ours, got %q under %q", v.user(), v.ID)
	}
}

func TestStore_Tenants_KeepApart(t *testing.T) {
	mem := newMem()
	one, err := kv.Prefix(mem, "one")
	must(t, err)
	two, err := kv.Prefix(mem, "two")
	must(t, err)
	b := signedIn(t, open(t, one), "jo")
	if v := b.mustOpen(t, open(t, two)); !v.IsNew {
		t.Error("a session of one tenant is good at the other's")
	}
}

func TestStore_AnUnclearAnswer_IsNeverReportedAsNotDone(t *testing.T) {
	verbs := map[string]func(v *visit) error{
		"Save":       func(v *visit) error { v.Values["a"] = 2; return v.save() },
		"SignIn":     func(v *visit) error { return v.signIn("al") },
		"Regenerate": func(v *visit) error { return v.regenerate() },
		"SignOut":    func(v *visit) error { return v.signOut() },
		"Revoke":     func(v *visit) error { return v.s.Revoke(v.r.Context(), "jo", v.ID) },
		"RevokeAll":  func(v *visit) error { return v.s.RevokeAll(v.r.Context(), "jo") },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			proof.EachStumble(t, func() kv.Store { return newMem() }, func(t *testing.T, s *proof.Stumble) {
				synctest.Test(t, func(t *testing.T) {
					b := new(browser)
					v := b.mustOpen(t, open(t, s))
					v.Values["a"] = 1
					must(t, v.signIn("jo"))
					old := b.copied()
					v = b.mustOpen(t, open(t, s))
					s.Begin()
					err := verb(v)
					time.Sleep(time.Second)
					must(t, s.Rise())
					now := old.mustOpen(t, open(t, s))
					changed := now.IsNew || now.Values["a"] != 1
					if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
						t.Errorf("changed: %t, after: %v", changed, err)
					}
				})
			})
		})
	}
}

func TestKeyIn_GivesAllProcessesTheKeyThatOneHasMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session.key")
	var keys [8][]byte
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = kvsession.KeyIn(file); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("keys %x and %x, want one of 32 bytes", keys[0], key)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, want 0600 (%v)", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("it leaves %v, want the key alone", left)
	}
}

func TestKeyIn_RefusesWhatIsNoKey(t *testing.T) {
	for _, text := range []string{"", "secret", strings.Repeat("00", 31)} {
		file := filepath.Join(t.TempDir(), "session.key")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		if key, err := kvsession.KeyIn(file); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%q is the key %x (%v), want an error", text, key, err)
		}
	}
	if _, err := kvsession.KeyIn(filepath.Join(t.TempDir(), "none", "key")); err == nil {
		t.Error("a folder that is not there passes")
	}
}

func TestStore_WorksOnEveryStore(t *testing.T) {
	for name, backend := range map[string]func(testing.TB) kv.Store{
		"memkv":      func(testing.TB) kv.Store { return newMem() },
		"boltkv":     onBolt,
		"memcachekv": onMemcached,
		"rediskv":    onRedis,
	} {
		t.Run(name, func(t *testing.T) {
			store := backend(t)
			t.Cleanup(func() { store.Close() })
			live(t, open(t, store, func(o *kvsession.Options) { o.PerUser = 4 }))
		})
	}
}

func onBolt(t testing.TB) kv.Store {
	store, err := boltkv.Open(filepath.Join(t.TempDir(), "sessions.db"), boltkv.Options{})
	must(t, err)
	return store
}

func onMemcached(t testing.TB) kv.Store {
	servers.Need(t, "memcached")
	p, err := servers.Memcached()
	must(t, err)
	t.Cleanup(p.Stop)
	store, err := memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{})
	must(t, err)
	return store
}

func onRedis(t testing.TB) kv.Store {
	servers.Need(t, "redis-server")
	p, err := servers.Redis()
	must(t, err)
	t.Cleanup(p.Stop)
	store, err := rediskv.Open(t.Context(), rediskv.Options{Addrs: []string{p.Addr}})
	must(t, err)
	return store
}

func live(t *testing.T, s *kvsession.Store) {
	b := new(browser)
	b.set(t, s, "cart", []any{"book", 2})
	before := b.copied()
	must(t, b.mustOpen(t, s).signIn("jo"))

	one, two, late := b.mustOpen(t, s), b.mustOpen(t, s), b.mustOpen(t, s)
	one.Values["one"] = 1
	must(t, one.save())
	two.Values["two"] = int64(2)
	must(t, two.save())
	want := map[any]any{"cart": []any{"book", 2}, "one": 1, "two": int64(2)}
	v := b.mustOpen(t, s)
	if diff := cmp.Diff(want, v.Values); diff != "" || v.user() != "jo" {
		t.Errorf("user %q, values mismatch (-want +got):\n%s", v.user(), diff)
	}
	if v := before.mustOpen(t, s); !v.IsNew {
		t.Error("the cookie from before signing in is still good")
	}

	for range 9 {
		signedIn(t, s, "jo")
	}
	if infos, err := s.List(t.Context(), "jo"); err != nil || len(infos) < 4 || len(infos) > 8 {
		t.Errorf("want 4 to 8 sessions, got %d, %v", len(infos), err)
	}
	last := signedIn(t, s, "jo")
	must(t, s.RevokeAll(t.Context(), "jo", last.mustOpen(t, s).ID))
	wantListed(t, s, "jo", 1)
	late.Values["late"] = true
	wantErr(t, kvsession.ErrEnded, late.save())
	must(t, last.mustOpen(t, s).signOut())
	wantListed(t, s, "jo", 0)
}

// A session is swapped, its user's list leads to it, and a generation ends earlier ones.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_Regenerate_IsWholeOrNothingOnAServer", "blind cas session:")
	proof.Notices(t, "TestSweep_RevokeAll_LeavesNothingThatWasBeingRenewed", "lost append sessions:")
	proof.Notices(t, "TestSweep_Save_WhatWasAcknowledgedStaysUntilTheSessionEnds", "blind cas session:")
	proof.Notices(t, "TestSweep_SignInIf_WithAnOldPasswordDoesNotOutliveRevokeAllOnAServer", "lost set generation:")
	proof.Notices(t, "TestSweep_SignIn_OfADoubleClickOneCounts", "blind cas session:")
}
