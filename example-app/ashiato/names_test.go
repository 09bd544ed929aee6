package ashiato_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// titled writes a page with a title and no slug.
func titled(t *testing.T, s *ashiato.Site, who *ashiato.Member, title, body string) *ashiato.Page {
	t.Helper()
	p, err := s.Write(t.Context(), who.ID, ashiato.Draft{ID: s.NewID(), Title: title, Body: body})
	if err != nil {
		t.Fatalf("%q: %v", title, err)
	}
	return p
}

func TestSite_Write_MakesAnAddressOfATitleInAnyScript(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		for title, want := range map[string]string{
			"Tea, for one — Ünlike 2!": "tea-for-one-unlike-2",
			"ﬁve ＣＵＰＳ":                 "five-cups",
			"お茶のガイド":                   "お茶のガイド",
			"תֵּה ירוק":                "תֵּה-ירוק",
			"Чай 🍵 й":                  "чай-й",
			"-- a --":                  "a",
			strings.Repeat("茶碗 ", 40):  strings.Repeat("茶碗-", 19) + "茶碗",
		} {
			p := titled(t, s, m, title, "One cup.")
			if p.Slug != want {
				t.Errorf("%q: want %q, got %q", title, want, p.Slug)
			}
			if got, err := s.Read(t.Context(), "", strings.ToUpper(want), ""); err != nil || got.Page.ID != p.ID {
				t.Errorf("%q in upper case: want the page, got %+v, %v", want, got, err)
			}
		}
		if p := titled(t, s, m, "🍵🫖", "One cup."); len(p.Slug) != 8 || !strings.HasSuffix(p.ID, p.Slug) {
			t.Errorf("want the end of %s, got %q", p.ID, p.Slug)
		}
	})
}

func TestSite_Write_NumbersPagesOfOneTitle(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m, other := join(t, s, "heron"), join(t, s, "moss")
		var got []string
		for i := range 11 {
			got = append(got, titled(t, s, m, "Tea", fmt.Sprintf("Cup %d.", i)).Slug)
		}
		want := []string{"tea", "tea-2", "tea-3", "tea-4", "tea-5", "tea-6", "tea-7", "tea-8", "tea-9"}
		if diff := cmp.Diff(want, got[:9]); diff != "" {
			t.Errorf("slugs mismatch (-want +got):\n%s", diff)
		}
		for _, slug := range got[9:] {
			if len(slug) != len("tea-12345678") || !strings.HasPrefix(slug, "tea-") {
				t.Errorf("want tea- and a part of the id, got %q", slug)
			}
		}
		if p := titled(t, s, other, "Tea", "Cup 0."); p.Author != other.ID {
			t.Errorf("want a page by moss, got %+v", p)
		}
	})
}

func TestSite_Write_MakesOnePageOfATextSentAgain(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		titled(t, s, m, "Tea", "Another cup.")
		d := ashiato.Draft{ID: s.NewID(), Title: "Tea", Body: "One cup.", Topics: []string{"kitchen"}}
		first, err := s.Write(t.Context(), m.ID, d)
		if err != nil || first.Slug != "tea-2" {
			t.Fatalf("want tea-2, got %+v, %v", first, err)
		}
		for _, id := range []string{d.ID, s.NewID()} {
			d.ID = id
			if again, err := s.Write(t.Context(), m.ID, d); err != nil || again.ID != first.ID {
				t.Errorf("want the page itself, got %+v, %v", again, err)
			}
		}
	})
}

func TestSite_Edit_KeepsAnAddressMadeFromTheTitle(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	m := join(t, s, "heron")
	titled(t, s, m, "Tea", "One cup.")
	p := titled(t, s, m, "Tea", "Another cup.")
	d := ashiato.Draft{Title: "Tea", Body: "Two cups.", Version: p.Version}
	for range 2 {
		if got, err := s.Edit(t.Context(), m.ID, p.ID, d); err != nil || got.Slug != "tea-2" || got.Version != p.Version+1 {
			t.Errorf("want version %d of tea-2, got %+v, %v", p.Version+1, got, err)
		}
	}
	if got, err := s.Edit(t.Context(), m.ID, p.ID, ashiato.Draft{Title: "Milk", Body: "Two cups.", Version: p.Version + 1}); err != nil || got.Slug != "milk" {
		t.Errorf("want milk, got %+v, %v", got, err)
	}
}

func TestSite_Topics_AreOneInTheirNormalForm(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea", "Café", "cafe\u0301", "", "ＣＡＦÉ", "お茶", "caf\u200bé", "slow")
		if diff := cmp.Diff([]string{"café", "お茶", "slow"}, p.Topics); diff != "" {
			t.Errorf("topics mismatch (-want +got):\n%s", diff)
		}
		settle(t, s)
		if err := s.FollowTopic(t.Context(), m.ID, "CAFE\u0301"); err != nil {
			t.Error(err)
		}
		v, err := s.Topic(t.Context(), m.ID, "Café", "")
		if err != nil || !v.Followed || v.Topic.Name != "café" || len(v.Pages.Entries) != 1 {
			t.Errorf("want the page on café, followed, got %+v, %v", v, err)
		}
		if err := s.UnfollowTopic(t.Context(), m.ID, "CAFÉ"); err != nil {
			t.Error(err)
		}
		if v, err = s.Topic(t.Context(), m.ID, "café", ""); err != nil || v.Followed {
			t.Errorf("want it unfollowed, got %+v, %v", v, err)
		}
	})
}

func TestSite_Handles_AreOneInTheirNormalForm(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	for _, test := range []struct{ handle, shown, same string }{
		{"Ärger", "Ärger", "A\u0308RGER"},
		{"ﾊﾅｺ", "ハナコ", "ハナコ"},
		{"שָׁלוֹם", "שָׁלוֹם", "שָׁלוֹם"},
		{"Straße", "Straße", "STRASSE"},
	} {
		m := join(t, s, test.handle)
		if m.Handle != test.shown {
			t.Errorf("want %q, got %q", test.shown, m.Handle)
		}
		_, err := s.SignUp(t.Context(), ashiato.Joining{Handle: test.same, Password: password})
		wantProblem(t, test.same, err, "handle")
		if found, err := s.Find(t.Context(), test.same); err != nil || found.ID != m.ID {
			t.Errorf("%q: want %+v, got %+v, %v", test.same, m, found, err)
		}
		if in, err := s.LogIn(t.Context(), test.same, password, "here", nil); err != nil || in.ID != m.ID {
			t.Errorf("%q: want %+v logged in, got %+v, %v", test.same, m, in, err)
		}
	}
	for _, bad := range []string{"he\u200bron", "\u3164\u3164", "a b", "🍵🍵", "ﷺﷺ", "a/b"} {
		_, err := s.SignUp(t.Context(), ashiato.Joining{Handle: bad, Password: password})
		wantProblem(t, fmt.Sprintf("%q", bad), err, "handle")
	}
}

func TestSite_Handles_ThatLookAlikeAreTaken(t *testing.T) {
	s := open(t, memkv.New(memkv.Options{}))
	for _, test := range []struct{ there, like string }{
		{"cope", "соре"}, // in Cyrillic letters
		{"Тор", "Top"},   // the letters of the first are Cyrillic
		{"noun", "ոօսո"}, // in Armenian letters
		{"nova", "NOVA"},
		{"BOTH", "ВОТН"}, // capitals of Cyrillic
	} {
		join(t, s, test.there)
		_, err := s.SignUp(t.Context(), ashiato.Joining{Handle: test.like, Password: password})
		wantProblem(t, fmt.Sprintf("%s beside %s", test.like, test.there), err, "handle")
	}
	for _, mixed := range []string{"heron\u0430", "ꓔꓳꓑ", "Ꭺnn"} {
		_, err := s.SignUp(t.Context(), ashiato.Joining{Handle: mixed, Password: password})
		wantProblem(t, mixed, err, "handle")
	}
	for _, fine := range []string{"вода", "ναύτης", "Հայկ", "私のcafé", "한글A", "ann_2"} {
		join(t, s, fine)
	}
}

// The longest names have room in the keys of every store.
func TestSite_Names_MayBeLongInAnyScript(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, strings.Repeat("字", ashiato.MaxHandle))
		slug, topic := strings.Repeat("𠀀", ashiato.MaxSlug), strings.Repeat("𠀀", ashiato.MaxTopic)
		write(t, s, m, slug, topic)
		if err := s.FollowTopic(t.Context(), m.ID, topic); err != nil {
			t.Error(err)
		}
		if _, err := s.Read(t.Context(), "", slug, ""); err != nil {
			t.Error(err)
		}
	})
}

func TestSite_RefusedDrafts_MakeNoTopics(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m, other := join(t, s, "heron"), join(t, s, "moss")
		write(t, s, m, "milk")
		p := write(t, s, m, "tea")
		d := ashiato.Draft{Slug: "tea", Title: "Tea", Body: "Two cups.", Topics: []string{"new"}, Version: p.Version + 1}
		_, err := s.Edit(t.Context(), m.ID, p.ID, d)
		wantErr(t, "another version", err, kvmodel.ErrConflict)
		d.Version = p.Version
		_, err = s.Edit(t.Context(), other.ID, p.ID, d)
		wantErr(t, "another member", err, ashiato.ErrNotYours)
		d.Slug = "milk"
		_, err = s.Edit(t.Context(), m.ID, p.ID, d)
		wantProblem(t, "a slug that is taken", err, "slug")
		_, err = s.Write(t.Context(), m.ID, d)
		wantProblem(t, "a new page with it", err, "slug")
		_, err = s.Models.Topics.Get(t.Context(), "new")
		wantErr(t, "the topic", err, kvmodel.ErrNotFound)
	})
}

func TestSite_Comment_SaidAgainIsOne(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m, other := join(t, s, "heron"), join(t, s, "moss")
		p := write(t, s, m, "tea")
		first, err := s.Comment(t.Context(), m.ID, p.ID, s.NewID(), "So it is.")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Comment(t.Context(), m.ID, p.ID, s.NewID(), "So it is."); err != nil || again.ID != first.ID {
			t.Errorf("want the first comment, got %+v, %v", again, err)
		}
		if theirs, err := s.Comment(t.Context(), other.ID, p.ID, s.NewID(), "So it is."); err != nil || theirs.ID == first.ID {
			t.Errorf("want a comment by moss, got %+v, %v", theirs, err)
		}
	})
}

func TestSite_BringBack_IsAnEdit(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea", "kitchen")
		edited, err := s.Edit(t.Context(), m.ID, p.ID, ashiato.Draft{Slug: "milk", Title: "Milk", Body: "None.", Version: p.Version})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.BringBack(t.Context(), m.ID, p.ID, p.Version, p.Version)
		wantErr(t, "a version that was not looked at", err, kvmodel.ErrConflict)
		_, err = s.BringBack(t.Context(), m.ID, p.ID, 99, edited.Version)
		wantErr(t, "no such revision", err, kvmodel.ErrNotFound)
		back, err := s.BringBack(t.Context(), m.ID, p.ID, p.Version, edited.Version)
		if err != nil || back.Slug != "milk" || back.Title != p.Title || back.Body != p.Body || len(back.Topics) != 1 || back.Version != edited.Version+1 {
			t.Errorf("want the text of the first version, got %+v, %v", back, err)
		}
		if _, err := s.Trash(t.Context(), m.ID, p.ID, back.Version); err != nil {
			t.Fatal(err)
		}
		_, err = s.BringBack(t.Context(), m.ID, p.ID, p.Version, back.Version+1)
		wantErr(t, "from the trash", err, ashiato.ErrTrashed)
	})
}

// wantTrash checks the ids of the pages in the trash of who.
func wantTrash(t *testing.T, s *ashiato.Site, who *ashiato.Member, want ...string) {
	t.Helper()
	list, err := s.Trashed(t.Context(), who.ID, "")
	var got []string
	for _, p := range list.Items {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("trash mismatch, %v (-want +got):\n%s", err, diff)
	}
}
