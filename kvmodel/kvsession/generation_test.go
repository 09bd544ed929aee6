package kvsession_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

func generation(t testing.TB, s *kvsession.Store, user string) kvsession.Generation {
	t.Helper()
	g, err := s.Generation(t.Context(), user)
	must(t, err)
	return g
}

func TestStore_SignInIf_CountsOnlyTheUsersOwnRevokeAll(t *testing.T) {
	s := open(t, newMem())
	g := generation(t, s, "jo")
	must(t, s.RevokeAll(t.Context(), "al"))
	b := new(browser)
	must(t, b.mustOpen(t, s).signInIf(g))
	if user := b.mustOpen(t, s).user(); user != "jo" {
		t.Errorf("want jo, got %q", user)
	}
}

// The mark of a RevokeAll is kept for an hour, so with an older Generation its absence shows
// nothing.
func TestStore_SignInIf_TakesAGenerationForHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMem()
		s := open(t, mem)
		before := generation(t, s, "jo")
		must(t, s.RevokeAll(t.Context(), "jo"))
		time.Sleep(30 * time.Minute)
		wantErr(t, kvsession.ErrRevoked, new(browser).mustOpen(t, s).signInIf(before))
		time.Sleep(time.Hour)
		_, err := kv.One(t.Context(), mem, kv.OpGet("generation:jo"))
		wantErr(t, kv.ErrNotFound, err)
		g := generation(t, s, "jo")
		time.Sleep(30 * time.Minute)
		must(t, new(browser).mustOpen(t, s).signInIf(g))
		time.Sleep(time.Second)
		wantErr(t, kvsession.ErrRevoked, new(browser).mustOpen(t, s).signInIf(g))
	})
}

func TestStore_SignInIf_AStoreThatIsDownSignsNobodyIn(t *testing.T) {
	down := &breaker{Store: newMem()}
	s := open(t, down)
	g := generation(t, s, "jo")
	v := new(browser).mustOpen(t, s)
	down.set(kv.ErrUnavailable)
	_, err := s.Generation(t.Context(), "jo")
	wantErr(t, kv.ErrUnavailable, err)
	wantErr(t, kv.ErrUnavailable, v.signInIf(g))
	wantErr(t, kv.ErrUnavailable, s.RevokeAll(t.Context(), "jo"))
	if v.sentCookie() || v.user() != "" {
		t.Errorf("cookie %v, user %q", v.sentCookie(), v.user())
	}
}
