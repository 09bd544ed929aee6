package ashiato_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func open(t *testing.T) *ashiato.Models {
	t.Helper()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return ashiato.New(db)
}

func wantDemo(t *testing.T, m *ashiato.Models, n, want int) {
	t.Helper()
	if made, err := ashiato.Demo(t.Context(), m, n); made != want || err != nil {
		t.Errorf("Demo of %d: want %d made, got %d, %v", n, want, made, err)
	}
}

// contents returns the live pages by slug, as far as they do not depend on time.
func contents(t *testing.T, m *ashiato.Models) map[string][3]string {
	t.Helper()
	all := map[string][3]string{}
	for p, err := range m.Pages.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Live() {
			all[p.Slug] = [3]string{p.Title, p.Body, p.Author}
		}
	}
	return all
}

func TestDemo_IsTheSameEverywhere(t *testing.T) {
	one, two := open(t), open(t)
	wantDemo(t, one, 30, 30)
	wantDemo(t, two, 30, 30)
	if diff := cmp.Diff(contents(t, one), contents(t, two)); diff != "" {
		t.Errorf("pages mismatch (-one +two):\n%s", diff)
	}
	if n := len(contents(t, one)); n != 30 {
		t.Errorf("want 30 pages with slugs of their own, got %d", n)
	}
}

func TestDemo_MakesOnlyWhatIsMissing(t *testing.T) {
	m := open(t)
	wantDemo(t, m, 0, 0)
	wantDemo(t, m, 12, 12)
	wantDemo(t, m, 12, 0)
	wantDemo(t, m, 3, 0)
	wantDemo(t, m, 1200, 1188)
}

func TestDemo_KeepsWhatPeopleDid(t *testing.T) {
	m := open(t)
	wantDemo(t, m, 2, 2)
	page, err := m.Pages.BySlug.Find(t.Context(), "sourdough")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Pages.Update(t.Context(), page.ID, func(p *ashiato.Page) error { return p.Trash(p.Version, time.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	own := &ashiato.Page{Slug: "tide-table", Title: "Mine", Body: "Mine."}
	if err := m.Pages.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	wantDemo(t, m, 4, 1)
	got := contents(t, m)
	if got["tide-table"][0] != "Mine" || got["sourdough"][0] != "" || len(got) != 3 {
		t.Errorf("want the own tide-table and no sourdough among 3 pages, got %v", got)
	}
}

func TestDemo_SaysThatTheStoreIsDown(t *testing.T) {
	db, err := kvmodel.Open(down{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := ashiato.Demo(t.Context(), ashiato.New(db), 3); !errors.Is(err, kvmodel.ErrUnavailable) {
		t.Errorf("want ErrUnavailable, got %v", err)
	}
}

type down struct{}

func (down) Do(_ context.Context, ops []kvmodel.Op) error {
	return kvmodel.Fail(ops, kvmodel.ErrUnavailable)
}
func (down) Close() error { return nil }

func TestPage_Edit_IsOfTheVersionThatWasSeen(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name  string
		page  ashiato.Page
		draft ashiato.Draft
		want  error
		title string
	}{
		{"seen", ashiato.Page{Title: "a", Version: 2}, ashiato.Draft{Title: "b", Version: 2}, nil, "b"},
		{"changed since", ashiato.Page{Title: "a", Version: 3}, ashiato.Draft{Title: "b", Version: 2}, kvmodel.ErrConflict, "a"},
		{"the same by now", ashiato.Page{Title: "b", Version: 3}, ashiato.Draft{Title: "b", Version: 2}, nil, "b"},
		{"trashed", ashiato.Page{Title: "a", Version: 2, Trashed: now}, ashiato.Draft{Title: "b", Version: 2}, ashiato.ErrTrashed, "a"},
		{"trashed, the same", ashiato.Page{Title: "b", Version: 2, Trashed: now}, ashiato.Draft{Title: "b", Version: 2}, ashiato.ErrTrashed, "b"},
	} {
		err := test.page.Edit(test.draft)
		if !errors.Is(err, test.want) || test.page.Title != test.title {
			t.Errorf("%s: want %v and title %q, got %v and %q", test.name, test.want, test.title, err, test.page.Title)
		}
	}
}

func TestPage_Trash_IsOfTheVersionThatWasSeen(t *testing.T) {
	now := time.Now()
	page := ashiato.Page{Version: 2}
	if err := page.Trash(1, now); !errors.Is(err, kvmodel.ErrConflict) || !page.Live() {
		t.Errorf("want ErrConflict and a live page, got %v, live %v", err, page.Live())
	}
	if err := page.Trash(2, now); err != nil || page.Live() {
		t.Errorf("want a trashed page, got %v, live %v", err, page.Live())
	}
	if err := page.Trash(2, now.Add(time.Hour)); err != nil || !page.Trashed.Equal(now) {
		t.Errorf("a second time: want nothing changed, got %v, %v", err, page.Trashed)
	}
}

func TestProblems_SayWhatAndWhere(t *testing.T) {
	err := (&ashiato.Page{Slug: "a:b", Body: "x"}).Validate()
	want := "slug: An address has small letters from a to z, digits and - only.; title: A page needs a title."
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}
