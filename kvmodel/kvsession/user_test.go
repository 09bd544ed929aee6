package kvsession_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestStore_List_ShowsWhereAUserIsSignedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newMem(), func(o *kvsession.Options) {
			o.Label = func(r *http.Request) string { return r.Header.Get("User-Agent") }
		})
		began := time.Now().Truncate(time.Second)
		var ids []string
		for _, agent := range []string{"phone", "laptop", strings.Repeat("ä", 150)} {
			b := new(browser)
			v := b.mustOpen(t, s)
			v.r.Header.Set("User-Agent", agent)
			must(t, v.signIn("jo"))
			ids = append(ids, v.ID)
			time.Sleep(time.Hour)
		}
		signedIn(t, s, "al")
		got, err := s.List(t.Context(), "jo")
		must(t, err)
		at := func(hours int) time.Time { return began.Add(time.Duration(hours) * time.Hour) }
		want := []kvsession.Info{
			{ID: ids[2], Label: strings.Repeat("ä", 100), SignedIn: at(2), Used: at(2)},
			{ID: ids[1], Label: "laptop", SignedIn: at(1), Used: at(1)},
			{ID: ids[0], Label: "phone", SignedIn: at(0), Used: at(0)},
		}
		proof.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateApproxTime(0)), "list")
		if got, err := s.List(t.Context(), "nobody"); err != nil || got != nil {
			t.Errorf("of nobody: want none, got %v, %v", got, err)
		}
	})
}

func wantListed(t testing.TB, s *kvsession.Store, user string, want int) {
	t.Helper()
	got, err := s.List(t.Context(), user)
	if err != nil || len(got) != want {
		t.Errorf("want %d sessions of %s, got %d, %v", want, user, len(got), err)
	}
}

func TestStore_Revoke_EndsOneOfTheUsersOwnOnly(t *testing.T) {
	s := open(t, newMem())
	jo, al := signedIn(t, s, "jo"), signedIn(t, s, "al")
	anonymous := new(browser)
	anonymous.set(t, s, "a", 1)
	for _, b := range []*browser{al, anonymous} {
		id := b.mustOpen(t, s).ID
		must(t, s.Revoke(t.Context(), "jo", id))
		must(t, s.Revoke(t.Context(), "", id))
		if b.mustOpen(t, s).IsNew {
			t.Error("a session of someone else was ended")
		}
	}
	for _, id := range []string{"", "x", "\x00", strings.Repeat("A", 43), strings.Repeat("A", 1000)} {
		must(t, s.Revoke(t.Context(), "jo", id))
	}
	must(t, s.Revoke(t.Context(), "jo", jo.mustOpen(t, s).ID))
	if !jo.mustOpen(t, s).IsNew {
		t.Error("a revoked session is still good")
	}
	wantListed(t, s, "jo", 0)
	wantListed(t, s, "al", 1)
}

func TestStore_RevokeAll_EndsAllButThoseToKeep(t *testing.T) {
	mem := newMem()
	s := open(t, mem)
	browsers := []*browser{signedIn(t, s, "jo"), signedIn(t, s, "jo"), signedIn(t, s, "jo")}
	al := signedIn(t, s, "al")
	must(t, s.RevokeAll(t.Context(), "jo", browsers[1].mustOpen(t, s).ID))
	for i, b := range browsers {
		if b.mustOpen(t, s).IsNew != (i != 1) {
			t.Errorf("session %d: IsNew is %v", i, i == 1)
		}
	}
	wantListed(t, s, "jo", 1)
	must(t, s.RevokeAll(t.Context(), "jo"))
	must(t, s.RevokeAll(t.Context(), "jo"))
	must(t, s.RevokeAll(t.Context(), "nobody"))
	if al.mustOpen(t, s).user() != "al" {
		t.Error("someone else was signed out")
	}
	left := slices.DeleteFunc(mem.Keys(), func(key string) bool { return strings.HasPrefix(key, "generation:") })
	proof.Len(t, left, 2, "the session and the list of al alone")
}

func TestStore_PerUser_TheOldestMakeRoomAndTheListStaysShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMem()
		s := open(t, mem, func(o *kvsession.Options) { o.PerUser = 5 })
		var all []*browser
		for n := range 100 {
			b := signedIn(t, s, "jo")
			all = append(all, b)
			if n%3 == 0 {
				must(t, b.mustOpen(t, s).signOut())
			}
			if got, err := s.List(t.Context(), "jo"); err != nil || len(got) > 10 {
				t.Fatalf("after %d: %d sessions, %v", n, len(got), err)
			}
			time.Sleep(20 * time.Minute)
		}
		for n, b := range all[95:] {
			if v := b.mustOpen(t, s); v.IsNew != ((95+n)%3 == 0) {
				t.Errorf("session %d: IsNew is %v", 95+n, v.IsNew)
			}
		}
		if n := listBytes(t, mem); n > 15*40 {
			t.Errorf("the list has grown to %d bytes", n)
		}
	})
}

func listBytes(t testing.TB, mem *memkv.Store) int {
	t.Helper()
	for _, key := range mem.Keys() {
		if strings.HasPrefix(key, "sessions:") {
			got, err := kv.One(t.Context(), mem, kv.OpGet(key))
			must(t, err)
			return len(got.Value)
		}
	}
	t.Fatal("there is no list")
	return 0
}

func TestStore_SignIn_AFullListIsTidiedUpOrRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMem()
		s := open(t, mem)
		old := signedIn(t, s, "jo")
		set := func(since time.Time) {
			var list []byte
			for n := range kv.MaxValue / len(kvsession.Seat(fmt.Sprintf("%032d", 0), time.Now())) {
				list = append(list, kvsession.Seat(fmt.Sprintf("%032d", n), since)...)
			}
			proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet("sessions:jo", list)))
		}
		set(time.Now())
		v := new(browser).mustOpen(t, s)
		wantErr(t, kv.ErrNotStored, v.signIn("jo"))
		if v.sentCookie() || mem.Len() != 2 {
			t.Errorf("cookie %v, items %q", v.sentCookie(), mem.Keys())
		}
		set(time.Now().Add(-2 * time.Hour))
		must(t, v.signIn("jo"))
		wantListed(t, s, "jo", 1)
		if old.mustOpen(t, s).user() != "jo" {
			t.Error("a session that fell out of the list has ended")
		}
	})
}

func TestStore_List_CorruptIsAnError(t *testing.T) {
	mem := newMem()
	s := open(t, mem)
	id := signedIn(t, s, "jo").mustOpen(t, s).ID
	set := func(key, value string) {
		proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet(key, []byte(value))))
	}
	set("session:"+id, "x")
	_, err := s.List(t.Context(), "jo")
	wantErr(t, codec.ErrCorrupt, err)
	must(t, s.RevokeAll(t.Context(), "jo"))
	set("sessions:jo", "x")
	_, err = s.List(t.Context(), "jo")
	wantErr(t, codec.ErrCorrupt, err)
	wantErr(t, codec.ErrCorrupt, s.RevokeAll(t.Context(), "jo"))
}

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
	proof.Equal(t, b.mustOpen(t, s).user(), "jo", "jo")
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
