package ashiato_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

const password = "two bars in the snow"

// onEachStore runs f on a site in memory and on one in a file.
func onEachStore(t *testing.T, f func(t *testing.T, s *ashiato.Site)) {
	t.Helper()
	t.Run("mem", func(t *testing.T) { f(t, open(t, memkv.New(memkv.Options{}))) })
	t.Run("bolt", func(t *testing.T) {
		store, err := boltkv.Open(filepath.Join(t.TempDir(), "app.db"), boltkv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, open(t, store))
	})
}

func open(t *testing.T, store kvmodel.Store) *ashiato.Site {
	t.Helper()
	db, err := kvmodel.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return ashiato.NewSite(db, ashiato.Options{Hash: guard.HashCost{Passes: 1, Memory: 8, Threads: 1}})
}

func join(t *testing.T, s *ashiato.Site, handle string) *ashiato.Member {
	t.Helper()
	m, err := s.SignUp(t.Context(), ashiato.Joining{ID: s.NewID(), Handle: handle, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t *testing.T, s *ashiato.Site, who *ashiato.Member, slug string, topics ...string) *ashiato.Page {
	t.Helper()
	p, err := s.Write(t.Context(), who.ID, ashiato.Draft{ID: s.NewID(), Slug: slug, Title: "About " + slug, Body: "One cup.", Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func settle(t *testing.T, s *ashiato.Site) {
	t.Helper()
	if err := s.DB().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: want %v, got %v", what, want, err)
	}
}

func wantProblem(t *testing.T, what string, err error, field string) {
	t.Helper()
	problems, _ := errors.AsType[ashiato.Problems](err)
	if problems[field] == "" {
		t.Errorf("%s: want a problem with %s, got %v", what, field, err)
	}
}

func slugs(l ashiato.Listing) []string {
	var all []string
	for _, e := range l.Entries {
		all = append(all, e.Slug)
	}
	return all
}

func TestSite_SignUp_MakesOneMemberOfAFormSentTwice(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		form := ashiato.Joining{ID: s.NewID(), Handle: "Heron", Password: password, About: "one\r\ntwo"}
		first, err := s.SignUp(t.Context(), form)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.SignUp(t.Context(), form)
		if err != nil || again.ID != first.ID || again.About != "one\ntwo" {
			t.Errorf("again: want the member, got %+v, %v", again, err)
		}
		form.Handle = "other"
		_, err = s.SignUp(t.Context(), form)
		wantErr(t, "another handle in the form", err, ashiato.ErrSentBefore)
		_, err = s.SignUp(t.Context(), ashiato.Joining{Handle: "hERON", Password: password})
		wantProblem(t, "a handle that is taken", err, "handle")
	})
}

// Who knows the id of a member does not try passwords by signing up.
func TestSite_SignUp_WithTheIDOfAMemberIsALogInUnderItsLimits(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	m := join(t, s, "heron")
	form := ashiato.Joining{ID: m.ID, Handle: "heron", From: "192.0.2.1"}
	for i := range 25 {
		form.Password = fmt.Sprint("wrong password ", i)
		want := error(ashiato.ErrSentBefore)
		if i >= 20 {
			want = new(guard.TooManyError)
		}
		_, err := s.SignUp(t.Context(), form)
		wantErr(t, form.Password, err, want)
	}
	form.Password = password
	_, err := s.SignUp(t.Context(), form)
	wantErr(t, "the right one, too late", err, new(guard.TooManyError))
	form.From = "192.0.2.2"
	if there, err := s.SignUp(t.Context(), form); err != nil || there.ID != m.ID {
		t.Errorf("elsewhere: want the member, got %+v, %v", there, err)
	}
}

func TestSite_Write_RefusesVeryManyTopicsUnseen(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	m := join(t, s, "heron")
	_, err := s.Write(t.Context(), m.ID, ashiato.Draft{Slug: "tea", Title: "Tea", Body: "One cup.", Topics: make([]string, 100_000)})
	wantProblem(t, "100,000 topics", err, "topics")
	if got := kvmodel.ProblemsOf(err)["topics"]; got != "A page has at most 5 topics; this one has 100000." {
		t.Errorf("got %q", got)
	}
}

func TestSite_SignUp_RefusesBadHandlesAndPasswords(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	good := ashiato.Joining{Handle: "heron", Password: password}
	for name, test := range map[string]struct {
		change func(*ashiato.Joining)
		field  string
	}{
		"empty":          {func(f *ashiato.Joining) { f.Handle = "" }, "handle"},
		"colon":          {func(f *ashiato.Joining) { f.Handle = "a:b" }, "handle"},
		"braces":         {func(f *ashiato.Joining) { f.Handle = "{a}" }, "handle"},
		"script":         {func(f *ashiato.Joining) { f.Handle = "<script>" }, "handle"},
		"no text":        {func(f *ashiato.Joining) { f.Handle = "\xff\xfe" }, "handle"},
		"huge":           {func(f *ashiato.Joining) { f.Handle = strings.Repeat("a", 1<<20) }, "handle"},
		"short password": {func(f *ashiato.Joining) { f.Password = "123456789" }, "password"},
		"huge password":  {func(f *ashiato.Joining) { f.Password = strings.Repeat("a", 1<<20) }, "password"},
		"control bytes":  {func(f *ashiato.Joining) { f.About = "a\x00b" }, "about"},
		"about no text":  {func(f *ashiato.Joining) { f.About = "\xff" }, "about"},
		"another's id":   {func(f *ashiato.Joining) { f.ID = "demo-member-1" }, "id"},
	} {
		form := good
		test.change(&form)
		_, err := s.SignUp(t.Context(), form)
		wantProblem(t, name, err, test.field)
		wantErr(t, name, err, kvmodel.ErrInvalid)
	}
}

func TestSite_LogIn_DoesNotSayWhichIsWrong(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "Heron")
		got, err := s.LogIn(t.Context(), "hErOn", password, "here", nil)
		if err != nil || got.ID != m.ID || got.Password == password {
			t.Errorf("want heron with a hash, got %+v, %v", got, err)
		}
		for _, try := range [][2]string{{"heron", "wrong"}, {"heron", ""}, {"nobody", password}, {"", password}, {"\xff:{}", password}, {strings.Repeat("a", 1<<20), password}} {
			_, err := s.LogIn(t.Context(), try[0], try[1], "here", nil)
			wantErr(t, fmt.Sprintf("%.20q", try), err, ashiato.ErrNoLogIn)
		}
	})
}

func TestSite_LogIn_LimitsTries(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	join(t, s, "heron")
	var asked atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			_, err := s.LogIn(t.Context(), "heron", "wrong password", "here", nil)
			if _, tooMany := errors.AsType[*guard.TooManyError](err); !tooMany {
				asked.Add(1)
			}
		})
	}
	all.Wait()
	// A window may end during the tries.
	if n := asked.Load(); n < 20 || n > 40 {
		t.Errorf("want 20 tries to be checked, or 40 around the end of a window, got %d", n)
	}
	_, err := s.LogIn(t.Context(), "moss", "wrong password", "elsewhere", nil)
	wantErr(t, "another handle from elsewhere", err, ashiato.ErrNoLogIn)
	if _, err := s.LogIn(t.Context(), "heron", password, "elsewhere", nil); err != nil {
		t.Errorf("the owner cannot log in from elsewhere: %v", err)
	}
}

func TestSite_ChangePassword_WantsTheOldOne(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		_, err := s.NewPassword(t.Context(), m.ID, "not this one", "another password")
		wantProblem(t, "a wrong one", err, "old")
		_, err = s.NewPassword(t.Context(), m.ID, password, "short")
		wantProblem(t, "a short one", err, "password")
		change, err := s.NewPassword(t.Context(), m.ID, password, "another password")
		if err == nil {
			err = s.SetPassword(t.Context(), change)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.LogIn(t.Context(), "heron", password, "here", nil)
		wantErr(t, "the old one", err, ashiato.ErrNoLogIn)
		if _, err := s.LogIn(t.Context(), "heron", "another password", "here", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestSite_Write_RefusesWhatCannotBeShown(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	m := join(t, s, "heron")
	good := ashiato.Draft{Slug: "tea", Title: "Tea", Body: "One cup."}
	for name, test := range map[string]struct {
		change func(*ashiato.Draft)
		field  string
	}{
		"slug":          {func(d *ashiato.Draft) { d.Slug = "a/../b" }, "slug"},
		"huge slug":     {func(d *ashiato.Draft) { d.Slug = strings.Repeat("a", 61) }, "slug"},
		"no title":      {func(d *ashiato.Draft) { d.Title = " \t" }, "title"},
		"title's lines": {func(d *ashiato.Draft) { d.Title = "a\nb" }, "title"},
		"title no text": {func(d *ashiato.Draft) { d.Title = "\xc3" }, "title"},
		"no body":       {func(d *ashiato.Draft) { d.Body = "" }, "body"},
		"control bytes": {func(d *ashiato.Draft) { d.Body = "a\x1b[2J" }, "body"},
		"huge body":     {func(d *ashiato.Draft) { d.Body = strings.Repeat("ä", 10_001) }, "body"},
		"topic":         {func(d *ashiato.Draft) { d.Topics = []string{"a:b"} }, "topics"},
		"unseen title":  {func(d *ashiato.Draft) { d.Title = "\u200b\u2060\u3164\u2800\ufe0f\u00ad" }, "title"},
		"unseen body":   {func(d *ashiato.Draft) { d.Body = "\u200d\n\u034f\u3000" }, "body"},
		"six topics":    {func(d *ashiato.Draft) { d.Topics = strings.Fields("a b c d e f") }, "topics"},
	} {
		d := good
		test.change(&d)
		_, err := s.Write(t.Context(), m.ID, d)
		wantProblem(t, name, err, test.field)
	}
	newest, err := s.Newest(t.Context(), "")
	if err != nil || len(newest.Entries) != 0 {
		t.Errorf("want no page, got %v, %v", slugs(newest), err)
	}
}

func TestSite_Write_IsFoundEverywhere(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron, moss := join(t, s, "heron"), join(t, s, "moss")
		write(t, s, heron, "tea", "kitchen", "slow")
		write(t, s, moss, "bread", "kitchen")
		settle(t, s)

		newest, err := s.Newest(t.Context(), "")
		if diff := cmp.Diff([]string{"bread", "tea"}, slugs(newest)); diff != "" || err != nil {
			t.Errorf("newest mismatch, %v (-want +got):\n%s", err, diff)
		}
		profile, err := s.Profile(t.Context(), moss.ID, "Heron", "")
		if err != nil || profile.Followed || profile.Member.ID != heron.ID {
			t.Errorf("want heron's profile, got %+v, %v", profile, err)
		}
		if diff := cmp.Diff([]string{"tea"}, slugs(profile.Pages)); diff != "" {
			t.Errorf("profile mismatch (-want +got):\n%s", diff)
		}
		kitchen, err := s.Topic(t.Context(), "", "kitchen", "")
		if err != nil || len(kitchen.Pages.Entries) != 2 || kitchen.Topic.Pages != 2 {
			t.Errorf("want two pages about kitchens, got %+v, %v", kitchen, err)
		}
		topics, err := s.Topics(t.Context(), "")
		if err != nil || len(topics.Places) != 2 || topics.Places[0].Item.Name != "kitchen" {
			t.Errorf("want kitchen before slow, got %+v, %v", topics.Places, err)
		}
	})
}

func TestSite_Write_MakesOnePageOfAFormSentTwice(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m, other := join(t, s, "heron"), join(t, s, "moss")
		d := ashiato.Draft{ID: s.NewID(), Slug: "tea", Title: "Tea", Body: "a\r\nb"}
		first, err := s.Write(t.Context(), m.ID, d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Write(t.Context(), m.ID, d)
		if err != nil || again.ID != first.ID || again.Body != "a\nb" {
			t.Errorf("again: want the page, got %+v, %v", again, err)
		}
		_, err = s.Write(t.Context(), other.ID, d)
		wantErr(t, "another member with the form", err, ashiato.ErrSentBefore)
		d.ID = s.NewID()
		_, err = s.Write(t.Context(), other.ID, d)
		wantProblem(t, "an address that is taken", err, "slug")
	})
}

func TestSite_Edit_LosesNothingOfTwoWriters(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea")
		mine := ashiato.Draft{Slug: "tea", Title: "Mine", Body: "Mine.", Version: p.Version}
		yours := ashiato.Draft{Slug: "tea", Title: "Yours", Body: "Yours.", Version: p.Version}
		saved, err := s.Edit(t.Context(), m.ID, p.ID, mine)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Edit(t.Context(), m.ID, p.ID, mine); err != nil || again.Version != saved.Version {
			t.Errorf("the same again: want version %d, got %+v, %v", saved.Version, again, err)
		}
		_, err = s.Edit(t.Context(), m.ID, p.ID, yours)
		wantErr(t, "the second writer", err, kvmodel.ErrConflict)
		conflict, ok := errors.AsType[*ashiato.EditConflict](err)
		if !ok || conflict.Saved.Title != "Mine" || conflict.Yours.Title != "Yours" {
			t.Fatalf("want both versions, got %+v", conflict)
		}
		yours.Version = conflict.Saved.Version
		if got, err := s.Edit(t.Context(), m.ID, p.ID, yours); err != nil || got.Title != "Yours" {
			t.Errorf("want it saved after a look, got %+v, %v", got, err)
		}
		story, err := s.Story(t.Context(), m.ID, p.ID)
		if err != nil || len(story.Revisions) != 3 || story.Revisions[1].Item.Title != "Mine" {
			t.Errorf("want three bodies, got %+v, %v", story, err)
		}
	})
}

func TestSite_Page_BelongsToItsAuthorOnly(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m, other := join(t, s, "heron"), join(t, s, "moss")
		p := write(t, s, m, "tea")
		_, err := s.Edit(t.Context(), other.ID, p.ID, ashiato.Draft{Slug: "tea", Title: "x", Body: "x", Version: p.Version})
		wantErr(t, "edit", err, ashiato.ErrNotYours)
		_, err = s.Trash(t.Context(), other.ID, p.ID, p.Version)
		wantErr(t, "trash", err, ashiato.ErrNotYours)
		_, err = s.Restore(t.Context(), other.ID, p.ID)
		wantErr(t, "restore", err, ashiato.ErrNotYours)
		_, err = s.Own(t.Context(), other.ID, p.ID)
		wantErr(t, "own", err, ashiato.ErrNotYours)
		_, err = s.Story(t.Context(), other.ID, p.ID)
		wantErr(t, "story", err, ashiato.ErrNotYours)
		_, err = s.BringBack(t.Context(), other.ID, p.ID, 1, p.Version)
		wantErr(t, "bring back", err, ashiato.ErrNotYours)
		_, err = s.Own(t.Context(), m.ID, "no such page")
		wantErr(t, "no page", err, kvmodel.ErrNotFound)
	})
}

func TestSite_Trash_LeavesTheAddressAndComesBack(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea", "kitchen")
		_, err := s.Trash(t.Context(), m.ID, p.ID, p.Version+1)
		wantErr(t, "a version that was not looked at", err, kvmodel.ErrConflict)
		trashed, err := s.Trash(t.Context(), m.ID, p.ID, p.Version)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Read(t.Context(), "", "tea", "")
		wantErr(t, "read", err, kvmodel.ErrNotFound)
		_, err = s.Comment(t.Context(), m.ID, p.ID, s.NewID(), "late")
		wantErr(t, "comment", err, ashiato.ErrTrashed)
		_, err = s.Edit(t.Context(), m.ID, p.ID, ashiato.Draft{Slug: "tea", Title: "x", Body: "x", Version: trashed.Version})
		wantErr(t, "edit", err, ashiato.ErrTrashed)
		settle(t, s)
		if topic, err := s.Topic(t.Context(), "", "kitchen", ""); err != nil || topic.Topic.Pages != 0 || len(topic.Pages.Entries) != 0 {
			t.Errorf("want nothing about kitchens, got %+v, %v", topic, err)
		}
		second := write(t, s, m, "tea")
		wantTrash(t, s, m, p.ID)
		for range 2 {
			if got, err := s.Restore(t.Context(), m.ID, p.ID); err != nil || got.Slug != "tea-2" || got.InTrash() {
				t.Errorf("restore beside another: want tea-2, got %+v, %v", got, err)
			}
		}
		wantTrash(t, s, m)
		if got, err := s.Read(t.Context(), "", "tea", ""); err != nil || got.Page.ID != second.ID {
			t.Errorf("want the second page at its address, got %+v, %v", got, err)
		}
		if got, err := s.Read(t.Context(), "", "tea-2", ""); err != nil || got.Page.ID != p.ID {
			t.Errorf("want the first page back, got %+v, %v", got, err)
		}
	})
}

func TestSite_View_IsCountedAndRanked(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		for i, slug := range []string{"tea", "bread", "snow"} {
			write(t, s, m, slug)
			for n := range i + 1 {
				reading, err := s.View(t.Context(), "", fmt.Sprint("192.0.2.", n), slug)
				if err != nil || reading.Views != int64(n+1) || reading.By.Handle != "heron" {
					t.Fatalf("%s: want view %d, got %+v, %v", slug, n+1, reading, err)
				}
			}
		}
		settle(t, s)
		for _, p := range []ashiato.Order{ashiato.Today, ashiato.ThisWeek, ashiato.AllTime} {
			ranks, err := s.Ranking(t.Context(), p, "", "")
			var got []string
			for _, row := range ranks.Rows {
				got = append(got, fmt.Sprint(row.Rank, " ", row.Slug, " ", row.Score, " ", row.By.Handle))
			}
			if diff := cmp.Diff([]string{"1 snow 3 heron", "2 bread 2 heron", "3 tea 1 heron"}, got); diff != "" || err != nil || ranks.Of != 3 {
				t.Errorf("%s: of %d, %v (-want +got):\n%s", p, ranks.Of, err, diff)
			}
		}
		bread, err := s.Models.Pages.BySlug.Find(t.Context(), "bread")
		if err != nil {
			t.Fatal(err)
		}
		ranks, err := s.Ranking(t.Context(), ashiato.Today, "", bread.ID)
		if err != nil || len(ranks.Near) != 3 || ranks.Near[1].Slug != "bread" || ranks.Near[1].Rank != 2 || ranks.First != 3 {
			t.Errorf("want bread second of three, got %+v, %v", ranks, err)
		}
		reading, err := s.Read(t.Context(), "", "tea", "")
		if err != nil || reading.Rank != 3 || reading.Of != 3 || reading.Views != 1 {
			t.Errorf("want tea third of three, its view not counted again, got %+v, %v", reading, err)
		}
		_, err = s.Ranking(t.Context(), "year", "", "")
		wantErr(t, "no such period", err, kvmodel.ErrNotFound)
		for _, p := range []ashiato.Order{ashiato.Today, ashiato.ThisWeek, ashiato.AllTime} {
			_, err = s.Ranking(t.Context(), p, "tampered", "")
			wantErr(t, string(p), err, kvmodel.ErrBadCursor)
		}
		hood, err := s.Look(t.Context(), "views", "tea")
		if err != nil || hood.Tree.Root.Count != 3 || hood.Tree.Leaves[0] == "" || len(hood.Keys) == 0 {
			t.Errorf("want a tree of three with a way, got %+v, %v", hood, err)
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
			reading, err := s.View(t.Context(), who, from, "tea")
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

func TestSite_Like_IsOneVoteOfEachReader(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron, moss, otter := join(t, s, "heron"), join(t, s, "moss"), join(t, s, "otter")
		write(t, s, heron, "tea")
		write(t, s, heron, "bread")
		ctx := t.Context()
		if err := errors.Join(s.Like(ctx, moss.ID, "tea"), s.Like(ctx, moss.ID, "tea"), s.Like(ctx, otter.ID, "tea"), s.Like(ctx, moss.ID, "bread")); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "one's own", s.Like(ctx, heron.ID, "tea"), ashiato.ErrOwnPage)
		wantErr(t, "no page", s.Like(ctx, moss.ID, "nothing"), kvmodel.ErrNotFound)
		settle(t, s)
		ranks, err := s.Ranking(ctx, ashiato.MostLiked, "", "")
		if err != nil || len(ranks.Rows) != 2 || ranks.Rows[0].Slug != "tea" || ranks.Rows[0].Score != 2 {
			t.Errorf("want tea first, with two likes, got %+v, %v", ranks, err)
		}
		if reading, err := s.Read(ctx, moss.ID, "tea", ""); err != nil || reading.Likes != 2 || !reading.Liked {
			t.Errorf("want two likes, one of the reader, got %+v, %v", reading, err)
		}
		for range 2 {
			if err := s.Unlike(ctx, moss.ID, "tea"); err != nil {
				t.Fatal(err)
			}
		}
		settle(t, s)
		if reading, err := s.Read(ctx, moss.ID, "tea", ""); err != nil || reading.Likes != 1 || reading.Liked {
			t.Errorf("want one like, of another member, got %+v, %v", reading, err)
		}
	})
}

func TestSite_Comment_BelongsToItsAuthorAndThePagesAuthor(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		author, guest, other := join(t, s, "heron"), join(t, s, "moss"), join(t, s, "otter")
		p := write(t, s, author, "tea")
		id := s.NewID()
		first, err := s.Comment(t.Context(), guest.ID, p.ID, id, "Good.")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Comment(t.Context(), guest.ID, p.ID, id, "Good."); err != nil || again.ID != first.ID {
			t.Errorf("again: want the comment, got %+v, %v", again, err)
		}
		_, err = s.Comment(t.Context(), guest.ID, p.ID, id, "Bad.")
		wantErr(t, "another text in the form", err, ashiato.ErrSentBefore)
		for _, text := range []string{"", " \n", "\xff", "a\x00", strings.Repeat("a", 1001)} {
			_, err := s.Comment(t.Context(), guest.ID, p.ID, s.NewID(), text)
			wantProblem(t, fmt.Sprintf("%.10q", text), err, "text")
		}
		second, err := s.Comment(t.Context(), guest.ID, p.ID, s.NewID(), "Better.")
		if err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		reading, err := s.Read(t.Context(), "", "tea", "")
		if err != nil || reading.Page.Comments != 2 || len(reading.Remarks) != 2 || reading.Remarks[0].Text != "Better." || reading.Remarks[0].By.Handle != "moss" {
			t.Errorf("want two comments, the newest first, got %+v, %v", reading, err)
		}
		wantErr(t, "another member", s.Retract(t.Context(), other.ID, first.ID), ashiato.ErrNotYours)
		if err := errors.Join(s.Retract(t.Context(), author.ID, first.ID), s.Retract(t.Context(), guest.ID, second.ID)); err != nil {
			t.Error(err)
		}
		wantErr(t, "again", s.Retract(t.Context(), guest.ID, second.ID), kvmodel.ErrNotFound)
		settle(t, s)
		if reading, err := s.Read(t.Context(), "", "tea", ""); err != nil || reading.Page.Comments != 0 || len(reading.Remarks) != 0 {
			t.Errorf("want no comments, got %+v, %v", reading, err)
		}
	})
}

func TestSite_Feed_HoldsWhatItsReaderFollows(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		reader, author, other := join(t, s, "heron"), join(t, s, "moss"), join(t, s, "otter")
		write(t, s, author, "before")
		write(t, s, other, "tea", "kitchen")
		settle(t, s)
		for range 2 {
			if err := errors.Join(s.Follow(t.Context(), reader.ID, author.ID), s.FollowTopic(t.Context(), reader.ID, "kitchen")); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, "oneself", s.Follow(t.Context(), reader.ID, reader.ID), ashiato.ErrYourself)
		wantErr(t, "nobody", s.Follow(t.Context(), reader.ID, "nobody"), kvmodel.ErrNotFound)
		wantErr(t, "no topic", s.FollowTopic(t.Context(), reader.ID, "nothing"), kvmodel.ErrNotFound)
		settle(t, s)
		write(t, s, author, "by-moss")
		write(t, s, other, "on-kitchens", "kitchen")
		write(t, s, other, "neither")
		write(t, s, reader, "own", "kitchen")
		settle(t, s)
		feed, err := s.Feed(t.Context(), reader.ID, "")
		if diff := cmp.Diff([]string{"on-kitchens", "by-moss", "before"}, slugs(feed)); diff != "" || err != nil {
			t.Errorf("feed mismatch, %v (-want +got):\n%s", err, diff)
		}
		profile, err := s.Profile(t.Context(), reader.ID, "moss", "")
		if err != nil || !profile.Followed || profile.Member.Followers != 1 {
			t.Errorf("want moss followed by one, got %+v, %v", profile, err)
		}
		followers, err := s.FollowersOf(t.Context(), "kitchen", "")
		if err != nil || len(followers.Items) != 1 || followers.Items[0].ID != reader.ID {
			t.Errorf("want heron to follow kitchens, got %+v, %v", followers, err)
		}
		for range 2 {
			if err := errors.Join(s.Unfollow(t.Context(), reader.ID, author.ID), s.UnfollowTopic(t.Context(), reader.ID, "kitchen")); err != nil {
				t.Fatal(err)
			}
		}
		write(t, s, author, "after", "kitchen")
		settle(t, s)
		if feed, err := s.Feed(t.Context(), reader.ID, ""); err != nil || len(feed.Entries) != 3 {
			t.Errorf("want nothing new, got %v, %v", slugs(feed), err)
		}
		_, err = s.Feed(t.Context(), reader.ID, "tampered")
		wantErr(t, "cursor", err, kvmodel.ErrBadCursor)
	})
}

func TestSite_Visit_LeavesOneFootprintPerGuest(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		owner, guest := join(t, s, "heron"), join(t, s, "moss")
		for _, who := range []string{guest.ID, guest.ID, owner.ID, ""} {
			if err := s.Visit(t.Context(), who, owner.ID); err != nil {
				t.Fatal(err)
			}
		}
		visitor, err := s.Visitor(t.Context(), owner.ID)
		if err != nil || visitor.Unread != 1 || visitor.Member.Handle != "heron" {
			t.Errorf("want one footprint unread, got %+v, %v", visitor, err)
		}
		prints, err := s.Footprints(t.Context(), owner.ID)
		if err != nil || len(prints) != 1 || prints[0].Guest.Handle != "moss" || !prints[0].New {
			t.Fatalf("want a new footprint of moss, got %+v, %v", prints, err)
		}
		if err := s.Looked(t.Context(), owner.ID, prints[0].At); err != nil {
			t.Fatal(err)
		}
		if err := s.Looked(t.Context(), owner.ID, prints[0].At.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if visitor, err := s.Visitor(t.Context(), owner.ID); err != nil || visitor.Unread != 0 {
			t.Errorf("want none unread, got %+v, %v", visitor, err)
		}
	})
}

// The cost of a verb is part of its contract: how many trips, and how many of them
// one after another. A change is one trip if the store commits at once.
func TestSite_TripsOfEachVerb(t *testing.T) {
	store := &kvtest.Slow{Store: memkv.New(memkv.Options{})}
	s := open(t, store)
	heron, moss := join(t, s, "heron"), join(t, s, "moss")
	last := ""
	for i := range 60 {
		p := write(t, s, []*ashiato.Member{heron, moss}[i%2], fmt.Sprint("page-", i), "kitchen")
		if _, err := s.View(t.Context(), "", "192.0.2.1", p.Slug); err != nil {
			t.Fatal(err)
		}
		last = p.ID
		if i == 59 {
			for range 30 {
				if _, err := s.Comment(t.Context(), moss.ID, p.ID, s.NewID(), "Good."); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := errors.Join(s.Follow(t.Context(), heron.ID, moss.ID), s.FollowTopic(t.Context(), heron.ID, "kitchen"), s.Visit(t.Context(), moss.ID, heron.ID)); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	store.Wait(20 * time.Millisecond)
	for _, test := range []struct {
		name        string
		trips, deep int
		do          func(ctx context.Context) error
	}{
		{"visitor", 1, 1, func(ctx context.Context) error { _, err := s.Visitor(ctx, heron.ID); return err }},
		{"home", 3, 3, func(ctx context.Context) error { _, err := s.Home(ctx); return err }},
		{"newest", 3, 3, func(ctx context.Context) error { _, err := s.Newest(ctx, ""); return err }},
		{"feed", 3, 3, func(ctx context.Context) error { _, err := s.Feed(ctx, heron.ID, ""); return err }},
		{"profile", 4, 4, func(ctx context.Context) error { _, err := s.Profile(ctx, heron.ID, "moss", ""); return err }},
		{"view", 4, 4, func(ctx context.Context) error { _, err := s.View(ctx, heron.ID, "", "page-59"); return err }},
		{"view that counts", 5, 5, func(ctx context.Context) error { _, err := s.View(ctx, "", s.NewID(), "page-59"); return err }},
		{"ranking of today", 3, 3, func(ctx context.Context) error { _, err := s.Ranking(ctx, ashiato.Today, "", ""); return err }},
		{"ranking of the week", 3, 3, func(ctx context.Context) error { _, err := s.Ranking(ctx, ashiato.ThisWeek, "", ""); return err }},
		{"ranking", 3, 3, func(ctx context.Context) error { _, err := s.Ranking(ctx, ashiato.AllTime, "", ""); return err }},
		{"ranking around a page", 4, 4, func(ctx context.Context) error { _, err := s.Ranking(ctx, ashiato.ThisWeek, "", last); return err }},
		{"topic", 3, 3, func(ctx context.Context) error { _, err := s.Topic(ctx, heron.ID, "kitchen", ""); return err }},
		{"topics", 2, 2, func(ctx context.Context) error { _, err := s.Topics(ctx, ""); return err }},
		{"followers of a topic", 3, 3, func(ctx context.Context) error { _, err := s.FollowersOf(ctx, "kitchen", ""); return err }},
		{"search", 2, 2, func(ctx context.Context) error { _, err := s.Search(ctx, "pa", "", 20); return err }},
		{"footprints", 3, 3, func(ctx context.Context) error { _, err := s.Footprints(ctx, heron.ID); return err }},
		{"log in", 5, 5, func(ctx context.Context) error { _, err := s.LogIn(ctx, "heron", password, "here", nil); return err }},
		{"visit", 1, 1, func(ctx context.Context) error { return s.Visit(ctx, moss.ID, heron.ID) }},
		{"write", 3, 3, func(ctx context.Context) error {
			_, err := s.Write(ctx, heron.ID, ashiato.Draft{ID: s.NewID(), Slug: "new-" + s.NewID(), Title: "New", Body: "New.", Topics: []string{"kitchen"}})
			return err
		}},
		{"comment", 2, 2, func(ctx context.Context) error {
			p, err := s.Models.Pages.BySlug.Find(t.Context(), "page-59")
			if err != nil {
				return err
			}
			_, err = s.Comment(ctx, heron.ID, p.ID, s.NewID(), "Good.")
			return err
		}},
	} {
		if err := test.do(t.Context()); err != nil { // to warm up
			t.Fatalf("%s: %v", test.name, err)
		}
		ctx, meter := kvmodel.Metered(t.Context())
		if err := test.do(ctx); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		cost := meter.Cost()
		t.Logf("%s: %s", test.name, cost)
		if cost.Trips > test.trips || cost.Depth > test.deep {
			t.Errorf("%s: want at most %d trips, %d deep, got %s", test.name, test.trips, test.deep, cost)
		}
	}
}

func TestSite_Describe_ChangesWhatAMemberSaysAboutThemselves(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		if got, err := s.Describe(t.Context(), m.ID, "I walk.\r\nSlowly."); err != nil || got.About != "I walk.\nSlowly." {
			t.Errorf("want the text with the line ends of Unix, got %+v, %v", got, err)
		}
		for _, about := range []string{"\xff", "a\x00", strings.Repeat("a", ashiato.MaxAbout+1)} {
			_, err := s.Describe(t.Context(), m.ID, about)
			wantProblem(t, fmt.Sprintf("%.10q", about), err, "about")
		}
		_, err := s.Describe(t.Context(), "nobody", "Who?")
		wantErr(t, "nobody", err, kvmodel.ErrNotFound)
		if got, err := s.Find(t.Context(), "heron"); err != nil || got.About != "I walk.\nSlowly." {
			t.Errorf("want what was refused not stored, got %+v, %v", got, err)
		}
	})
}

func handlesOf(members []*ashiato.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Handle)
	}
	slices.Sort(all)
	return all
}

func TestSite_Follow_IsSeenFromBothSides(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron, moss, otter := join(t, s, "heron"), join(t, s, "moss"), join(t, s, "otter")
		for range 2 { // the second time changes nothing
			if err := errors.Join(s.Follow(t.Context(), heron.ID, moss.ID), s.Follow(t.Context(), otter.ID, moss.ID), s.Follow(t.Context(), heron.ID, otter.ID)); err != nil {
				t.Fatal(err)
			}
		}
		followers, err1 := s.Followers(t.Context(), moss.ID, "")
		following, err2 := s.Following(t.Context(), heron.ID, "")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"heron", "otter"}, handlesOf(followers.Items)); diff != "" {
			t.Errorf("followers of moss (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{"moss", "otter"}, handlesOf(following.Items)); diff != "" {
			t.Errorf("followed by heron (-want +got)\n%s", diff)
		}
		for name, list := range map[string]func(context.Context, string, string) (kvmodel.Listing[ashiato.Member], error){"followers": s.Followers, "following": s.Following} {
			_, err := list(t.Context(), moss.ID, "tampered")
			wantErr(t, name, err, kvmodel.ErrBadCursor)
		}
	})
}

// A large list is paged, and names each follower once.
func TestSite_Followers_ListsEachOnOnePage(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	moss := join(t, s, "moss")
	var want, got []string
	for i := range 45 {
		m := join(t, s, fmt.Sprintf("member-%02d", i))
		want = append(want, m.Handle)
		if err := s.Follow(t.Context(), m.ID, moss.ID); err != nil {
			t.Fatal(err)
		}
	}
	for cursor := ""; ; {
		page, err := s.Followers(t.Context(), moss.ID, cursor)
		if err != nil || len(page.Items) > 20 {
			t.Fatalf("want at most 20 on a page, got %d, %v", len(page.Items), err)
		}
		got = append(got, handlesOf(page.Items)...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("followers (-want +got)\n%s", diff)
	}
}

func TestSite_Interests_ListsTheTopicsOfAMember(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron := join(t, s, "heron")
		write(t, s, heron, "tea", "drinks", "kitchen", "words")
		if err := errors.Join(s.FollowTopic(t.Context(), heron.ID, "drinks"), s.FollowTopic(t.Context(), heron.ID, "words"), s.FollowTopic(t.Context(), heron.ID, "words")); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "no such topic", s.FollowTopic(t.Context(), heron.ID, "nothing"), kvmodel.ErrNotFound)
		got, err := s.Interests(t.Context(), heron.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, topic := range got.Items {
			names = append(names, topic.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"drinks", "words"}, names); diff != "" {
			t.Errorf("interests (-want +got)\n%s", diff)
		}
		if err := s.UnfollowTopic(t.Context(), heron.ID, "words"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Interests(t.Context(), heron.ID, ""); err != nil || len(got.Items) != 1 || got.Items[0].Name != "drinks" {
			t.Errorf("want drinks alone, got %+v, %v", got.Items, err)
		}
		_, err = s.Interests(t.Context(), heron.ID, "tampered")
		wantErr(t, "tampered", err, kvmodel.ErrBadCursor)
	})
}

// A page names its author's other pages, and reports whether the reader follows
// the author.
func TestSite_Read_ShowsTheAuthor(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron, moss := join(t, s, "heron"), join(t, s, "moss")
		for _, slug := range []string{"one", "two", "three", "four", "five"} {
			write(t, s, heron, slug)
		}
		if err := s.Follow(t.Context(), moss.ID, heron.ID); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			who, slug string
			followed  bool
			more      []string
		}{
			{moss.ID, "four", true, []string{"five", "three", "two"}},
			{heron.ID, "five", false, []string{"four", "three", "two"}},
			{"", "one", false, []string{"five", "four", "three"}},
		} {
			got, err := s.Read(t.Context(), test.who, test.slug, "")
			if err != nil {
				t.Fatal(err)
			}
			var more []string
			for _, p := range got.More {
				more = append(more, p.Slug)
			}
			if diff := cmp.Diff(test.more, more); diff != "" || got.Followed != test.followed {
				t.Errorf("%s: want followed %v, got %v; others (-want +got)\n%s", test.slug, test.followed, got.Followed, diff)
			}
		}
	})
}

// Every list can be looked at. One of someone or something unknown is not there, and a way
// to what is unknown is not drawn.
func TestSite_Look_DrawsEveryList(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		heron, moss := join(t, s, "heron"), join(t, s, "moss")
		tea := write(t, s, heron, "tea", "kitchen")
		_, commented := s.Comment(t.Context(), moss.ID, tea.ID, s.NewID(), "Good.")
		_, viewed := s.View(t.Context(), "", "192.0.2.1", "tea")
		if err := errors.Join(commented, viewed, s.Like(t.Context(), moss.ID, "tea"), s.Follow(t.Context(), moss.ID, heron.ID), s.FollowTopic(t.Context(), moss.ID, "kitchen")); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		names := map[string]string{"page": "tea", "member": "heron", "topic": "kitchen"}
		for _, l := range ashiato.Lists {
			got, err := s.Look(t.Context(), l.Name, names[l.Asks])
			if err != nil || got.Ring == nil && got.Tree == nil && got.Log == nil || len(got.Keys) == 0 {
				t.Errorf("%s: want a picture, got %+v, %v", l.Name, got, err)
				continue
			}
			if got.Tree != nil && got.Tree.Leaves[0] == "" {
				t.Errorf("%s: want a way to %s", l.Name, names[l.Asks])
			}
			got, err = s.Look(t.Context(), l.Name, "nobody")
			if gone := errors.Is(err, kvmodel.ErrNotFound); gone != l.Needs || !gone && len(got.Keys) == 0 {
				t.Errorf("%s of nobody: got %+v, %v", l.Name, got, err)
			}
			if got, err = s.Look(t.Context(), l.Name, ""); err != nil || l.Needs == (len(got.Keys) > 0) {
				t.Errorf("%s without a name: got %+v, %v", l.Name, got, err)
			}
		}
		if _, err := s.Look(t.Context(), "trash", ""); !errors.Is(err, kvmodel.ErrNotFound) {
			t.Errorf("an unknown list: want ErrNotFound, got %v", err)
		}
	})
}

// The picture of the ring distinguishes a live page from one in the trash.
func TestSite_Look_ShowsWhatIsStale(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		write(t, s, m, "tea")
		gone := write(t, s, m, "bread")
		if _, err := s.Trash(t.Context(), m.ID, gone.ID, gone.Version); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		hood, err := s.Look(t.Context(), "newest", "")
		if err != nil {
			t.Fatal(err)
		}
		slots := map[timeline.Slot]int{}
		for _, segment := range hood.Ring.Segments {
			for _, slot := range segment.Slots {
				slots[slot]++
			}
		}
		if slots[timeline.Filled] != 1 || slots[timeline.Stale] != 1 || hood.Ring.Head < 2 {
			t.Errorf("want one filled place and one stale one, got %v, head %d", slots, hood.Ring.Head)
		}
	})
}

func TestSite_Health_ReportsAStoreThatIsDown(t *testing.T) {
	if err := open(t, memkv.New(memkv.Options{})).Health(t.Context()); err != nil {
		t.Error(err)
	}
	db, err := kvmodel.Open(down{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	wantErr(t, "down", ashiato.NewSite(db, ashiato.Options{}).Health(t.Context()), kvmodel.ErrUnavailable)
}

type down struct{}

func (down) Do(_ context.Context, ops []kv.Op) error {
	return kv.Fail(ops, kvmodel.ErrUnavailable)
}
func (down) Close() error { return nil }
