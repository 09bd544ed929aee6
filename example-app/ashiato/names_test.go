package ashiato_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/internal/proof"
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
			"Tea, for one — Ünlike 2!": "tea-for-one-ünlike-2",
			"ﬁve ＣＵＰＳ":                 "five-cups",
			"お茶のガイド":                   "お茶のガイド",
			"תֵּה ירוק":                "תֵּה-ירוק",
			"Чай 🍵 й":                  "чай-й",
			"-- a --":                  "a",
			strings.Repeat("茶碗 ", 40):  strings.Repeat("茶碗-", 19) + "茶碗",
		} {
			p := titled(t, s, m, title, "One cup.")
			proof.Equal(t, p.Slug, want, "%q", title)
			if got, err := s.Read(t.Context(), "", strings.ToUpper(want), ""); err != nil || got.Page.ID != p.ID {
				t.Errorf("%q in upper case: want the page, got %+v, %v", want, got, err)
			}
		}
		if p := titled(t, s, m, "🍵🫖", "One cup."); len(p.Slug) != 8 || !strings.HasSuffix(p.ID, p.Slug) {
			t.Errorf("want the end of %s, got %q", p.ID, p.Slug)
		}
	})
}

func TestSite_Topics_AreOneInTheirNormalForm(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		p := write(t, s, m, "tea", "Café", "cafe\u0301", "", "ＣＡＦÉ", "お茶", "caf\u200bé", "slow")
		proof.NoDiff(t, cmp.Diff([]string{"café", "お茶", "slow"}, p.Topics), "topics")
		settle(t, s)
		proof.Is(t, s.FollowTopic(t.Context(), m.ID, "CAFE\u0301"), nil)
		v, err := s.Topic(t.Context(), m.ID, "Café", "")
		if err != nil || !v.Followed || v.Topic.Name != "café" || len(v.Pages.Entries) != 1 {
			t.Errorf("want the page on café, followed, got %+v, %v", v, err)
		}
		proof.Is(t, s.UnfollowTopic(t.Context(), m.ID, "CAFÉ"), nil)
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
		proof.Equal(t, m.Handle, test.shown, "handle")
		_, err := s.SignUp(t.Context(), "", test.same, password, "")
		wantProblem(t, test.same, err, "handle")
		if found, err := s.Find(t.Context(), test.same); err != nil || found.ID != m.ID {
			t.Errorf("%q: want %+v, got %+v, %v", test.same, m, found, err)
		}
		if in, err := s.LogIn(t.Context(), test.same, password, "here", nil); err != nil || in.ID != m.ID {
			t.Errorf("%q: want %+v logged in, got %+v, %v", test.same, m, in, err)
		}
	}
	for _, bad := range []string{"he\u200bron", "\u3164\u3164", "a b", "🍵🍵", "ﷺﷺ", "a/b"} {
		_, err := s.SignUp(t.Context(), "", bad, password, "")
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
		_, err := s.SignUp(t.Context(), "", test.like, password, "")
		wantProblem(t, fmt.Sprintf("%s beside %s", test.like, test.there), err, "handle")
	}
	for _, mixed := range []string{"heron\u0430", "ꓔꓳꓑ", "Ꭺnn"} {
		_, err := s.SignUp(t.Context(), "", mixed, password, "")
		wantProblem(t, mixed, err, "handle")
	}
	for _, fine := range []string{"вода", "ναύτης", "Հայկ", "私のcafé", "한글A", "ann_2"} {
		join(t, s, fine)
	}
}

func TestSite_Search_FindsTitlesByTheirFirstLettersInTwoTrips(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *ashiato.Site) {
		m := join(t, s, "heron")
		for _, title := range []string{"Tea", "teapot", "Téa house", "雪の朝", "שלום", "Мост", "<b>Te</b>", "Tea, gone"} {
			p := titled(t, s, m, title, "Text.")
			if title != "Tea, gone" {
				continue
			}
			proof.Done(t)(s.Trash(t.Context(), m.ID, p.ID, p.Version))
		}
		for query, want := range map[string]string{
			"TEA": "Tea|Téa house|teapot", "téa": "Tea|Téa house|teapot", "  teap": "teapot",
			"雪": "雪の朝", "של": "שלום", "мо": "Мост", "<b": "<b>Te</b>", "tea, g": "", "house": "",
		} {
			ctx, meter := kvmodel.Metered(t.Context())
			found, err := s.Search(ctx, query, "")
			var titles []string
			for _, p := range found.Entries {
				titles = append(titles, p.Title)
			}
			if got := strings.Join(titles, "|"); got != want || found.Of != len(titles) || err != nil {
				t.Errorf("%q: want %q, got %q of %d, %v", query, want, got, found.Of, err)
			}
			if n := meter.Cost().Trips; n > 2 {
				t.Errorf("%q took %d trips", query, n)
			}
		}
	})
}

// wantTrash checks the ids of the pages in a member's trash.
func wantTrash(t *testing.T, s *ashiato.Site, who *ashiato.Member, want ...string) {
	t.Helper()
	list, err := s.Trashed(t.Context(), who.ID, "")
	var got []string
	for _, p := range list.Entries {
		got = append(got, p.ID)
	}
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(want, got), "trash mismatch")
}
