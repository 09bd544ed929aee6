package ashiato_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const password = "two bars in the snow"

// onEachStore runs f on a site in memory and on one in a file.
func onEachStore(t *testing.T, f func(t *testing.T, s *ashiato.Site)) {
	t.Helper()
	t.Run("mem", func(t *testing.T) { f(t, open(t, memkv.New(memkv.Options{}))) })
	t.Run("bolt", func(t *testing.T) {
		store, err := boltkv.Open(filepath.Join(t.TempDir(), "app.db"), boltkv.Options{})
		must(t, err)
		f(t, open(t, store))
	})
}

func open(t *testing.T, store kv.Store) *ashiato.Site {
	t.Helper()
	return openHashing(t, store, 8)
}

// openHashing returns a site that hashes passwords in so many KB of memory.
func openHashing(t *testing.T, store kv.Store, memory uint32) *ashiato.Site {
	t.Helper()
	db, err := kvmodel.Open(store)
	must(t, err)
	t.Cleanup(func() {
		proof.Is(t, db.Close(context.WithoutCancel(t.Context())), nil)
	})
	return ashiato.NewSite(db, guard.HashCost{Passes: 1, Memory: memory, Threads: 1})
}

func join(t *testing.T, s *ashiato.Site, handle string) *ashiato.Member {
	t.Helper()
	m, err := s.SignUp(t.Context(), s.NewID(), handle, password, "")
	must(t, err)
	return m
}

func write(t *testing.T, s *ashiato.Site, who *ashiato.Member, slug string, topics ...string) *ashiato.Page {
	t.Helper()
	p, err := s.Write(t.Context(), who.ID, ashiato.Draft{ID: s.NewID(), Title: slug, Body: "One cup.", Topics: topics})
	must(t, err)
	return p
}

func settle(t *testing.T, s *ashiato.Site) {
	t.Helper()
	must(t, s.DB().Flush(t.Context()))
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: want %v, got %v", what, want, err)
	}
}

func wantProblem(t *testing.T, what string, err error, field string) {
	t.Helper()
	if kvmodel.ProblemsOf(err)[field] == "" {
		t.Errorf("%s: want a problem with %s, got %v", what, field, err)
	}
}

// Who knows the id of a member does not try passwords by signing up.
func TestSite_SignUp_WithTheIDOfAMemberIsALogInUnderItsLimits(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	m := join(t, s, "heron")
	signUp := func(password, from string) (*ashiato.Member, error) {
		return s.SignUp(t.Context(), m.ID, "heron", password, from)
	}
	for i := range 25 {
		wrong := fmt.Sprint("wrong password ", i)
		want := error(ashiato.ErrSentBefore)
		if i >= 20 {
			want = new(guard.TooManyError)
		}
		_, err := signUp(wrong, "192.0.2.1")
		wantErr(t, wrong, err, want)
	}
	_, err := signUp(password, "192.0.2.1")
	wantErr(t, "the right one, too late", err, new(guard.TooManyError))
	if there, err := signUp(password, "192.0.2.2"); err != nil || there.ID != m.ID {
		t.Errorf("elsewhere: want the member, got %+v, %v", there, err)
	}
}

func TestSite_Trash_LeavesTheAddressAndComesBack(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea", "kitchen")
		_, err := s.Trash(t.Context(), m.ID, p.ID, p.Version+1)
		wantErr(t, "a version that was not looked at", err, kvmodel.ErrConflict)
		trashed, err := s.Trash(t.Context(), m.ID, p.ID, p.Version)
		must(t, err)
		_, err = s.Read(t.Context(), "", "tea", "")
		wantErr(t, "read", err, kvmodel.ErrNotFound)
		_, err = s.Comment(t.Context(), m.ID, p.ID, s.NewID(), "late")
		wantErr(t, "comment", err, ashiato.ErrTrashed)
		_, err = s.Edit(t.Context(), m.ID, p.ID, ashiato.Draft{Title: "x", Body: "x", Version: trashed.Version})
		wantErr(t, "edit", err, ashiato.ErrTrashed)
		settle(t, s)
		if topic, err := s.Topic(t.Context(), "", "kitchen", ""); err != nil || topic.Topic.Pages != 0 || len(topic.Pages.Entries) != 0 {
			t.Errorf("want nothing about kitchens, got %+v, %v", topic, err)
		}
		second := write(t, s, m, "tea")
		wantTrash(t, s, m, p.ID)
		beside := "tea-" + p.ID[len(p.ID)-8:]
		for range 2 {
			if got, err := s.Restore(t.Context(), m.ID, p.ID); err != nil || got.Slug != beside || got.InTrash() {
				t.Errorf("restore beside another: want another address, got %+v, %v", got, err)
			}
		}
		wantTrash(t, s, m)
		if got, err := s.Read(t.Context(), "", "tea", ""); err != nil || got.Page.ID != second.ID {
			t.Errorf("want the second page at its address, got %+v, %v", got, err)
		}
		if got, err := s.Read(t.Context(), "", beside, ""); err != nil || got.Page.ID != p.ID {
			t.Errorf("want the first page back, got %+v, %v", got, err)
		}
	})
}

// Fifty reloads do not make a page number one.
func TestSite_View_CountsOncePerVisitorAndHour(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron := join(t, s, "heron")
		write(t, s, heron, "tea")
		view := func(who, from string, want int64) {
			t.Helper()
			reading, err := s.View(t.Context(), who, from, "tea", "")
			if err != nil || reading.Views != want {
				t.Errorf("%q from %q: want %d views, got %+v, %v", who, from, want, reading, err)
			}
		}
		for range 50 {
			view("", "192.0.2.1", 1)
		}
		view("", "192.0.2.2", 2)
		view(heron.ID, "192.0.2.2", 3)
		view(heron.ID, "192.0.2.3", 3)
	})
}

// Hashing the password is the slow part of a login. A hash needs as much memory each time.
func TestSite_LogIn_HashesThePasswordForAnUnknownHandle(t *testing.T) {
	const memory = 64 << 10
	s := openHashing(t, memkv.New(memkv.Options{}), memory)
	join(t, s, "ann")
	for _, handle := range []string{"ann", "nobody"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := s.LogIn(t.Context(), handle, "wrong horse 17", "10.0.0.1", nil); err == nil {
			t.Errorf("%s logged in with a wrong password", handle)
		}
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 10; used < memory || used > 2*memory {
			t.Errorf("%s: want one hash of %d KB, got %d", handle, memory, used)
		}
	}
}

var must = proof.Must
